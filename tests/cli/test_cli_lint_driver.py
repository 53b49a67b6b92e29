from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import Result

from agentcore.cli.terminal import printable
from cli.commands import driver, run
from liars import toy
from oracle.driver_commands import SKELETONS, skeleton, small


def test_a_driver_that_keeps_every_rule_is_told_so_and_the_exit_code_is_0() -> None:
    result = run("lint-driver", "--", *skeleton("python"))
    assert result.exit_code == 0
    assert result.stdout.startswith("kept    driver.start\n")
    assert "kept    driver.trace (0 of 24 programs are supported)\n" in result.stdout
    assert result.stdout.endswith("\n17 rules kept, 0 broken\n")


def test_a_broken_rule_is_told_with_the_lines_and_what_to_do_and_the_exit_code_is_1() -> None:
    started = '{"version": 1, "implementation": {"name": "n"}, "formats": ["ai-sdk"]}'
    code = f"input(); print({started!r}, flush=True); input()"
    result = run("lint-driver", "--", sys.executable, "-c", code)
    assert result.exit_code == 1
    head, rule, sent, heard, todo, _, end = result.stdout.splitlines()
    assert head == (
        "BROKEN  driver.start: an answer that is not what the schema allows: "
        "$.implementation has no field version; add it"
    )
    assert rule.startswith("        rule:  `start` is answered with")
    assert sent == '        sent:  {"cmd":"start","version":1}'
    assert heard == f"        heard: {started}"
    assert todo.startswith("        do:    answer ")
    assert end == "0 rules kept, 1 broken, 16 not checked"


def test_what_a_driver_says_is_shown_and_not_obeyed() -> None:
    code = r"input(); print('\x1b[2J[red]\x07' + 'x' * 5000, flush=True); input()"
    result = run("lint-driver", "--", sys.executable, "-c", code)
    assert result.exit_code == 1
    assert r"heard: \u001b[2J[red]\u0007xxx" in result.stdout
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) < 500


def test_a_driver_that_hangs_is_told_within_its_time_and_the_exit_code_is_1() -> None:
    result = run("lint-driver", "--time-limit", "0.5", "--", *driver("liars.liar", "hangs", "--protocol"))
    assert result.exit_code == 1
    assert "BROKEN  driver.start: no answer within 0.5 s" in result.stdout


def test_a_driver_that_cannot_be_started_is_told_and_the_exit_code_is_2() -> None:
    result = run("lint-driver", "--", "/nowhere/driver")
    assert result.exit_code == 2
    assert "could not start /nowhere/driver: there is no such program; after `--` comes " in result.stderr


def test_a_file_that_the_system_cannot_execute_is_told_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "driver"
    file.write_bytes(b"\0")
    file.chmod(0o755)
    result = run("lint-driver", "--", str(file))
    assert result.exit_code == 2
    assert "name its interpreter first, as in -- node " in result.stderr


@pytest.mark.parametrize("language", SKELETONS)
def test_a_skeleton_is_written_as_it_is_short_and_needs_nothing_of_this_package(language: str) -> None:
    result = run("skeleton", language)
    assert result.stdout == Path(skeleton(language)[1]).read_text("utf-8")
    assert result.stdout.count("\n") < 150
    assert "import agentcore" not in result.stdout
    assert "from agentcore" not in result.stdout


def test_a_trace_is_given_in_the_protocol_and_the_rest_of_the_input_is_left() -> None:
    program = {"id": "a", "path": "stream", "messages": [{"role": "user", "content": "hi"}], "script": []}
    requests = (
        {"cmd": "start", "version": 1},
        {"cmd": "run", "seq": [1], "program": program},
        {"cmd": "stop"},
    )
    lines = "".join(f"{json.dumps(request)}\n" for request in requests)
    result = run("trace", "--protocol", "--profile", "immutable", given=f"{lines}junk\n".encode())
    started, answer = map(json.loads, result.stdout.splitlines())
    assert started["formats"] == ["ai-sdk"]
    assert started["implementation"]["name"] == "agentcore"
    assert (answer["seq"], answer["trace"]["id"]) == ([1], "a")


def test_a_text_is_printable_and_bounded() -> None:
    assert printable("a\nb\u2028\x9b é") == r"a\nb\u2028\u009b é"
    assert printable("x" * 3000) == "x" * 2000 + "... (3000 characters)"


# ---------------------------------------------------------------- ask


def asked(tmp_path: Path, text: str, kind: str) -> Result:
    file = tmp_path / "programs.json"
    file.write_text(text, "utf-8")
    command = driver("liars.liar", kind, "--protocol")
    return run("ask", "--time-limit", "5", str(file), "--", *command)


def test_programs_of_a_file_are_run_on_a_driver(tmp_path: Path) -> None:
    lines = "".join(f"{json.dumps(small(name))}\n\n" for name in "ab")
    result = asked(tmp_path, lines, "truthful")
    assert result.exit_code == 0
    assert [*map(json.loads, result.stdout.splitlines())] == [toy.trace(small(name)) for name in "ab"]


def test_a_program_without_a_trace_is_told_and_the_exit_code_is_2(tmp_path: Path) -> None:
    result = asked(tmp_path, json.dumps(small()), "supports_nothing")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "a: unsupported: reason: no hooks here\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [("junk", "line 1: $: is not JSON: "), ("\n7", "line 2 is no JSON object; each line has to hold one ")],
)
def test_a_file_that_holds_no_programs_is_told(text: str, says: str, tmp_path: Path) -> None:
    result = asked(tmp_path, text, "truthful")
    assert result.exit_code == 2
    assert says in result.stderr
