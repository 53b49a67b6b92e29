"""Where commands write to."""

from __future__ import annotations

from typing import Final

from rich.console import Console

from agentcore.oracle.visible import visible

_PIPED_WIDTH: Final = 120


def console(*, stderr: bool = False) -> Console:
    """A console. What is not a terminal gets no escape codes, and the same width everywhere."""
    found = Console(stderr=stderr, highlight=False)
    if found.is_terminal:
        return found
    return Console(stderr=stderr, highlight=False, width=_PIPED_WIDTH, color_system=None)


def say(target: Console, text: str, style: str | None = None) -> None:
    """Writes a text as it is: no markup, no control characters, and lines end where the text says."""
    target.print(visible(text), style=style, markup=False, soft_wrap=True)


_PRINTED: Final = 2000


def printable(text: str) -> str:
    """What a program or a driver said, as one line that a terminal shows and does not obey; cut if long."""
    shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
    return shown if len(shown) <= _PRINTED else f"{shown[:_PRINTED]}..."
