from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from click.testing import Result

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.reference import trace as trace_program
from agentcore.oracle.campaign import worker
from agentcore.oracle.drivers import packages as targets
from cli.commands import TRACE, driver, run
from faults.profile_driver import faulty_trace

Json = dict[str, Any]
CHECK: Final = ("check", "--no-database")
STREAM: Final = (*CHECK, "--profile", "ai-sdk-6/stream")
FAULT: Final = "caller's messages copied"
FAULTY: Final = driver("faults.profile_driver", FAULT)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "found.json"


def check(saved: Path, *arguments: str, env: dict[str, str] | None = None) -> Result:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    rest = arguments[len(options) :]
    return run(*STREAM, "--save", str(saved), *options, *rest, env=env)


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["ai-sdk-6/stream", "ai-sdk-6/generate"])
def test_the_trace_command_is_a_driver_that_agrees(profile: str, saved: Path) -> None:
    result = run(*CHECK, "--profile", profile, "-n", "100", "--save", str(saved), "--", *TRACE)
    assert result.exit_code == 0
    summary, pairs, verdict = result.stdout.splitlines()
    assert re.fullmatch(
        r"100 programs from seed \d+ in [\d.]+ s: \d+ a second, \d+% of the time in this process\.", summary
    )
    assert re.fullmatch(
        r"Pairs of features: \d+ of about \d+ that such programs have \(\d+ features\)\.", pairs
    )
    assert verdict == "No disagreement."
    assert result.stderr == ""
    assert not saved.exists()


@pytest.mark.slow
def test_a_sweep_runs_its_programs_from_the_seed_that_is_named(saved: Path) -> None:
    sweep = ("--sweep", "aliases", "--shrink-seconds", "0")
    result = check(saved, *sweep, "-n", "20", "--", *TRACE)
    assert result.exit_code == 0
    summary, verdict = result.stdout.splitlines()
    assert summary.startswith("20 programs from seed 0 in ")
    assert verdict == "No disagreement."
    wrong = check(saved, *sweep, "--", *FAULTY)
    assert wrong.exit_code == 1
    number = FAMILY.parse(saved.read_text("utf-8"))["id"].removeprefix("aliases-")
    again = check(saved, *sweep, "-n", "1", "--seed", number, "--", *FAULTY)
    assert again.exit_code == 1
    assert "1 programs from seed " + number in again.stdout


def test_a_profile_whose_format_has_no_scenes_has_no_sweep(saved: Path) -> None:
    result = run(*CHECK, "--profile", "store/live", "--sweep", "fields", "--save", str(saved), "--", *TRACE)
    assert result.exit_code == 2
    assert "there is no sweep for the profile 'store/live'" in result.stderr


def test_programs_of_both_paths_are_drawn_for_the_immutable_profile(saved: Path) -> None:
    own = (*TRACE, "--profile", "immutable")
    result = run(*CHECK, "--profile", "immutable", "-n", "20", "--save", str(saved), "--", *own)
    assert result.exit_code == 0


@pytest.mark.slow
def test_a_disagreement_is_printed_and_saved_and_the_exit_code_is_1(saved: Path) -> None:
    result = check(saved, "--seed", "2", "-n", "5", "--", *FAULTY)
    assert result.exit_code == 1
    line = saved.read_text("utf-8")
    assert line.count("\n") == 1
    program = FAMILY.parse(line)
    assert program["id"] == "seed-2"
    assert trace_program(program)["caller"] != faulty_trace(program, FAULT)["caller"]
    assert "1 programs from seed 2 in" in result.stdout
    assert "found in seed-2" in result.stdout
    assert '"hooks": {"prepareStep":' in result.stdout
    assert "first difference: $.caller" in result.stdout
    assert "--- expected\n+++ actual\n" in result.stdout
    assert f"agentcore trace --profile ai-sdk-6/stream {saved}\n" in result.stdout
    assert f"agentcore ask {saved} -- {shlex.join(FAULTY)}\n" in result.stdout
    assert f"agentcore explain {saved} --profile ai-sdk-6/stream\n" in result.stdout


@pytest.mark.slow
def test_a_seed_that_was_drawn_is_printed_and_repeats_the_run(saved: Path) -> None:
    unshrunk = ("--shrink-seconds", "0", "--", *FAULTY)
    first = check(saved, "-n", "300", *unshrunk)
    program = saved.read_text("utf-8")
    found = re.search(r"^(\d+) programs from seed (\d+) in", first.stdout, flags=re.MULTILINE)
    assert found is not None
    count, seed = found.groups()
    again = check(saved, "-n", count, "--seed", seed, *unshrunk)
    assert (first.exit_code, again.exit_code) == (1, 1)
    assert saved.read_text("utf-8") == program
    timed = re.compile(r"^(\d+ programs from seed \d+) in .*$", flags=re.MULTILINE)
    assert timed.sub(r"\1", first.stdout) == timed.sub(r"\1", again.stdout)


