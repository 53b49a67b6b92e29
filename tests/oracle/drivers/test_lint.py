"""What `lint` says of drivers that keep the protocol, and of each liar."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

import pytest

from agentcore.oracle.drivers.lint import CHECKS, Broken, Kept, Verdict, lint
from agentcore.oracle.drivers.rules import DriverRule
from oracle.driver_commands import SKELETONS, TESTS, skeleton
from oracle.drivers.test_driver import wait_until_gone

NAMES: Final = [rule.value for rule in CHECKS]
STARTED: Final = '{"version": 1, "implementation": {"name": "n", "version": "v"}, "formats": ["ai-sdk"]}'


@pytest.fixture(autouse=True)
def _modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))


def linted(*command: str, time_limit: float = 10.0, rules: Collection[str] = NAMES) -> list[Verdict]:
    return [*lint(command, time_limit=time_limit, rules=[rule for rule in CHECKS if rule.value in rules])]


def liar(
    kind: str, *arguments: str, rules: Collection[str] = NAMES, time_limit: float = 10.0
) -> list[Verdict]:
    command = (sys.executable, "-m", "liars.liar", kind, *arguments, "--protocol")
    return linted(*command, time_limit=time_limit, rules=rules)


def broken(verdicts: list[Verdict]) -> dict[str, str]:
    return {each.rule.value: each.what for each in verdicts if isinstance(each, Broken)}


@pytest.mark.slow
@pytest.mark.parametrize("language", SKELETONS)
def test_a_skeleton_keeps_every_rule(language: str) -> None:
    verdicts = linted(*skeleton(language))
    assert broken(verdicts) == {}
    assert [each.rule for each in verdicts] == [*CHECKS]
    notes = {each.rule: each.note for each in verdicts if isinstance(each, Kept) and each.note}
    assert notes == {
        DriverRule.TRACE: "0 of 24 programs are supported",
        DriverRule.DETERMINISTIC: "no program is supported",
    }


def test_the_reference_keeps_the_rules() -> None:
    command = (sys.executable, "-c", "from agentcore.cli import main; main()", "trace", "--protocol")
    # Those that start no other process: the package takes long to import.
    rules = [f"driver.{name}" for name in ("seq", "bad-program", "bad-request", "any-text", "deep", "trace")]
    verdicts = linted(*command, rules=rules)
    assert broken(verdicts) == {}
    assert Kept(DriverRule.TRACE, "24 of 24 programs are supported") in verdicts


def test_every_rule_but_those_of_the_checker_has_a_check() -> None:
    of_the_checker = {DriverRule.FILTER, DriverRule.EXPECTATION_KEPT, DriverRule.UNSUPPORTED}
    assert {*CHECKS} == {*DriverRule} - of_the_checker


# ---------------------------------------------------------------- liars

# Those that hang are waited for only so long; others have the time that starting them takes at worst.
_HANGING: Final = 1.0

_NOT_ASKED_AGAIN: Final = {
    "hangs": (_HANGING, "no answer within 1 s"),
    "never_reads": (_HANGING, "no answer within 1 s"),
    "crashes_at_start": (
        10.0,
        "the process ended with exit code 1; the end of its standard error: cannot find the package",
    ),
    "prints_megabytes": (10.0, "a line of more than 67108864 bytes"),
}
"""Liars that cannot be asked for long: their time limit, and what is said of `driver.start`."""

_ASKED_TO_THE_END: Final = {
    "prints_junk": ("driver.only-answers", "a line that is not a JSON object"),
    "splits_lines": ("driver.only-answers", "a line that is not a JSON object"),
    "prints_a_list": ("driver.only-answers", "a line that is not a JSON object"),
    "prints_no_trace": ("driver.trace", "the trace of seed-0 is not what the schema allows: $"),
    "prints_two_lines": ("driver.only-answers", "more output than answers"),
    "answers_the_wrong_seq": ("driver.only-answers", 'the answer has seq "other" where 0 is due'),
    "never_stops": ("driver.stop", "it, or what it started, still runs when the time is over"),
}


@pytest.mark.parametrize("kind", _NOT_ASKED_AGAIN)
def test_a_liar_that_does_not_answer_is_not_asked_again(kind: str) -> None:
    time_limit, what = _NOT_ASKED_AGAIN[kind]
    since = time.monotonic()
    [verdict] = liar(kind, time_limit=time_limit)
    assert isinstance(verdict, Broken)
    assert (verdict.rule, verdict.what) == (DriverRule.START, what)
    assert time.monotonic() - since < time_limit + 5


def test_a_liar_that_hangs_later_is_asked_until_then() -> None:
    rules = ["driver.start", "driver.seq", "driver.in-order"]
    verdicts = liar("hangs_at_the_second", rules=rules, time_limit=2.0)
    assert [each.rule for each in verdicts] == [DriverRule.START, DriverRule.SEQ]
    assert broken(verdicts) == {"driver.seq": "no answer within 2 s"}


@pytest.mark.parametrize("kind", _ASKED_TO_THE_END)
def test_a_liar_breaks_a_rule_and_is_told_how(kind: str) -> None:
    rule, what = _ASKED_TO_THE_END[kind]
    limit = 2.0 if kind == "never_stops" else 10.0
    found = broken(liar(kind, rules=["driver.start", rule], time_limit=limit))
    assert found[rule].startswith(what)


def test_what_a_linted_driver_started_is_killed_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    assert broken(liar("hangs_with_a_child", str(note), time_limit=2.0)) == {
        "driver.start": "no answer within 2 s"
    }
    assert wait_until_gone(int(note.read_text()))


def test_a_driver_that_leaves_a_child_behind_has_not_ended(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    found = broken(liar("ends_but_leaves_a_child", str(note), rules=["driver.stop"], time_limit=2.0))
    assert found["driver.stop"] == "it, or what it started, still runs when the time is over"
    assert wait_until_gone(int(note.read_text()))


# ---------------------------------------------------------------- one rule broken


def test_a_filter_is_told_that_it_is_one() -> None:
    [verdict] = linted(sys.executable, "-m", "liars.toy")
    assert isinstance(verdict, Broken)
    assert verdict.what == "`start` is answered as a line that is no program: this is a filter"


def test_answers_that_are_kept_back_are_told() -> None:
    code = f"import sys; print(len(sys.stdin.readlines()) * ({STARTED!r} + chr(10)))"
    [verdict] = linted(sys.executable, "-c", code, time_limit=0.5)
    assert isinstance(verdict, Broken)
    assert verdict.what == "the answer came only when the input ended"
    assert verdict.todo == "flush standard output after each answer"


_SKELETON: Final = (TESTS.parent / "agentcore" / "skeletons" / "driver.py").read_text("utf-8")
_RUN: Final = 'said = {"seq": seq, **answer(program)}'
_TRACED: Final = "return {'trace': {'id': 'lint', 'n': program.get('n')}}"


@pytest.mark.parametrize(
    ("old", "new", "rule", "what"),
    [
        ('"version": 1, "imp', '"version": 2, "imp', "driver.version", "it speaks version 2"),
        (
            'case {"cmd": "start"}:',
            'case {"cmd": "start", "version": 1}:',
            "driver.version",
            "an answer that",
        ),
        (
            'case {"cmd": "start"}:',
            'case {"cmd": "start", **rest} if rest.keys() == {"version"}:',
            "driver.unknown-fields",
            "an answer that is not",
        ),
        (
            _RUN,
            'said = {"seq": seq or 0, **answer(program)}',
            "driver.seq",
            "the answer has seq 0 where null",
        ),
        (_RUN, 'said = {"seq": str(seq), **answer(program)}', "driver.in-order", 'the answer has seq "0"'),
        (_RUN, 'said = {"seq": seq, "unsupported": "no"}', "driver.bad-program", "the driver should"),
        ('"BadRequest"', '"Oops"', "driver.bad-request", "the driver should have answered this request with"),
        (
            "if not line.strip():",
            "if not line:",
            "driver.blank-lines",
            'the answer has seq null where "after"',
        ),
        (
            "json.loads(line)",
            "json.loads(line.split(b'\\r')[0])",
            "driver.any-text",
            'the answer has seq null where "return" is due',
        ),
        (
            "json.loads(line)",
            "json.loads(line.decode().splitlines()[0])",
            "driver.any-text",
            'the answer has seq null where "\\u2028 and',
        ),
        (
            "request = json.loads(line)",
            "request = json.loads(line, parse_float=lambda text: round(float(text), 3))",
            "driver.any-number",
            "the answer has seq [0] where [5e-324]",
        ),
        (
            "sys.stdin.buffer:",
            "iter(lambda: sys.stdin.buffer.readline(1 << 16), b''):",
            "driver.long-lines",
            "the ",
        ),
        (
            'case {"cmd": "stop"}:\n                return',
            'case {"cmd": "stop"}:\n                sys.exit(4)',
            "driver.stop",
            "it ended with exit code 4",
        ),
        ("    main()\n", "    main()\n    sys.exit(3)\n", "driver.end-of-input", "it ended with exit code 3"),
        (
            'return {"trace": run(program)}',
            'return {"trace": {"id": program["id"], "error": None}}',
            "driver.trace",
            "the trace of seed-0 is not what the schema allows: $ is none of what may stand here",
        ),
        (
            'return {"trace": run(program)}',
            'return {"unsupported": f"at {id(object())} {__import__(\'time\').time()}"}',
            "driver.deterministic",
            "the answer to the program lint differs when it is run again",
        ),
        (
            'return {"trace": run(program)}',
            'return {"unsupported": f"in {__import__(\'os\').getpid()}"}',
            "driver.deterministic",
            "the answer to the program lint differs in another process, after other programs",
        ),
        (
            'return {"trace": run(program)}',
            'return {"error": {"name": "Oops", "message": "no"}}',
            "driver.trace",
            "a program is answered with the error",
        ),
        (
            'return {"trace": run(program)}',
            'return {"error": {"name": "Oops", "message": "no"}}',
            "driver.blank-lines",
            "the next request, which is right, is answered with an error",
        ),
        (
            'return {"trace": run(program)}',
            'return {"trace": json.loads(json.dumps(program).replace("quote", "quotation"))}',
            "driver.any-text",
            'the text "<quote',
        ),
        (
            "answers.write(",
            "answers.write('' if said is started else 'log ');answers.write(",
            "driver.only-answers",
            "a line that is not a JSON object",
        ),
    ],
)
def test_a_skeleton_with_one_rule_broken_is_told_which(
    old: str, new: str, rule: str, what: str, tmp_path: Path
) -> None:
    assert _SKELETON.count(old) == 1
    (tmp_path / "driver.py").write_text(_SKELETON.replace(old, new), "utf-8")
    found = broken(linted(sys.executable, str(tmp_path / "driver.py"), rules=["driver.start", rule]))
    assert found[rule].startswith(what)


def test_a_format_that_is_not_known_here_is_no_fault_and_its_programs_are_not_tried(tmp_path: Path) -> None:
    (tmp_path / "driver.py").write_text(_SKELETON.replace('["ai-sdk"]', '["own"]'), "utf-8")
    verdicts = linted(sys.executable, str(tmp_path / "driver.py"))
    assert broken(verdicts) == {}
    assert verdicts[0] == Kept(DriverRule.START, "no programs are known of the format own")
    assert Kept(DriverRule.TRACE, "no format is known") in verdicts
