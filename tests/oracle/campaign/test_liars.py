"""Liars in the driver protocol: what `Driver` makes of each; none holds it up, or leaves anything behind.

The same as filters are in `test_driver.py`; what `lint` says of them is in `test_lint.py`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.programs import random_programs
from agentcore.frameworks.ai_sdk.reference import trace
from agentcore.oracle.campaign.check import Disagreement, DriverFailure, check
from agentcore.oracle.drivers.driver import Answer, Crashed, Driver, Hung, Malformed, Outcome, Unsupported
from liars import toy
from oracle.driver_commands import TESTS, liar, small
from oracle.drivers.test_driver import wait_until_gone

pytestmark = pytest.mark.slow

_RIGHT: Final = Answer(toy.trace(small()))
_LIMIT: Final = 1.0

_OUTCOMES: Final[dict[str, Outcome]] = {
    "truthful": _RIGHT,
    "hangs": Hung(_LIMIT, ""),
    "never_reads": Hung(_LIMIT, ""),
    "crashes_at_start": Crashed("the process ended with exit code 1", "cannot find the package\n"),
    "prints_junk": Malformed("a line that is not JSON", "debug: got a program", ""),
    "splits_lines": Malformed("a line that is not JSON", "{", ""),
    "prints_a_list": Malformed("a line that is not a JSON object", "[]", ""),
    "prints_no_trace": Malformed("an object that is no trace", '{"seq": 0, "trace": {"id": "a"}}', ""),
    "writes_in_pieces": _RIGHT,
    "prints_two_lines": _RIGHT,
    "answers_the_wrong_id": Answer({**toy.trace(small()), "id": "other"}),
    "never_stops": _RIGHT,
    "exits_early": _RIGHT,
    "supports_nothing": Unsupported("no hooks here"),
}
_SECOND: Final = {
    "hangs_at_the_second": (Hung, None),
    "prints_two_lines": (Malformed, "an answer with seq 0 where 1 is due"),
    "exits_early": (Crashed, "the process ended with exit code 0"),
}


@pytest.mark.parametrize("kind", _OUTCOMES)
def test_a_liar_has_the_outcome_of_its_kind(kind: str) -> None:
    since = time.monotonic()
    # Those that answer have the time that starting them takes at worst.
    limit = _LIMIT if isinstance(_OUTCOMES[kind], Hung) else 20.0
    with liar(kind, "--protocol", time_limit=limit) as driver:
        assert driver.run(small()) == _OUTCOMES[kind]
    # A second is given for it to end.
    assert time.monotonic() - since < limit + 5


@pytest.mark.parametrize("kind", _SECOND)
def test_a_liar_that_is_right_at_first_is_found_out_at_the_next_program(kind: str) -> None:
    outcome_type, reason = _SECOND[kind]
    with liar(kind, "--protocol", time_limit=2.0 if outcome_type is Hung else 20.0) as driver:
        assert driver.run(small()) == _RIGHT
        outcome: Any = driver.run(small("b"))
    assert isinstance(outcome, outcome_type)
    assert getattr(outcome, "reason", None) == reason


def test_an_answer_under_another_seq_is_malformed() -> None:
    with liar("answers_the_wrong_seq", "--protocol") as driver:
        outcome = driver.run(small())
    assert isinstance(outcome, Malformed)
    assert outcome.reason == "an answer with seq 'other' where 0 is due"


def test_an_unfinished_answer_is_a_crash() -> None:
    with liar("exits_in_a_line", "--protocol") as driver:
        outcome = driver.run(small())
    assert isinstance(outcome, Crashed)
    assert outcome.reason.startswith("the process ended with exit code 0 after an unfinished line: {")


def test_megabytes_without_a_line_end_are_malformed() -> None:
    with liar("prints_megabytes", "--protocol", max_line=1_000_000) as driver:
        outcome = driver.run(small())
    assert isinstance(outcome, Malformed)
    assert outcome.reason == "a line of more than 1000000 bytes"


def test_a_crash_at_one_program_is_its_own_and_the_next_goes_to_a_new_process() -> None:
    with liar("crashes_at_the_third", "--protocol") as driver:
        for number in range(4):
            driver.submit(small(str(number)))
        outcomes = [driver.receive() for _ in range(4)]
    assert [type(outcome) for outcome in outcomes] == [Answer, Answer, Crashed, Answer]
    assert driver.starts == 2


@pytest.mark.parametrize("kind", ["hangs_with_a_child", "ends_but_leaves_a_child"])
def test_what_a_liar_started_is_gone_when_the_driver_is_closed(kind: str, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with liar(kind, str(note), "--protocol", time_limit=2.0) as driver:
        driver.run(small())
    assert wait_until_gone(int(note.read_text()))


_HELD: Final = (
    "exits_while_a_child_holds_its_output",
    "exits_while_a_session_holds_its_output",
    "exits_while_a_child_floods_its_output",
)


@pytest.mark.parametrize("kind", _HELD)
def test_a_driver_that_exits_has_crashed_whoever_holds_its_output(kind: str, tmp_path: Path) -> None:
    with liar(kind, str(tmp_path / "pid"), "--protocol", time_limit=60.0) as driver:
        outcome = driver.run(small())
    assert isinstance(outcome, Crashed)
    assert outcome.reason.startswith("the process ended with exit code 7")
    assert wait_until_gone(int((tmp_path / "pid").read_text()))


def test_a_driver_that_closes_its_output_and_goes_on_has_crashed() -> None:
    with liar("closes_its_output", "--protocol", time_limit=60.0) as driver:
        outcome = driver.run(small())
    assert outcome == Crashed("the process closed its standard output and did not end", "")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
@pytest.mark.parametrize("kind", ["hangs_with_a_session", "truthful_with_a_session"])
def test_what_left_the_drivers_session_is_gone_when_the_driver_is_closed(kind: str, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    limit = 2.0 if kind.startswith("hangs") else 20.0
    with liar(kind, str(note), "--protocol", time_limit=limit) as driver:
        driver.run(small())
    assert wait_until_gone(int(note.read_text()))


_ENDS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL)


@pytest.mark.parametrize("signum", _ENDS)
@pytest.mark.parametrize("kind", ["hangs_with_a_child", "hangs_with_a_session"])
def test_no_driver_outlives_a_checker_that_a_signal_ends(
    kind: str, signum: signal.Signals, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    code = (
        "import sys\n"
        "from agentcore.cli import main\n"
        f"main(['check', '--profile', 'ai-sdk-6/stream', '--no-database', '--time-limit', '600', '--', "
        f"sys.executable, '-m', 'liars.liar', {kind!r}, {str(note)!r}, '--protocol'])"
    )
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen([sys.executable, "-c", code], env=env, stderr=subprocess.DEVNULL) as checker:
        while not (note.exists() and note.read_text()):
            assert checker.poll() is None
            time.sleep(0.01)
        checker.send_signal(signum)
    assert checker.returncode == (-signum if signum == signal.SIGKILL else 128 + signum)
    assert wait_until_gone(int(note.read_text()))


# ---------------------------------------------------------------- checked


def _command(*command: str, time_limit: float = 20.0) -> partial[Driver]:
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    return partial(Driver, [sys.executable, "-m", *command, "--protocol"], env=env, time_limit=time_limit)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [("hangs", Hung), ("crashes_at_start", Crashed), ("prints_junk", Malformed), ("splits_lines", Malformed)],
)
def test_a_check_of_a_liar_ends_and_is_no_finding(kind: str, outcome: type[Outcome]) -> None:
    programs = random_programs(range(20), "stream")
    limit = _LIMIT if outcome is Hung else 20.0
    since = time.monotonic()
    result = check(trace, _command("liars.liar", kind, time_limit=limit), programs, family=FAMILY)
    assert isinstance(result, DriverFailure)
    assert isinstance(result.outcome, outcome)
    assert time.monotonic() - since < limit + 5


def test_a_driver_that_is_right_but_for_one_aliasing_fault_is_found_by_the_smallest_program() -> None:
    make_driver = _command("faults.profile_driver", "hooks get deep copies")
    result = check(trace, make_driver, random_programs(range(46, 60), "stream"), family=FAMILY)
    assert isinstance(result, Disagreement)
    assert {**result.program, "id": ""} == {
        "id": "",
        "path": "stream",
        "messages": [{"role": "user", "content": "y"}],
        "script": [],
        "hooks": {"prepareStep": [[{"set": ["messages", 0, "x"], "to": "y"}]]},
    }
    assert result.difference.observation == "$.caller"
