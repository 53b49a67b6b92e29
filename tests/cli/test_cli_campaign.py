"""`agentcore check` beyond the first disagreement: several findings, features, time, database, reports."""

from __future__ import annotations

import json
import re
import sys
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import Result

from agentcore.cli import check as module
from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.kit.families import FAMILIES, PROFILE_NAMES, family_of
from agentcore.oracle.campaign import executors, worker
from agentcore.oracle.campaign.executors import Crew
from agentcore.oracle.drivers import packages as targets
from cli.commands import driver, run
from liars.moody import InMemory
from oracle.reports.junit_shape import assert_junit

Json = dict[str, Any]
STREAM: Final = ("--profile", "ai-sdk-6/stream")
QUICK: Final = ("--shrink-seconds", "0", "--seed", "0")


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "Driver", InMemory)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTCORE_DATABASE", str(tmp_path / "found"))
    return tmp_path


def check(*options: str, deeds: tuple[str, ...] = (), profile: tuple[str, ...] = STREAM) -> Result:
    return run("check", *profile, *QUICK, *options, "--", *driver("liars.moody", *deeds))


TWO: Final = ("hook onFinish=error", "op delete=wrong")


@pytest.mark.slow
def test_several_findings_are_told_with_their_kinds_and_saved_beside_each_other(folder: Path) -> None:
    result = check("-n", "60", "--max-findings", "5", deeds=TWO)
    assert result.exit_code == 1
    assert "Disagreement at $.error (" in result.stdout
    assert "Disagreement at $.caller" in result.stdout
    assert "cause: delete in " in result.stdout
    saved = [FAMILY.parse(file.read_text("utf-8")) for file in folder.glob("disagreement*.json")]
    assert len({program["id"] for program in saved}) == result.stdout.count("Disagreement at ") >= 2
    assert "The program is in disagreement-2.json." in result.stdout


def test_findings_are_kept_and_run_first_the_next_time(folder: Path) -> None:
    first = check("-n", "60", deeds=TWO)
    [kept] = (folder / "found").rglob("*.json")
    saved = json.loads((folder / "disagreement.json").read_text("utf-8"))
    assert json.loads(kept.read_text("utf-8"))["program"] == saved
    again = check("-n", "60", deeds=TWO)
    assert (first.exit_code, again.exit_code) == (1, 1)
    assert "1 programs that were found before were run first; 0 of them show" in again.stdout
    assert "\n0 programs from seed 0" in again.stdout


def test_a_kept_program_that_shows_nothing_any_more_is_told_and_kept_on(folder: Path) -> None:
    check("-n", "60", deeds=TWO)
    mended = check("-n", "5")
    assert mended.exit_code == 0
    assert "1 programs that were found before were run first; 1 of them show nothing now." in mended.stdout
    assert len([*(folder / "found").rglob("*.json")]) == 1


def test_without_a_database_nothing_is_kept_or_run_first(folder: Path) -> None:
    check("-n", "60", "--no-database", deeds=TWO)
    assert not (folder / "found").exists()
    check("-n", "60", "--database", str(folder / "other"), deeds=TWO)
    assert len([*(folder / "other").rglob("*.json")]) == 1
    assert "found before" not in check("-n", "5", "--no-database", "--database", str(folder / "other")).stdout


def test_a_file_of_the_database_that_holds_no_program_is_told(folder: Path) -> None:
    bad = folder / "found" / "ai-sdk-6" / "stream" / "bad.json"
    bad.parent.mkdir(parents=True)
    bad.write_text("no", "utf-8")
    result = check("-n", "3")
    assert result.exit_code == 0
    assert f"{bad} holds no program" in result.stderr


@pytest.mark.usefixtures("folder")
def test_time_ends_a_check_too() -> None:
    result = check("--seconds", "0.3")
    assert result.exit_code == 0
    assert "No disagreement." in result.stdout
    assert check("--seconds", "100", "-n", "2").stdout.startswith("2 programs")


@pytest.mark.usefixtures("folder")
def test_features_are_asked_for_and_left_out() -> None:
    result = check("-n", "5", "--include", "op *", "--exclude", "op delete", deeds=("op delete=wrong",))
    assert result.exit_code == 0
    assert result.stdout.startswith("5 programs from seed 0 (")
    assert " others were left out) in " in result.stdout


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("option", ["--include", "--exclude"])
def test_an_unknown_feature_is_a_usage_error_with_names_near_it(option: str) -> None:
    result = check(option, "op delte")
    assert result.exit_code == 2
    assert "no feature of ai-sdk programs is named 'op delte'; near it are op delete" in result.stderr
    assert "--list-features prints all" in result.stderr


def test_features_can_be_listed_without_a_driver() -> None:
    result = run("check", "--profile", "ai-sdk-6", "--list-features")
    assert result.exit_code == 0
    assert tuple(result.stdout.splitlines()) == FAMILY.feature_names


def test_features_are_listed_with_nothing_else_for_all_kinds_of_programs() -> None:
    result = run("check", "--list-features")
    assert result.exit_code == 0
    heads = [line for line in result.stdout.splitlines() if line.startswith("# --profile ")]
    named = [name for head in heads for name in head.removeprefix("# --profile ").split(", ")]
    assert {*PROFILE_NAMES} <= {*named}
    assert len(named) == len({*named})
    names = [line for line in result.stdout.splitlines() if not line.startswith("#")]
    assert names == [name for family in FAMILIES.values() for name in family.feature_names]


