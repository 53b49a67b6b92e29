"""Runs programs of examples that are written in another language, with the package of a target."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from agentcore.kit.safe_text import visible
from agentcore.oracle.spec.examples import Script

__all__ = ["LANGUAGES", "failure"]

# How the interpreter of a target's driver is told to read a program from its input.
LANGUAGES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"js": ("--input-type=module", "-"), "py": ("-",)}
)
_SECONDS: Final = 60.0
_SHOWN: Final = 2000


def failure(script: Script, command: Sequence[str], *, seconds: float = _SECONDS) -> str:
    """Runs a program and compares what it writes to standard output with what its example shows.

    Args:
        script: The program; its language is one of LANGUAGES.
        command: The command line of the target's driver (`targets.command`). The program is run by the same
            interpreter in the same folder, so that it finds the same package.
        seconds: How long the program may take.

    Returns:
        What is wrong, with the place of the example, or an empty text if the output is as shown and the exit
        code is 0.
    """
    *interpreter, driver = command
    place = script.example.place
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter of a target, with the text that was named
            [*interpreter, *LANGUAGES[script.language]],
            cwd=Path(driver).parent,
            input=script.source,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{place}: the program did not end within {seconds:g} seconds"
    if done.stdout == script.output and not done.returncode:
        return ""
    ended = f"\nand ended with exit code {done.returncode}" if done.returncode else ""
    wrote = visible(f"{done.stdout}{done.stderr[-_SHOWN:]}")
    return f"{place}: the program wrote\n{wrote}{ended}\nwhere its example shows\n{script.output}"