@pytest.mark.slow
def test_shrinking_can_be_given_no_time(saved: Path) -> None:
    result = check(saved, "--seed", "1", "--shrink-seconds", "0", "--", *FAULTY)
    assert result.exit_code == 1
    assert len(FAMILY.parse(saved.read_text("utf-8"))["script"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("hangs", "no answer within 0.5 seconds"),
        ("crashes_at_start", "the process ended with exit code"),
        ("prints_junk", "a line that is not JSON: "),
        ("prints_no_trace", "an object that is no trace: "),
    ],
)
def test_a_driver_that_fails_is_told_and_the_exit_code_is_2(kind: str, says: str, saved: Path) -> None:
    limit = ("--time-limit", "0.5") if kind == "hangs" else ()
    result = check(saved, "--seed", "0", *limit, "--", *driver("liars.liar", kind))
    assert result.exit_code == 2
    assert f"The driver failed: {says}" in result.stdout
    assert FAMILY.parse(saved.read_text("utf-8"))["path"] == "stream"


def test_what_a_failing_driver_wrote_to_standard_error_is_printed(saved: Path) -> None:
    result = check(saved, "--", sys.executable, "-c", "import sys; sys.exit('no licence found')")
    assert result.exit_code == 2
    assert "It wrote to standard error:\nno licence found\n" in result.stdout


@pytest.mark.slow
def test_a_driver_whose_answer_changes_has_failed(saved: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    code = (
        "import json, pathlib, sys\n"
        "from agentcore.frameworks.ai_sdk.reference import trace\n"
        f"mark = pathlib.Path({str(mark)!r})\n"
        "for line in sys.stdin:\n"
        "    answer = trace(json.loads(line))\n"
        "    if not mark.exists(): answer['caller'] = 'once'\n"
        "    mark.touch()\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    result = check(saved, "--seed", "0", "--", sys.executable, "-c", code)
    assert result.exit_code == 2
    assert "The driver failed: the answer changed when the program was run a second time\n" in result.stdout


def test_a_driver_that_cannot_be_started_is_told_and_the_exit_code_is_2(saved: Path) -> None:
    result = check(saved, "--", "/nowhere/driver")
    assert result.exit_code == 2
    assert "could not start /nowhere/driver: there is no such program; after `--` comes " in result.stderr
    # Nothing was run, so there is no program that has to do with it.
    assert result.stdout == ""
    assert not saved.exists()


def test_a_driver_that_supports_no_program_agrees_with_nothing(saved: Path) -> None:
    result = check(saved, "-n", "30", "--", *driver("liars.liar", "supports_nothing"))
    assert result.exit_code == 2
    assert result.stdout.startswith("30 programs, 30 of them unsupported from seed ")
    assert result.stdout.endswith("Nothing was compared: the driver supports none of these programs.\n")


def test_a_reference_that_fails_is_told_and_the_exit_code_is_2(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(program: Json, profile: str) -> Json:
        raise ZeroDivisionError(f"{program['id']} under {profile}")

    monkeypatch.setattr(worker, "family_of", lambda _: attrs.evolve(FAMILY, trace=fails))
    result = check(saved, "--seed", "4", "--", *TRACE)
    assert result.exit_code == 2
    assert "The reference failed, found in seed-4:\nTraceback" in result.stdout
    assert "ZeroDivisionError: seed-4 under ai-sdk-6/stream" in result.stdout
    assert FAMILY.parse(saved.read_text("utf-8"))["script"] == []


@pytest.mark.parametrize(
    "arguments", [(), ("--target", "ai-sdk@6.0.134", "--", "node", "driver.mjs")], ids=["neither", "both"]
)
def test_neither_or_both_of_target_and_driver_is_a_usage_error(
    arguments: tuple[str, ...], saved: Path
) -> None:
    result = check(saved, *arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr
    assert "name a driver after `--`, or a --target, and not both" in result.stderr


@pytest.mark.slow
def test_the_folder_of_the_saved_program_is_made(tmp_path: Path) -> None:
    saved = tmp_path / "new" / "folder" / "found.json"
    assert check(saved, "--seed", "1", "--shrink-seconds", "0", "--", *FAULTY).exit_code == 1
    assert FAMILY.parse(saved.read_bytes())["id"] == "seed-1"


def test_a_target_is_driven_by_its_command(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def command(name: str) -> tuple[str, ...]:
        asked.append(name)
        return TRACE

    monkeypatch.setattr(targets, "command", command)
    assert check(saved, "-n", "5", "--target", "ai-sdk@6.0.134").exit_code == 0
    assert {*asked} == {"ai-sdk@6.0.134"}


def test_a_target_that_cannot_be_set_up_is_told_and_the_exit_code_is_2(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    result = check(saved, "--target", "ai-sdk@6.0.134")
    assert result.exit_code == 2
    assert "node is not on the PATH" in result.stderr
    assert result.stdout == ""


def test_a_terminal_shows_progress_beside_the_result(saved: Path) -> None:
    result = check(saved, "-n", "20", "--", *TRACE, env={"FORCE_COLOR": "1"})
    assert "programs" in result.stderr
    assert "20/20" in result.stderr
    assert result.stdout.endswith("No disagreement.\n")


@pytest.mark.slow
def test_long_lines_are_not_broken_when_piped(saved: Path) -> None:
    result = check(saved, "--seed", "1", "--shrink-seconds", "0", "--", *FAULTY, env={"COLUMNS": "20"})
    again = next(line for line in result.stdout.splitlines() if "faults.profile_driver" in line)
    assert again.endswith(shlex.join(FAULTY))
    assert "\x1b" not in result.stdout
    assert json.loads(saved.read_text("utf-8"))["id"] == "seed-1"