def test_features_of_a_target_are_those_of_its_programs() -> None:
    listed = run("check", "--target", "mastra@1.0.4", "--list-features").stdout.splitlines()
    family = family_of("mastra@1.0.4")
    never = [f"# never drawn: {choice}. {reason}" for choice, reason in family.never_drawn.items()]
    assert listed == [*family.feature_names, *never]


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_features_that_no_program_has_give_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentcore.oracle.campaign.stop_rules.FRUITLESS", 60)
    result = check("--include", "op delete", "--exclude", "op *")
    assert result.exit_code == 2
    assert result.stdout.startswith("0 programs from seed 0 (60 others were left out)")
    assert "Nothing was compared: too many programs in a row were left out" in result.stdout


@pytest.mark.usefixtures("folder")
def test_a_check_whose_time_was_too_short_gives_no_verdict() -> None:
    result = check("--seconds", "0.000001")
    assert result.exit_code == 2
    assert "Nothing was compared: the time was over" in result.stdout


@pytest.mark.usefixtures("folder")
def test_failures_of_the_driver_are_told_apart_from_wrong_traces() -> None:
    deeds = ("op delete=crash", "hook onFinish=junk", "hook stopWhen=hang")
    result = check("-n", "40", "--max-failures", "99", deeds=deeds)
    assert result.exit_code == 2
    for reason in ("ended with exit code 3", "a line that is not JSON", "no answer within 20 seconds"):
        assert f"The driver failed: {reason}" in result.stdout.replace("the process ", "")
    assert check("-n", "40", "--max-failures", "1", deeds=deeds).stdout.count("The driver failed") == 1


@pytest.mark.slow
@pytest.mark.parametrize("deed", ["crash", "junk", "hostile"])
def test_what_a_driver_says_does_not_reach_the_terminal(deed: str, folder: Path) -> None:
    report = ("--report", str(folder / "a.html"))
    result = check("-n", "20", *report, deeds=(f"op set={deed}",))
    for text in (result.stdout, (folder / "a.html").read_text("utf-8")):
        assert "\\u001b[2J\\u0000" in text
        assert not {"\x1b", "\x00", "\u202e"} & {*text}
        assert "[red]x[/red]" in text
        assert len(text) < 400_000


def test_reports_are_written_in_each_format(folder: Path) -> None:
    files = [folder / f"report{suffix}" for suffix in (".json", ".html", ".xml")]
    options = [word for file in files for word in ("--report", str(file))]
    result = check("-n", "60", *options, deeds=TWO)
    assert result.exit_code == 1
    told, page, cases = (file.read_text("utf-8") for file in files)
    assert json.loads(told)["verdict"] == "disagreement"
    assert '<h1 class="disagreement">' in page
    assert_junit(cases)


def test_a_report_of_a_kind_that_is_not_known_is_told_before_any_program_runs(folder: Path) -> None:
    result = check("--report", str(folder / "report.pdf"))
    assert result.exit_code == 2
    assert "ends in none of .html, .json, .xml" in result.stderr.replace("\n", " ")
    assert result.stdout == ""


def test_the_folder_of_a_report_is_made(folder: Path) -> None:
    assert check("-n", "3", "--report", "new/folder/report.json").exit_code == 0
    assert json.loads((folder / "new" / "folder" / "report.json").read_text("utf-8"))["programs"] == 3


@pytest.mark.usefixtures("folder")
def test_a_target_has_a_profile_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "command", lambda _: driver("liars.moody", "path generate=wrong"))
    result = run("check", *QUICK, "-n", "30", "--target", "ai-sdk@6.0.134")
    assert result.exit_code == 1
    assert "agentcore trace --profile ai-sdk-6/generate " in result.stdout


@pytest.mark.usefixtures("folder")
def test_a_driver_without_a_profile_is_a_usage_error() -> None:
    result = check(profile=())
    assert result.exit_code == 2
    assert "say whose behaviour is expected: --profile, one of ai-sdk-6" in result.stderr


@pytest.mark.usefixtures("folder")
def test_a_driver_for_programs_of_another_format_gives_no_verdict() -> None:
    result = check(profile=("--profile", "strands-ts@1.5.0"))
    assert result.exit_code == 2
    assert result.stderr == "the driver runs no strands programs; it has said: ai-sdk\n"


@pytest.mark.usefixtures("folder")
def test_jobs_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def processes(jobs: int) -> Any:
        asked.append(jobs)
        return executors.alone()

    monkeypatch.setattr(executors, "processes", processes)
    assert check("-n", "3", "--jobs", "2").exit_code == 0
    assert asked == [2]


@pytest.mark.usefixtures("folder")
def test_without_the_extra_a_scheduler_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = check("--scheduler", "tcp://127.0.0.1:1")
    assert result.exit_code == 2
    assert "--scheduler needs the extra `dask`" in result.stderr


@pytest.mark.usefixtures("folder")
def test_a_crew_that_falls_apart_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise BrokenProcessPool("a job was ended")

    monkeypatch.setattr(module, "_crew", lambda _: nullcontext(Crew(size=2, submit=broken)))
    result = check()
    assert result.exit_code == 2
    assert "a job was ended" in result.stderr


# ---------------------------------------------------------------- what is asked for


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--target", "parrot@1"), "no target is named 'parrot@1'"),
        (("--only", "steps"), "is no path of a trace; write it like "),
        (("--include", "op sets"), "--list-features prints all"),
        (("--sweep", "sideways"), "sideways"),
    ],
)
def test_what_cannot_be_checked_is_wrong_usage(options: tuple[str, ...], says: str) -> None:
    result = check(*options)
    assert result.exit_code == 2
    assert says in re.sub(r"\W*\n\W*", " ", result.stderr)
