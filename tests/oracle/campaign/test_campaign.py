from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from multiprocessing import active_children
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.kit.program import BadProgram
from agentcore.kit.shrink import size
from agentcore.oracle.campaign import executors, worker
from agentcore.oracle.campaign.check import (
    Campaign,
    Disagreement,
    DriverFailure,
    Limits,
    Plan,
    ReferenceFailure,
    campaign,
)
from agentcore.oracle.campaign.findings import Selection, UnknownFeatureError
from agentcore.oracle.campaign.stop_rules import FRUITLESS, Tally
from agentcore.oracle.campaign.verdicts import AGREED, Kind, left_out, unsupported
from agentcore.oracle.drivers.driver import Crashed, Driver, Hung, Malformed
from agentcore.oracle.drivers.packages import TargetError
from liars.moody import InMemory
from oracle.driver_commands import TESTS, small

Json = dict[str, Any]
STREAM: Final = "ai-sdk-6/stream"
WRONG: Final = Kind("wrong", "$.caller")
# The processes that a crew of two has at least when its first chunk is done.
BOTH_AND_A_DRIVER: Final = 3


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "Driver", InMemory)


@pytest.fixture
def _processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Drivers are what they are elsewhere, and find the tests."""
    monkeypatch.setattr(worker, "Driver", Driver)
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
    yield
    worker.close_drivers()


def moody(*deeds: str, **settings: Any) -> Plan:
    """A plan to check the moody driver, for as many programs as the limits say."""
    limits = Limits(
        **{name: settings.pop(name) for name in ("programs", "findings", "failures") if name in settings}
    )
    argv = (sys.executable, "-m", "liars.moody", *deeds)
    return Plan(**{"profile": STREAM, "argv": argv, "limits": limits, "shrink_seconds": 0.0, **settings})


def seeds_with(feature: str, seeds: range) -> list[int]:
    return [
        seed
        for seed, program in zip(seeds, FAMILY.programs(seeds, STREAM), strict=True)
        if feature in FAMILY.features(program)
    ]


# ---------------------------------------------------------------- how it ends


@pytest.mark.slow
def test_a_campaign_ends_after_so_many_programs() -> None:
    done = campaign(moody(programs=70), first=0)
    assert done.ended == "programs"
    assert done.counts == {AGREED: 70}
    assert done.verdict == "agreement"
    assert done.findings == ()
    assert done.report.programs == 70
    assert 0 < done.report.waiting <= done.report.working <= done.report.seconds
    assert done.implementation is not None
    assert done.implementation.name == "moody"


@pytest.mark.slow
@pytest.mark.usefixtures("_processes")
def test_a_campaign_ends_when_its_time_is_over() -> None:
    done = campaign(moody(), first=0, seconds=3.0)
    assert done.ended == "seconds"
    assert done.counts == {AGREED: done.report.programs}
    assert 3.0 <= done.report.seconds < 12


def test_whichever_of_programs_and_time_comes_first_ends_it() -> None:
    assert campaign(moody(programs=3), first=0, seconds=60.0).ended == "programs"


def test_a_campaign_without_an_end_is_not_begun() -> None:
    with pytest.raises(ValueError, match="without limits never ends"):
        campaign(moody(), first=0)


@pytest.mark.slow
def test_a_campaign_ends_with_the_last_kind_that_is_asked_for() -> None:
    done = campaign(moody("stage copy=error", "tool error=wrong", programs=400, findings=2), first=0)
    assert done.ended == "findings"
    assert {finding.kind.where for finding in done.findings} == {"$.caller", "$.error"}
    first = [seeds_with(feature, range(100))[0] for feature in ("tool error", "stage copy")]
    assert [finding.original["id"] for finding in done.findings] == [f"seed-{seed}" for seed in sorted(first)]
    assert done.report.programs == max(first) + 1
    assert done.verdict == "disagreement"


def test_with_one_finding_asked_for_the_first_wrong_trace_ends_it() -> None:
    done = campaign(moody("op delete=wrong", programs=400), first=0)
    assert [finding.programs for finding in done.findings] == [1]
    assert done.report.programs == seeds_with("op delete", range(100))[0] + 1


def test_a_campaign_needs_a_plan_that_can_be_followed() -> None:
    with pytest.raises(UnknownFeatureError, match="'op deleted'; near it are op delete"):
        campaign(moody(programs=1, include=("op deleted",)), first=0)
    with pytest.raises(TargetError, match="no target is named 'nothing'"):
        campaign(attrs.evolve(moody(programs=1), target="nothing"), first=0)


# ---------------------------------------------------------------- the report apart


@pytest.mark.slow
@pytest.mark.usefixtures("_processes")
def test_a_driver_that_dies_is_started_again_and_its_programs_are_counted() -> None:
    plan = moody("op delete=crash", "hook onFinish=wrong", programs=20, findings=9, failures=99)
    done = campaign(plan, first=0)
    crashes = len(seeds_with("op delete", range(20)))
    assert crashes > 1
    assert done.ended == "programs"
    assert done.counts[Kind("crashed")] == crashes
    assert done.counts[AGREED] + done.counts[WRONG] == 20 - crashes
    told = {finding.kind: finding for finding in done.findings}
    crashed = told[Kind("crashed")]
    assert isinstance(crashed, DriverFailure)
    assert isinstance(crashed.outcome, Crashed)
    assert crashed.repeated
    assert crashed.programs == crashes
    assert isinstance(told[WRONG], Disagreement)
    assert done.verdict == "disagreement"


def test_so_many_failures_of_the_driver_end_it_and_there_is_no_verdict() -> None:
    done = campaign(moody("op delete=junk", programs=500, failures=2), first=0)
    [first, second, *_] = seeds_with("op delete", range(100))
    assert first < second
    assert done.ended == "failures"
    assert done.report.programs == second + 1
    [finding] = done.findings
    assert isinstance(finding, DriverFailure)
    assert isinstance(finding.outcome, Malformed)
    assert finding.programs == 2
    assert finding.reason.startswith("a line that is not JSON: not JSON")
    assert done.verdict == "no verdict"


@pytest.mark.slow
@pytest.mark.usefixtures("_processes")
def test_a_hung_driver_costs_its_time_limit_and_is_told() -> None:
    seed = seeds_with("op delete", range(100))[0]
    plan = moody("op delete=hang", programs=1, time_limit=2.0)
    done = campaign(plan, first=seed)
    [finding] = done.findings
    assert isinstance(finding, DriverFailure)
    # It has answered nothing, so the program was not tried again to make it smaller.
    assert finding.reason == "no answer within 2 seconds"
    assert isinstance(finding.outcome, Hung)
    assert done.report.seconds < 8


def test_what_is_not_supported_is_counted_and_agrees_with_nothing() -> None:
    everything = f"path {STREAM.partition('/')[2]}"
    done = campaign(moody(f"{everything}=unsupported", programs=5), first=0)
    assert done.counts == {unsupported("not this"): 5}
    assert done.report.unsupported == 5
    assert done.findings == ()
    assert done.verdict == "no verdict"


def test_a_crash_is_made_smaller_by_crashes_only() -> None:
    seed = seeds_with("op delete", range(2, 100))[0]
    plan = moody("op delete=crash", programs=2, failures=9, shrink_seconds=60.0)
    done = campaign(plan, first=seed - 1)
    [finding] = done.findings
    assert isinstance(finding, DriverFailure)
    assert finding.original["id"] == f"seed-{seed}"
    assert "op delete" in FAMILY.features(finding.program)
    assert size(finding.program, FAMILY)[1] == 1
    assert size(finding.original, FAMILY) > size(finding.program, FAMILY)


@pytest.mark.slow
def test_each_of_several_findings_stays_of_its_kind_when_it_is_made_smaller() -> None:
    plan = moody(
        "hook prepareStep=wrong", "hook onFinish=error", findings=2, programs=300, shrink_seconds=60.0
    )
    done = campaign(plan, first=0)
    smallest = {str(finding.kind): {*FAMILY.features(finding.program)} for finding in done.findings}
    assert "hook prepareStep" in smallest["wrong at $.caller"]
    assert "hook onFinish" in smallest["wrong at $.error"]
    assert "hook prepareStep" not in smallest["wrong at $.error"]


def test_a_reference_that_raises_is_a_finding_by_the_class_of_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(program: Json, profile: str) -> Json:
        raise ZeroDivisionError(f"{program['id']} under {profile}")

    monkeypatch.setattr(worker, "family_of", lambda _: attrs.evolve(FAMILY, trace=fails))
    done = campaign(moody(programs=50), first=3)
    [finding] = done.findings
    assert isinstance(finding, ReferenceFailure)
    assert finding.kind == Kind("raised", "ZeroDivisionError")
    assert "seed-3 under ai-sdk-6/stream" in finding.traceback
    assert done.verdict == "no verdict"


def test_a_wrong_answer_that_changes_is_a_failure_of_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "asked"
    trace = FAMILY.trace

    def once_wrong(program: Json, profile: str) -> Json:
        found = trace(program, profile)
        if not mark.exists():
            mark.touch()
            found["caller"] = "once"
        return found

    monkeypatch.setattr(worker, "family_of", lambda _: attrs.evolve(FAMILY, trace=once_wrong))
    done = campaign(moody(programs=5), first=0)
    [finding] = done.findings
    assert isinstance(finding, DriverFailure)
    assert finding.kind == Kind("changed", "$.caller")
    assert not finding.repeated
    assert done.verdict == "no verdict"


@pytest.mark.slow
@pytest.mark.usefixtures("_processes")
def test_a_crash_that_does_not_come_again_is_told_as_it_was() -> None:
    code = (
        "import json, sys\n"
        "from agentcore.frameworks.ai_sdk.reference import trace\n"
        "for number, line in enumerate(sys.stdin):\n"
        "    program = json.loads(line)\n"
        "    if number == 4: sys.exit('enough')\n"
        "    if 'script' not in program: print('{}', flush=True)\n"
        "    else: print(json.dumps(trace(program)), flush=True)\n"
    )
    plan = attrs.evolve(moody(programs=3 * 4, failures=1), argv=(sys.executable, "-c", code))
    done = campaign(plan, first=0)
    [finding] = done.findings
    assert isinstance(finding, DriverFailure)
    assert not finding.repeated
    assert finding.program == finding.original
    assert "enough" in finding.outcome.stderr


# ---------------------------------------------------------------- which programs


@pytest.mark.slow
def test_programs_without_the_features_asked_for_are_left_out_and_not_counted() -> None:
    done = campaign(moody(programs=10, include=("op delete",), exclude=("stage *",)), first=0)
    assert done.ended == "programs"
    assert done.report.programs == 10
    selection = Selection.of(FAMILY, ["op delete"], ["stage *"])
    programs = map(selection.trimmed, FAMILY.programs(count(), STREAM))
    fitting = (seed for seed, program in enumerate(programs) if selection.has(program))
    tenth = [next(fitting) for _ in range(10)][-1]
    assert done.report.left_out == tenth + 1 - 10
    assert done.reasons("left out") == {"has no op delete": done.report.left_out}


@pytest.mark.slow
def test_features_that_the_driver_says_it_lacks_are_taken_out_of_programs() -> None:
    done = campaign(moody("op delete=wrong", "op delete", programs=40), first=0)
    assert done.verdict == "agreement"
    assert done.report.programs == 40
    assert done.report.left_out == 0
    assert seeds_with("op delete", range(40))


@pytest.mark.slow
def test_a_program_that_is_nothing_without_a_feature_is_left_out_and_counted_by_the_reason() -> None:
    plan = moody("path generate=wrong", "path generate", programs=40, profile="ai-sdk-6")
    done = campaign(plan, first=0)
    assert done.verdict == "agreement"
    assert done.reasons("left out") == {"has path generate": done.report.left_out}
    assert done.report.left_out > 0


def test_what_hardly_ever_occurs_ends_a_campaign_in_time() -> None:
    tally = Tally(Limits())
    for _ in range(FRUITLESS - 1):
        tally.add(left_out("has op set"))
    assert tally.ended is None
    tally.add(left_out("has op set"))
    assert tally.ended == "nothing fits"


def test_a_program_that_fits_begins_the_count_of_those_in_vain_anew() -> None:
    tally = Tally(Limits())
    for kind in (
        *[left_out("has op set")] * (FRUITLESS - 1),
        AGREED,
        *[left_out("has op set")] * (FRUITLESS - 1),
    ):
        tally.add(kind)
    assert tally.ended is None


@pytest.mark.slow
def test_both_paths_are_checked_under_the_profile_of_both() -> None:
    plan = moody("path generate=wrong", programs=20, profile="ai-sdk-6")
    done = campaign(plan, first=0)
    [finding] = done.findings
    assert finding.program["path"] == "generate"
    agreed = campaign(moody(programs=20, profile="ai-sdk-6"), first=0)
    assert agreed.counts == {AGREED: 20}


# ---------------------------------------------------------------- what was found before


def test_programs_from_before_are_run_first_and_counted_apart() -> None:
    before = [small("old-1"), {**small("old-2"), "hooks": {"prepareStep": [[{"delete": ["messages", 0]}]]}}]
    done = campaign(moody("op delete=wrong", programs=50), first=0, replayed=before)
    assert done.replayed == {AGREED: 1, Kind("wrong", "$.caller", "prepareStep", "delete"): 1}
    assert done.counts == {}
    assert done.ended == "findings"
    [finding] = done.findings
    assert finding.original["id"] == "old-2"


def test_programs_from_before_that_are_none_are_refused() -> None:
    with pytest.raises(BadProgram):
        campaign(moody(programs=1), first=0, replayed=[{"id": "a"}])


def test_programs_from_before_do_not_add_to_how_many_there_are_to_be() -> None:
    done = campaign(moody(programs=3), first=0, replayed=[small("a"), small("b")])
    assert done.replayed == {AGREED: 2}
    assert done.counts == {AGREED: 3}
    assert done.verdict == "agreement"


# ---------------------------------------------------------------- several jobs


def told(done: Campaign) -> tuple[Any, ...]:
    """What must not depend on who did the work."""
    return done.ended, done.counts, done.replayed, done.findings, done.report.programs, done.report.left_out


SHARED: Final = {"programs": 60, "findings": 3, "failures": 99, "exclude": ("stage clone",)}
DEEDS: Final = ("history invalid=junk", "hook stopWhen=error", "tool error=wrong")


@pytest.fixture(scope="module")
def alone() -> Campaign:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
        return campaign(moody(*DEEDS, **SHARED), first=11)


@pytest.mark.slow
@pytest.mark.usefixtures("_processes")
def test_two_jobs_find_what_one_finds(alone: Campaign) -> None:
    assert len(alone.findings) > 1
    with executors.processes(2) as crew:
        done = campaign(moody(*DEEDS, **SHARED), first=11, crew=crew)
    assert told(done) == told(alone)
    # A difference has MISSING, of which there is one in each process.
    assert [finding.kind for finding in done.findings] == [finding.kind for finding in alone.findings]


@pytest.mark.slow
def test_the_work_may_be_cut_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    done = campaign(moody(*DEEDS, **SHARED), first=11)
    monkeypatch.setattr("agentcore.oracle.campaign.check._SEEDS", 7)
    assert told(campaign(moody(*DEEDS, **SHARED), first=11)) == told(done)


@pytest.mark.slow
@pytest.mark.usefixtures("_processes")
def test_jobs_end_when_the_time_is_over_and_leave_no_process() -> None:
    others = descendants(os.getpid())  # as a database that other tests of this process started
    with executors.processes(2) as crew:
        campaign(moody(programs=1), first=0, crew=crew)
        done = campaign(moody(), first=0, seconds=1.0, crew=crew)
        children = descendants(os.getpid()) - others
    assert done.ended == "seconds"
    assert len(children) >= BOTH_AND_A_DRIVER
    assert_gone(children)


@pytest.mark.slow
@pytest.mark.usefixtures("_processes")
def test_jobs_and_their_drivers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = tmp_path / "campaign.py"
    script.write_text(
        "import sys\n"
        "from agentcore.oracle import crews\n"
        "from agentcore.oracle.campaign.check import Plan, campaign\n"
        "if __name__ == '__main__':\n"
        "    plan = Plan(profile='ai-sdk-6/stream', argv=(sys.executable, '-m', 'liars.moody'))\n"
        "    with crews.processes(2) as crew:\n"
        "        told = lambda _: print('on', flush=True)\n"
        "        campaign(plan, first=0, seconds=100, crew=crew, progress=told)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"on\n"
        children = descendants(running.pid)
        running.send_signal(signal.SIGKILL)
    assert len(children) >= BOTH_AND_A_DRIVER
    assert_gone(children)


def descendants(pid: int) -> set[int]:
    """All but the one that Python itself starts with others, which ends with this one."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            if "resource_tracker" not in Path(f"/proc/{child}/cmdline").read_text():
                found |= {child} | descendants(child)
    return found


