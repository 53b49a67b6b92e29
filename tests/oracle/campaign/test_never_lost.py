"""Rule oracle.never-lost: what was found is reported, whatever fails or interrupts the campaign after it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final

import attrs
import pytest

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.kit.shrink import size
from agentcore.oracle.campaign import executors, worker
from agentcore.oracle.campaign.check import Disagreement, Finding, Limits, Plan, campaign
from agentcore.oracle.campaign.executors import Crew, Promise
from agentcore.oracle.campaign.stop_rules import Interrupted, arrived, interruptible
from agentcore.oracle.campaign.verdicts import AGREED
from liars.moody import InMemory

# So many programs are tried before the signal comes; some of them are smaller and still wrong.
SMALLER: Final = 30
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failing(InMemory):
    """The moody driver until `when` says that it fails, and how."""

    when: Callable[[int], None] = staticmethod(lambda _: None)
    when_alone: Callable[[int], None] = staticmethod(lambda _: None)
    asked = 0
    asked_alone = 0

    def receive(self, agreed: object = None) -> Any:
        type(self).asked += 1
        type(self).when(type(self).asked)
        return super().receive(agreed)

    def run(self, program: Any) -> Any:
        type(self).asked_alone += 1
        type(self).when_alone(type(self).asked_alone)
        return super().run(program)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> type[Failing]:
    kind = type("Failing", (Failing,), {})
    monkeypatch.setattr(worker, "Driver", kind)
    return kind


def plan(**limits: int) -> Plan:
    argv = ("python", "-m", "liars.moody", "op delete=wrong")
    return Plan(
        profile="ai-sdk-6/stream",
        argv=argv,
        limits=Limits(**{"programs": 80, "findings": 3, **limits}),
        shrink_seconds=0.0,
    )


def failing_at(number: int, fail: Callable[[], None]) -> Callable[[int], None]:
    def when(asked: int) -> None:
        if asked == number:
            fail()

    return when


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.usefixtures("failing")
def test_a_signal_before_any_finding_leaves_what_was_counted() -> None:
    def stop(run: int) -> None:
        if run >= 50:
            raise Interrupted(signal.SIGINT)

    agreeing = attrs.evolve(plan(programs=300), argv=("python", "-m", "liars.moody"))
    done = campaign(agreeing, first=0, progress=stop)
    assert (done.ended, done.verdict) == ("interrupted", "no verdict")
    assert done.stopped == "interrupted by SIGINT"
    assert 50 <= done.counts[AGREED] == done.report.programs < 300


@pytest.mark.slow
@pytest.mark.usefixtures("failing")
def test_an_error_of_ours_before_any_finding_is_raised() -> None:
    def fail(_: int) -> None:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        campaign(attrs.evolve(plan(), argv=("python", "-m", "liars.moody")), first=0, progress=fail)


@pytest.mark.slow
@pytest.mark.parametrize("error", [OSError("no more files"), ZeroDivisionError("a bug"), Interrupted(15)])
def test_an_error_after_a_finding_ends_the_campaign_and_the_finding_stays(
    error: BaseException, failing: type[Failing]
) -> None:
    reported: list[Finding] = []
    failing.when = failing_at(40, raising(error))
    done = campaign(plan(), first=0, report=reported.append)
    assert done.verdict == "disagreement"
    assert done.ended == "interrupted"
    assert str(error) in done.stopped
    assert [*done.findings] == reported
    assert isinstance(reported[0], Disagreement)


def first_wrong() -> int:
    """The seed of a program that the driver gets wrong."""
    seeds = range(200)
    programs = zip(seeds, FAMILY.programs(seeds, "ai-sdk-6/stream"), strict=True)
    return next(seed for seed, program in programs if "op delete" in FAMILY.features(program))


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), Interrupted(15)])
def test_an_error_at_the_program_after_the_one_that_was_found_leaves_that(
    error: BaseException, failing: type[Failing]
) -> None:
    failing.when = failing_at(2, raising(error))
    done = campaign(plan(programs=2), first=first_wrong())
    [finding] = done.findings
    assert isinstance(finding, Disagreement)
    assert finding.original["id"] == f"seed-{first_wrong()}"
    assert (done.verdict, done.ended) == ("disagreement", "interrupted")
    told = str(error) if isinstance(error, Interrupted) else "ZeroDivisionError: a bug"
    assert done.stopped == told


@pytest.mark.usefixtures("failing")
def test_a_crew_that_falls_apart_while_a_program_is_made_smaller_leaves_it_as_it_was_found() -> None:
    def submit(function: Callable[..., Any], *arguments: Any) -> Promise[Any]:
        if function is worker.shrink_found:
            raise BrokenProcessPool("a job was ended")
        return executors._done(function, *arguments)

    done = campaign(plan(programs=1), first=first_wrong(), crew=Crew(size=1, submit=submit))
    [finding] = done.findings
    assert finding.program == finding.original
    assert done.stopped == "BrokenProcessPool: a job was ended"


@pytest.mark.parametrize("error", [OSError("no more files"), ZeroDivisionError("a bug"), Interrupted(15)])
def test_an_error_before_any_finding_is_raised(error: BaseException, failing: type[Failing]) -> None:
    failing.when = failing_at(2, raising(error))
    with pytest.raises(type(error)):
        campaign(plan(), first=0)


@pytest.mark.slow
@pytest.mark.parametrize("submitted", [2, 3])
@pytest.mark.parametrize("late", [False, True], ids=["when it is asked", "when it answers"])
@pytest.mark.usefixtures("failing")
def test_a_crew_that_falls_apart_takes_no_finding_with_it(submitted: int, *, late: bool) -> None:
    count = 0

    def submit(function: Callable[..., Any], *arguments: Any) -> Promise[Any]:
        nonlocal count
        count += 1
        if count < submitted:
            return executors._done(function, *arguments)
        broken = BrokenProcessPool("a job was ended")
        if not late:
            raise broken
        promise: Future[Any] = Future()
        promise.set_exception(broken)
        return promise

    done = campaign(plan(programs=100), first=0, crew=Crew(size=1, submit=submit))
    assert done.verdict == "disagreement"
    assert done.stopped == "BrokenProcessPool: a job was ended"


@pytest.mark.parametrize(
    "signum", [signal.SIGINT, *(pytest.param(one, marks=pytest.mark.slow) for one in SIGNALS[1:])]
)
def test_a_signal_while_a_program_is_made_smaller_leaves_the_smallest_so_far(
    signum: signal.Signals, failing: type[Failing]
) -> None:
    failing.when_alone = failing_at(SMALLER, lambda: signal.raise_signal(signum))
    settings = {"findings": 1, "programs": 1}
    patient = Plan(
        profile="ai-sdk-6/stream", argv=plan().argv, limits=Limits(**settings), shrink_seconds=600.0
    )
    with interruptible():
        done = campaign(patient, first=first_wrong())
    [finding] = done.findings
    assert isinstance(finding, Disagreement)
    assert size(finding.program, FAMILY) < size(finding.original, FAMILY)
    assert done.stopped == f"interrupted by {signum.name}"
    assert done.ended == "interrupted"


def test_a_signal_is_known_of_within_its_block_only() -> None:
    with interruptible():
        with pytest.raises(Interrupted) as caught:
            signal.raise_signal(signal.SIGTERM)
        assert caught.value.exit_code == 143
        assert str(arrived()) == "interrupted by SIGTERM"
    assert arrived() is None
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_outside_of_the_main_thread_signals_are_let_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[Any] = []

    def run() -> None:
        with interruptible():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGHUP)
            assert arrived() is None
    finally:
        signal.signal(signal.SIGHUP, before)
