"""What commands do where something cannot be written, or where they are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.cli import check as module
from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.oracle.campaign import worker
from cli.commands import AGENTCORE, ENVIRONMENT, TRACE, driver, run
from liars.moody import InMemory

STREAM: Final = ("--profile", "ai-sdk-6/stream", "--seed", "0", "-n", "20", "--shrink-seconds", "0")
WRONG: Final = driver("liars.moody", "op delete=wrong")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(worker, "Driver", InMemory)
    # Under a file there are no folders, whoever asks.
    (tmp_path / "file").write_text("")
    return tmp_path


NOWHERE: Final = "file/below"
UNWRITABLE: Final = {
    "database": ("--database", NOWHERE),
    "report.html": ("--report", f"{NOWHERE}/r.html"),
    "report.json": ("--report", f"{NOWHERE}/r.json"),
    "saved program": ("--save", f"{NOWHERE}/found.json"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("what", UNWRITABLE)
def test_a_disagreement_is_printed_and_exits_with_1_where_something_cannot_be_written(what: str) -> None:
    database = () if what == "database" else ("--no-database",)
    result = run("check", *STREAM, *database, *UNWRITABLE[what], "--", *WRONG)
    assert result.exit_code == 1
    assert "Disagreement, found in seed-" in result.stdout
    assert "first difference: $.caller" in result.stdout
    assert result.stderr.startswith("warning: the ")
    assert f" was not written to {NOWHERE}" in result.stderr
    assert result.stderr.endswith(": Not a directory\n")
    assert Path("disagreement.json").exists() == (what != "saved program")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("what", [what for what in UNWRITABLE if what != "saved program"])
def test_an_agreement_stays_one_where_something_cannot_be_written(what: str) -> None:
    options = ("--no-database", *UNWRITABLE[what]) if "report" in what else UNWRITABLE[what]
    assert run("check", *STREAM, *options, "--", *driver("liars.moody")).exit_code == 0


@pytest.mark.usefixtures("folder")
def test_a_report_that_cannot_be_made_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("too small")

    monkeypatch.setattr(module, "document", fails)
    result = run("check", *STREAM, "--no-database", "--report", "r.json", "--", *WRONG)
    assert result.exit_code == 1
    assert "the report was not written to r.json: ZeroDivisionError('too small')" in result.stderr


# ---------------------------------------------------------------- standard output


def ended(command: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Ends of `agentcore ARGUMENTS` where a shell's COMMAND runs it (`"$@" > /dev/full`)."""
    return subprocess.run(
        ["/bin/sh", "-c", command, "sh", *AGENTCORE, *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


UNHEARD: Final = {
    "full": ('"$@" > /dev/full', "No space left on device"),
    "closed": ('"$@" >&-', "Bad file descriptor"),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", UNHEARD)
@pytest.mark.parametrize("command", [("demo",), ("skeleton", "python"), ("trace",)], ids=" ".join)
def test_a_command_that_nobody_can_hear_says_so_and_gives_no_traceback(
    command: tuple[str, ...], how: str, tmp_path: Path
) -> None:
    shell, reason = UNHEARD[how]
    done = ended(f"echo '{{}}' | {shell}", *command, cwd=tmp_path)
    assert done.stderr == f"warning: standard output cannot be written: {reason}\n"
    assert done.returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("how", UNHEARD)
def test_a_disagreement_that_cannot_be_printed_is_saved_and_exits_with_1(how: str, tmp_path: Path) -> None:
    shell, reason = UNHEARD[how]
    done = ended(shell, "check", *STREAM, "--no-database", "--", *WRONG, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"warning: standard output cannot be written: {reason}\n"
    assert FAMILY.parse((tmp_path / "disagreement.json").read_bytes())["path"] == "stream"


@pytest.mark.parametrize(
    ("arguments", "code"), [(("demo",), 141), (("skeleton", "python"), 141), (("check", "--help"), 141)]
)
def test_a_command_whose_reader_is_gone_ends_quietly(
    arguments: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    done = ended('{ "$@"; echo "$?" > code; } | true', *arguments, cwd=tmp_path)
    assert done.stderr == ""
    # Whether the reader is gone in time is a matter of luck for a command that writes once.
    assert int((tmp_path / "code").read_text()) in (code, 0)


def test_an_agreement_is_one_though_nobody_reads_it(tmp_path: Path) -> None:
    check = ("check", *STREAM, "--no-database", "--", *driver("liars.moody"))
    done = ended('{ "$@"; echo "$?" > code; } | true', *check, cwd=tmp_path)
    assert (tmp_path / "code").read_text() == "0\n"
    assert done.stderr == ""


def test_closed_input_is_empty_input(tmp_path: Path) -> None:
    done = ended('"$@" <&-', "trace", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_goes_wrong_with_everything_closed_has_its_exit_code(tmp_path: Path) -> None:
    assert ended('"$@" <&- >&- 2>&-', "demo", cwd=tmp_path).returncode == 2


# ---------------------------------------------------------------- interruptions and faults


@pytest.mark.slow
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_any_verdict_exits_with_128_and_its_number(
    signum: signal.Signals, tmp_path: Path
) -> None:
    check = ("check", "--profile", "ai-sdk-6/stream", "--no-database", "--time-limit", "600")
    mark = tmp_path / "mark"
    hangs = (sys.executable, "-c", f"open({str(mark)!r}, 'w').close(); import time; time.sleep(600)")
    running = subprocess.Popen(
        [*AGENTCORE, *check, "--", *hangs], env=ENVIRONMENT, stderr=subprocess.PIPE, cwd=tmp_path
    )
    with running:
        while not mark.exists() and running.poll() is None:
            os.sched_yield()
        running.send_signal(signum)
        assert running.stderr is not None
        said = running.stderr.read()
    assert running.returncode == 128 + signum
    assert said == f"agentcore was interrupted by {signum.name}\n".encode()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), 130), (ZeroDivisionError("a bug"), 2), (OSError(5, "x", "f"), 2)],
)
def test_nothing_but_a_disagreement_exits_with_1(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(module, "campaign", fails)
    assert run("check", *STREAM, "--no-database", "--", *TRACE).exit_code == code


def test_another_command_that_fails_does_not_exit_with_1_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("agentcore.cli.demo.versions", fails)
    result = run("demo")
    assert result.exit_code == 2
    assert "ZeroDivisionError: a bug" in result.stderr
