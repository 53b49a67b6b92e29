"""What `Driver` makes of processes that speak the driver protocol, and of those that only try to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.oracle.drivers.driver import (
    Answer,
    Crashed,
    Driver,
    Hung,
    Implementation,
    Incompatible,
    Malformed,
    Unsupported,
)
from liars import toy
from oracle.driver_commands import SKELETONS, liar, skeleton, small, toy_driver

STARTED: Final = {"version": 1, "implementation": {"name": "n", "version": "v"}, "formats": ["ai-sdk"]}


def says(*answers: Any, time_limit: float = 20.0) -> Driver:
    """A driver that gives these answers, whatever it is asked, and then reads on."""
    lines = [answer if isinstance(answer, str) else json.dumps(answer) for answer in answers]
    code = f"for line in {lines!r}: input(); print(line, flush=True)\nimport sys; sys.stdin.read()"
    return Driver([sys.executable, "-c", code], time_limit=time_limit)


def test_a_driver_tells_what_it_is() -> None:
    with says({**STARTED, "unsupported": ["op freeze"], "later": 1}) as driver:
        assert driver.start() is None
        assert driver.start() is None
        assert driver.implementation == Implementation(
            name="n", version="v", formats=("ai-sdk",), unsupported=("op freeze",)
        )
        assert driver.starts == 1


def test_what_a_driver_is_is_known_with_the_first_outcome_too() -> None:
    with liar("truthful", "--protocol") as driver:
        assert driver.run(small()) == Answer(toy.trace(small()))
        assert driver.implementation == Implementation(name="liar", version="1", formats=("ai-sdk",))


def test_answers_come_in_the_order_of_the_programs_many_at_a_time() -> None:
    with liar("truthful", "--protocol") as driver:
        for number in range(50):
            driver.submit(small(str(number)))
        outcomes = [driver.receive() for _ in range(25)]
        for number in range(50, 60):
            driver.submit(small(str(number)))
        outcomes += [driver.receive() for _ in range(35)]
    assert outcomes == [Answer(toy.trace(small(str(number)))) for number in range(60)]
    assert driver.starts == 1


def test_programs_submitted_before_a_driver_has_said_what_it_is_are_asked_once() -> None:
    with liar("truthful", "--protocol") as driver:
        driver.submit(small("a"))
        assert driver.start() is None
        driver.submit(small("b"))
        assert [driver.receive(), driver.receive()] == [Answer(toy.trace(small(name))) for name in "ab"]


def test_a_filter_is_spoken_to_in_plain_lines_and_is_no_implementation() -> None:
    with toy_driver() as driver:
        assert driver.start() is None
        assert driver.implementation is None
        assert driver.run(small()) == Answer(toy.trace(small()))


def test_a_filter_that_does_not_bear_the_start_is_started_again_without_it() -> None:
    code = (
        "import json\n"
        "while True: print(json.dumps({'id': json.loads(input())['id'], 'error': None}), flush=True)"
    )
    with Driver([sys.executable, "-c", code]) as driver:
        assert driver.run(small()) == Answer({"id": "a", "error": None})
        assert driver.run(small("b")) == Answer({"id": "b", "error": None})
        assert driver.starts == 2
        driver.close()
        assert driver.run(small()) == Answer({"id": "a", "error": None})
        assert driver.starts == 3


def test_a_driver_that_is_not_asked_what_it_is_gets_nothing_but_programs() -> None:
    code = "print(input(), flush=True); input()"
    with Driver([sys.executable, "-c", code], handshake=False, trace_fields=()) as driver:
        assert driver.run(small()) == Answer(small())


def test_another_version_of_the_protocol_is_told_apart_and_says_what_to_do() -> None:
    with says({**STARTED, "version": 2}) as driver:
        outcome = driver.run(small())
    assert isinstance(outcome, Incompatible)
    assert outcome.version == 2
    assert outcome.reason == (
        "the driver speaks version 2 of the protocol, and this checker speaks 1; "
        "use a driver or a checker of the other's version"
    )


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        ({"version": 1}, "$ has no field implementation"),
        ({**STARTED, "formats": []}, "$.formats"),
        ({**STARTED, "formats": "ai-sdk"}, "$.formats is of the wrong type"),
        ({**STARTED, "implementation": {"name": "n"}}, "$.implementation has no field version"),
        ({**STARTED, "unsupported": [7]}, "$.unsupported[0] is of the wrong type"),
        ({**STARTED, "version": "1"}, "$.version is of the wrong type"),
    ],
)
def test_an_answer_to_start_that_is_none_is_malformed(answer: Any, path: str) -> None:
    with says(answer) as driver:
        outcome = driver.start()
    assert isinstance(outcome, Malformed)
    assert outcome.reason.startswith(f"an invalid answer to start: {path}")
    assert outcome.output == json.dumps(answer)


def test_a_start_that_fails_ends_the_process_and_the_next_begins_anew() -> None:
    with says("junk") as driver:
        assert driver.start() == Malformed("a line that is not JSON", "junk", "")
        assert driver.start() == Malformed("a line that is not JSON", "junk", "")
        assert driver.starts == 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"seq": 1, "trace": {"error": None}}, "an answer with seq 1 where 0 is due"),
        ({"trace": {"error": None}}, "an answer with seq None where 0 is due"),
        ({"seq": False, "trace": {"error": None}}, "an answer with seq False where 0 is due"),
        ({"seq": "0", "trace": {"error": None}}, "an answer with seq '0' where 0 is due"),
        ({"seq": [0], "trace": {"error": None}}, "an answer with seq [0] where 0 is due"),
        ({"seq": 0, "trace": {"id": "a"}}, "an object that is no trace"),
        ({"seq": 0, "trace": []}, "an object that is no trace"),
        ({"seq": 0}, "an object that is no trace"),
        (
            {"seq": 0, "error": {"name": "BadProgram", "message": "why"}},
            'an error instead of a trace of \'a\': {"name": "BadProgram", "message": "why"}',
        ),
    ],
)
def test_what_is_no_answer_to_a_program_is_malformed(answer: Any, reason: str) -> None:
    with says(STARTED, answer) as driver:
        assert driver.run(small()) == Malformed(reason, json.dumps(answer), "")


def test_a_seq_is_the_same_number_however_it_is_written() -> None:
    with says(STARTED, '{"seq": 0.0, "trace": {"error": null}}') as driver:
        assert driver.run(small()) == Answer({"error": None})


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"seq": 0, "trace": {"error": null, "x": NaN}}', "is not JSON: NaN; JSON has no such number"),
        ('{"seq": 0, "trace": {"error": null, "x": -Infinity}}', "is not JSON: -Infinity; JSON has no"),
        (
            '{"seq": 0, "trace": {"error": null, "x": 1e999}}',
            "the number 1e999 is beyond what a 64-bit float",
        ),
        (
            '{"seq": 0, "trace": {"error": null, "x": 9%s}}' % ("9" * 400),
            "the number 999999999999... is beyond",
        ),
    ],
)
def test_a_number_that_is_none_in_json_makes_an_answer_malformed(line: str, why: str) -> None:
    with says(STARTED, line) as driver:
        outcome = driver.run(small())
    assert isinstance(outcome, Malformed)
    assert outcome.reason.startswith(f"a line that is not JSON: {why}")


HUGE: Final = "\x1b[2J" + "x" * 3_000_000


@pytest.mark.parametrize(
    "answers",
    [
        [{**STARTED, "version": int("9" * 300)}],
        [{**STARTED, "formats": {HUGE: HUGE}}],
        [{**STARTED, "implementation": {"name": "n", HUGE: HUGE}}],
        [STARTED, {"seq": HUGE, "trace": {}}],
        [STARTED, {"seq": [HUGE] * 3, "trace": {}}],
        [STARTED, {"seq": 0, "error": {HUGE: HUGE}}],
        [STARTED, {"seq": 0, "error": [[HUGE]]}],
        [STARTED, {"seq": 0, "unsupported": HUGE}],
    ],
)
def test_what_is_told_of_an_answer_is_short_however_long_it_is(answers: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "answers"
    file.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    code = f"for line in open({str(file)!r}): input(); print(line, end='', flush=True)"
    with Driver([sys.executable, "-c", f"{code}\nimport sys; sys.stdin.read()"]) as driver:
        outcome: Any = driver.run(small())
    assert isinstance(outcome, Malformed | Incompatible | Unsupported)
    assert len(outcome.reason) < 1_500


def test_a_driver_that_says_it_does_not_support_a_program_is_believed() -> None:
    with says(STARTED, {"seq": 0, "unsupported": "no"}) as driver:
        assert driver.run(small()) == Unsupported("no")


def test_a_driver_that_hangs_at_the_start_is_hung() -> None:
    with liar("hangs", "--protocol", time_limit=0.5) as driver:
        assert driver.start() == Hung(0.5, "")
        assert driver.run(small()) == Hung(0.5, "")


def test_a_driver_that_once_said_what_it_is_is_not_taken_for_a_filter_when_it_crashes(tmp_path: Path) -> None:
    code = (
        "import json, os, pathlib, sys\n"
        "mark = pathlib.Path(sys.argv[1])\n"
        f"if mark.exists(): sys.exit(5)\nmark.touch()\ninput(); print({json.dumps(STARTED)!r}, flush=True)"
    )
    with Driver([sys.executable, "-c", code, str(tmp_path / "mark")]) as driver:
        assert driver.start() is None
        assert driver.run(small()) == Crashed("the process ended with exit code 0", "")
        assert driver.run(small()) == Crashed("the process ended with exit code 5", "")
        assert driver.starts == 2


def test_a_closed_driver_was_told_to_stop(tmp_path: Path) -> None:
    code = (
        f"import sys\ninput(); print({json.dumps(STARTED)!r}, flush=True)\n"
        "open(sys.argv[1], 'w').write(input())"
    )
    with Driver([sys.executable, "-c", code, str(tmp_path / "mark")]) as driver:
        driver.start()
    assert json.loads((tmp_path / "mark").read_text("utf-8")) == {"cmd": "stop"}


@pytest.mark.parametrize("language", SKELETONS)
def test_a_skeleton_says_what_it_is_and_supports_nothing(language: str) -> None:
    with Driver(skeleton(language)) as driver:
        assert driver.run(small()) == Unsupported("this driver is a skeleton; fill in `run`")
        assert driver.implementation == Implementation(name="my-loop", version="0.0.0", formats=("ai-sdk",))
