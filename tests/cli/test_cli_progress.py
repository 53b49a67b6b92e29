from __future__ import annotations

import sys
from typing import Final

import pytest

from agentcore.cli.terminal import console, progress

SECONDS: Final = 5.0


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_line_comes_after_some_seconds_and_not_before(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress(every=SECONDS, clock=clock) as shown:
        for done in range(7):
            shown.update("programs", done, 6)
            clock.now += SECONDS / 2
    written = capsys.readouterr()
    assert (
        written.err
        == "programs: 2 of 6 after 5 s\nprograms: 4 of 6 after 10 s\nprograms: 6 of 6 after 15 s\n"
    )
    assert written.out == ""


def test_what_is_quick_has_a_line_at_its_end_if_that_is_asked_for(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    for ends in (False, True):
        with progress(every=SECONDS, ends=ends, clock=clock) as shown:
            shown.update("programs", 1, 2)
            shown.update("programs", 2, 2)
            shown.stop()
    assert capsys.readouterr().err == "programs: 2 of 2 after 0 s\n"


def test_how_many_there_are_need_not_be_known(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress(every=SECONDS, ends=True, clock=clock) as shown:
        clock.now += SECONDS
        shown.update("programs", 30, None)
    assert capsys.readouterr().err == "programs: 30 after 5 s\n"


def test_lines_that_cannot_be_written_are_left_out(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        encoding = "utf-8"

        def write(self, _: str) -> int:
            raise OSError("full")

        def flush(self) -> None:
            raise OSError("full")

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stderr", Full())
    with progress(every=SECONDS, ends=True, clock=clock) as shown:
        shown.update("programs", 2, 2)


@pytest.fixture
def in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    assert console(stderr=True).is_terminal


@pytest.mark.usefixtures("in_a_terminal")
def test_a_terminal_has_a_bar_of_each_kind_that_can_be_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(every=SECONDS, ends=True) as shown:
        shown.update("programs", 1, 2)
        shown.update("programs", 2, 2)
        shown.update("classes", 1, 3)
        shown.stop()
    written = capsys.readouterr().err
    assert "programs" in written
    assert "1/3" in written
