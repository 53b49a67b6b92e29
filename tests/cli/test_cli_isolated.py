from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import Result

from agentcore.oracle.campaign.worker import close_drivers
from cli.commands import TRACE, driver, run

Json = dict[str, Any]
LEAK: Final = {
    "id": "leak",
    "path": "stream",
    "messages": [{"role": "user", "content": "hi"}],
    "script": [[{"type": "text", "text": "done"}]],
    "hooks": {"prepareStep": [[{"set": ["messages", 0, "content"], "to": "written"}]]},
}


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_drivers()


def check(folder: Path, *options: str, loop: tuple[str, ...] = ("liars.copying",)) -> Result:
    save = ("--save", str(folder / "found.json"), "--no-database")
    return run("check", "--isolated", *save, *options, "--", *driver(*loop))


def test_a_loop_that_copies_has_no_finding_and_the_exit_code_is_0(tmp_path: Path) -> None:
    result = check(tmp_path, "-n", "40", "--seed", "0")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "No write of a hook is seen by anybody else."
    assert not (tmp_path / "found.json").exists()


@pytest.mark.slow
def test_each_cause_is_told_with_its_program_its_sides_and_what_to_do(tmp_path: Path) -> None:
    options = ("-n", "60", "--seed", "0", "--max-findings", "3", "--report", str(tmp_path / "r.json"))
    result = check(tmp_path, *options, loop=("liars.copying", "shown"))
    assert result.exit_code == 1
    first = result.stdout.splitlines()[0]
    assert first.startswith("write: prepareStep writes messages")
    assert "--- without the write\n+++ with the write\n" in result.stdout
    assert "Requirement isolated.write. What to do: copy what is handed over" in result.stdout
    assert f"agentcore check --isolated --replay {tmp_path / 'found.json'} -- " in result.stdout
    assert "more causes were seen" in result.stdout
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert report["isolated"] is True
    assert len(report["findings"]) == 3
    breach = report["findings"][0]["breach"]
    assert breach["kind"] == "write"
    assert breach["requirement"] == "isolated.write"
    [op] = [
        op
        for ops in report["findings"][0]["program"]["hooks"]["prepareStep"]
        for op in ops or ()
        if "keep" not in op
    ]
    assert breach["op"] in op


@pytest.mark.slow
def test_faults_of_three_kinds_are_found_in_one_run(tmp_path: Path) -> None:
    result = check(tmp_path, "-n", "60", "--seed", "0", loop=("liars.copying", "report"))
    assert result.exit_code == 1
    assert "write: the loop writes a report's messages; seen in steps" in result.stdout
    assert "--- as it was given\n+++ after the run\n" in result.stdout
    result = check(tmp_path, "-n", "20", "--seed", "0", loop=("liars.copying", "caller"))
    assert "write: the loop writes the caller's messages; seen in caller" in result.stdout
    assert "--- before the run\n+++ after the run\n" in result.stdout


def test_a_saved_program_runs_again_alone(tmp_path: Path) -> None:
    file = tmp_path / "leak.json"
    file.write_text(json.dumps(LEAK), "utf-8")
    shared = check(tmp_path, "--replay", str(file), loop=("liars.copying", "shown"))
    assert shared.exit_code == 1
    assert "prepareStep writes messages[*].content (set); seen in later-prompts" in shared.stdout or (
        "prepareStep writes messages[*].content (set); seen in this-prompt" in shared.stdout
    )
    assert "1 program was run again; it shows this still." in shared.stdout
    copied = check(tmp_path, "--replay", str(file))
    assert copied.exit_code == 0
    assert "1 program was run again; it shows nothing now." in copied.stdout


@pytest.mark.slow
def test_a_saved_program_runs_again_on_a_profile_too(tmp_path: Path) -> None:
    file = tmp_path / "leak.json"
    file.write_text(json.dumps(LEAK), "utf-8")
    options = ("--save", str(tmp_path / "f.json"), "--replay", str(file))
    agreed = run("check", "--profile", "ai-sdk-6/stream", *options, "--", *TRACE)
    assert agreed.exit_code == 0
    wrong = run("check", "--profile", "immutable", *options, "--", *TRACE)
    assert wrong.exit_code == 1


def test_a_file_without_a_program_cannot_run_again(tmp_path: Path) -> None:
    file = tmp_path / "none.json"
    file.write_text("{}", "utf-8")
    result = check(tmp_path, "--replay", str(file))
    assert result.exit_code == 2
    assert "--replay: " in result.stderr


@pytest.mark.slow
def test_programs_are_of_the_format_that_the_driver_says(tmp_path: Path) -> None:
    mastra = (*TRACE, "--protocol", "--profile", "mastra@1.71.0")
    save = ("--save", str(tmp_path / "found.json"), "--no-database", "--report", str(tmp_path / "r.json"))
    result = run("check", "--isolated", "-n", "5", "--seed", "0", *save, "--", *mastra)
    assert result.exit_code in {0, 1}
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["profile"] == "mastra@1.71.0"


@pytest.mark.slow
def test_findings_are_printed_and_saved_where_the_report_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    bad = str(tmp_path / "file" / "below" / "r.html")
    result = check(tmp_path, "-n", "30", "--seed", "0", "--report", bad, loop=("liars.copying", "caller"))
    assert result.exit_code == 1
    assert (tmp_path / "found.json").exists()
    assert "warning: the report was not written to" in result.stderr


def test_a_driver_that_dies_gives_no_verdict() -> None:
    result = run("check", "--isolated", "-n", "5", "--no-database", "--", "/bin/false")
    assert result.exit_code == 2


@pytest.mark.slow
def test_two_jobs_find_what_one_finds(tmp_path: Path) -> None:
    told = []
    for jobs in ("1", "2"):
        options = ("-n", "60", "--seed", "3", "--jobs", jobs, "--shrink-seconds", "0")
        result = check(
            tmp_path, *options, "--report", str(tmp_path / "r.json"), loop=("liars.copying", "tools")
        )
        assert result.exit_code == 1
        report = json.loads((tmp_path / "r.json").read_text("utf-8"))
        told.append([(one["where"], one["programs"], one["original"]) for one in report["findings"]])
    assert told[0] == told[1]
