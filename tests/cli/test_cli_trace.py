from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcore.cli import trace as module
from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.programs import program_of_seed
from agentcore.frameworks.ai_sdk.reference import PROFILE_NAMES
from agentcore.frameworks.ai_sdk.reference import trace as trace_program
from agentcore.oracle.campaign.executors import alone
from cli.commands import ENVIRONMENT, TRACE, lines_of, run
from oracle.driver_commands import small

Json = dict[str, Any]


def traces(given: bytes, *arguments: str) -> list[Json]:
    result = run("trace", *arguments, given=given)
    assert result.exit_code == 0
    assert result.stdout_bytes.isascii()
    assert result.stdout_bytes.endswith(b"\n")
    return [json.loads(line) for line in result.stdout_bytes.splitlines()]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_a_profile_gives_its_trace_of_each_program_in_order(profile: str) -> None:
    programs = [program_of_seed(seed, profile.rpartition("/")[2]) for seed in range(5)]
    if profile == "immutable":
        programs = [program_of_seed(seed) for seed in range(5)]
    expected = json.loads(json.dumps([trace_program(program, profile) for program in programs]))
    assert traces(lines_of(programs), "--profile", profile) == expected


def test_without_a_profile_the_path_picks_one_of_ai_sdk_6() -> None:
    programs = [program_of_seed(seed, path) for seed in range(3) for path in ("stream", "generate")]
    expected = json.loads(json.dumps([trace_program(program) for program in programs]))
    assert traces(lines_of(programs)) == expected


def test_a_file_is_read_as_standard_input_is(tmp_path: Path) -> None:
    file = tmp_path / "programs.jsonl"
    file.write_bytes(lines_of([small("a")]))
    result = run("trace", str(file))
    assert json.loads(result.stdout)["id"] == "a"


def test_a_crew_gives_the_same_lines_in_the_same_order() -> None:
    given = b"\n{\n" + lines_of([program_of_seed(seed, "stream") for seed in range(70)]) + b"[1]\n\n"
    one, crew = io.BytesIO(), io.BytesIO()
    module.filter_lines(io.BytesIO(given), one, None)
    with alone() as single:
        # Three blocks, of which two may be under way.
        module.filter_blocks(io.BytesIO(given), crew, None, attrs.evolve(single, size=1))
    assert crew.getvalue() == one.getvalue()
    assert len(one.getvalue().splitlines()) == 72


@pytest.mark.slow
def test_two_jobs_print_what_one_prints() -> None:
    given = lines_of([program_of_seed(seed, "stream") for seed in range(100)])
    assert traces(given, "--jobs", "2") == traces(given)


def test_a_driver_has_one_job() -> None:
    result = run("trace", "--protocol", "--jobs", "2")
    assert result.exit_code == 2
    assert "leave out --jobs" in result.stderr


DEEP = b"[" * 100_000 + b"]" * 100_000
BAD = {
    "no program": (b'{"id": 7, "path": "sideways"}', 7),
    "no JSON": (b"{", None),
    "JSON of another kind": (b"[1]", None),
    "not UTF-8": (b'{"id": "\xff\xfe"}', None),
    "NaN": (b'{"id": "a", "path": "stream", "messages": [NaN], "script": []}', None),
    "nested too deep to be parsed": (DEEP, None),
    "a value nested too deep": (lines_of([small("deep")])[:-2] + b', "options": {"x": ' + DEEP + b"}}", None),
    "UTF-16": (json.dumps(small()).encode("utf-16"), None),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_line_that_is_no_program_gives_an_error_and_the_next_line_is_read(kind: str) -> None:
    line, program_id = BAD[kind]
    before, bad, after = traces(lines_of([small("before")]) + line + b"\n" + lines_of([small("after")]))
    assert (before["id"], before["error"]) == ("before", None)
    assert (after["id"], after["error"]) == ("after", None)
    assert {*bad} == {"id", "error"}
    assert bad["id"] == program_id
    assert bad["error"]["name"] == "BadProgram"
    assert bad["error"]["message"]


def test_empty_lines_give_nothing() -> None:
    given = b"\n  \n" + lines_of([small("a")]) + b"\r\n\n" + lines_of([small("b")]) + b"\n"
    assert [trace["id"] for trace in traces(given)] == ["a", "b"]


def test_the_last_line_needs_no_end() -> None:
    assert [trace["id"] for trace in traces(lines_of([small("a")])[:-1])] == ["a"]


def test_no_lines_give_no_traces() -> None:
    assert run("trace", given=b"").stdout_bytes == b""


def test_lone_surrogates_pass_as_escapes() -> None:
    [trace] = traces(lines_of([small("\ud800", "\udfff \u2028 \U0001f600")]))
    assert trace["id"] == "\ud800"
    assert trace["caller"][0]["content"] == "\udfff \u2028 \U0001f600"


def test_a_line_of_megabytes_is_one_program() -> None:
    text = "long " * 1_000_000
    [trace] = traces(lines_of([small("a", text)]))
    assert trace["caller"][0]["content"] == text


def test_an_error_of_the_reference_itself_is_told_and_the_next_line_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails_once(program: Json, profile: str) -> Json:
        if program["id"] == "bad":
            raise ZeroDivisionError("by nothing")
        return trace_program(program, profile)

    monkeypatch.setattr(module, "family_of", lambda _: attrs.evolve(FAMILY, trace=fails_once))
    result = run("trace", given=lines_of([small("bad"), small("good")]))
    bad, good = map(json.loads, result.stdout.splitlines())
    assert bad == {
        "id": "bad",
        "error": {"name": "InternalError", "message": "ZeroDivisionError('by nothing')"},
    }
    assert good["error"] is None
    assert "ZeroDivisionError: by nothing" in result.stderr


def test_a_trace_too_deep_for_json_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def deep(program: Json, profile: str) -> Json:
        assert profile == "ai-sdk-6/stream"
        value: Any = 0
        for _ in range(100_000):
            value = [value]
        return {"id": program["id"], "caller": value}

    monkeypatch.setattr(module, "family_of", lambda _: attrs.evolve(FAMILY, trace=deep))
    [trace] = traces(lines_of([small("a")]))
    assert trace["id"] == "a"
    assert trace["error"]["name"] == "TooDeep"


def test_each_trace_is_there_before_the_next_program_is_given() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(TRACE, stdin=pipe, stdout=pipe, env=ENVIRONMENT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for name in ("a", "b", "c"):
            process.stdin.write(lines_of([small(name)]))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == name
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


def test_it_ends_quietly_when_nobody_reads_on() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(TRACE, stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(lines_of([small("a")]))
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(lines_of([small("b")]))
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141  # as shells have it of a process that SIGPIPE ended


def test_an_unknown_profile_is_a_usage_error() -> None:
    result = run("trace", "--profile", "ai-sdk-4")
    assert result.exit_code == 2
    assert "ai-sdk-6/stream" in result.stderr
