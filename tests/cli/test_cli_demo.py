from __future__ import annotations

from cli.commands import run

WIDTH = 120


def test_the_demo_shows_what_lasts_what_does_not_and_what_is_refused() -> None:
    result = run("demo")
    assert result.exit_code == 0
    for text in ("permanent", "this step", "refused: ", "no pollution in any mode"):
        assert text in result.stdout
    for mode in ("immutable", "ai-sdk-6/stream", "ai-sdk-6/generate"):
        assert mode in result.stdout


def test_the_hooks_are_shown_as_they_are_written() -> None:
    shown = run("demo").stdout
    assert 'last["content"] += "\\n" + REMINDER\n' in shown
    assert 'return {"messages": [*step["messages"], {"role": "user", "content": REMINDER}]}\n' in shown


def test_what_is_piped_is_plain_ascii_of_one_width_whatever_the_environment_says() -> None:
    shown = run("demo", env={"COLUMNS": "40"}).stdout
    assert shown == run("demo").stdout
    assert shown.isascii()
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) == WIDTH


def test_a_terminal_gets_colours_and_lines() -> None:
    shown = run("demo", env={"FORCE_COLOR": "1", "COLUMNS": "100", "TERM": "xterm-256color"}).stdout
    assert "\x1b[" in shown
    assert "╭" in shown