def assert_gone(pids: set[int]) -> None:
    deadline = time.monotonic() + 10
    while left := {pid for pid in pids if is_running(pid)}:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# ---------------------------------------------------------------- drivers that are kept


@pytest.mark.slow
@pytest.mark.usefixtures("_processes")
def test_a_driver_is_kept_for_the_next_piece_of_work_and_ended_when_asked() -> None:
    plan = moody(programs=1)
    worker.run_seeds(plan, range(2), None)
    [kept] = worker._idle[plan]
    worker.run_seeds(plan, range(2, 4), None)
    assert worker._idle[plan] == [kept]
    assert kept.starts == 1
    worker.close_drivers()
    assert not worker._idle


def test_work_for_which_nobody_waits_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_dismissed", worker._dismissed)
    worker.watch(lambda: True)
    assert worker.run_seeds(moody(), range(100), None).kinds == ()


def test_jobs_are_killed_where_their_work_is_given_up() -> None:
    before = {*active_children()}
    jobs: list[Any] = []

    def give_up() -> None:
        with executors.processes(1) as crew:
            assert crew.submit(len, "abc").result() == 3
            jobs.extend({*active_children()} - before)
            crew.submit(time.sleep, 60)
            raise ZeroDivisionError

    began = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        give_up()
    assert time.monotonic() - began < 50
    assert [job.is_alive() for job in jobs] == [False]


def test_a_driver_with_a_reason_for_each_program_is_told_by_the_first_reasons() -> None:
    tally = Tally(Limits(programs=10**6))
    for number in range(3_000):
        tally.add(unsupported(f"reason {number}"))
    [(others, count)] = [(kind, count) for kind, count in tally.counts.items() if count > 1]
    assert others == unsupported("other reasons")
    assert len(tally.counts) - 1 + count == 3_000


def test_a_plan_is_data_that_can_be_sent() -> None:
    plan = moody(programs=3)
    assert json.loads(json.dumps(attrs.asdict(plan)))["limits"]["programs"] == 3
    assert hash(plan) == hash(moody(programs=3))
