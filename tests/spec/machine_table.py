"""The table of the machine in the chapter about runs, made of the one that the machine goes by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, get_args

from agentcore.machine.effects import Done, Need
from agentcore.machine.run import TABLE, Arm
from spec.requirements import SPEC

PAGE: Final = SPEC / "run.md"
BEGIN: Final = "<!-- made of agentcore.machine.run.TABLE by tests/pages.py -->\n"
END: Final = "<!-- end -->\n"
_NEEDS: Final = [each for each in get_args(Need) if each is not Done]
_MANY: Final = 5


def with_table(text: str) -> str:
    """The chapter with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def table() -> str:
    """The rows of the machine's table."""
    return "| need | outcome | rule |\n|---|---|---|\n" + "".join(map(_row, TABLE))


def _row(arm: Arm) -> str:
    return f"| {_needs(arm.needs)} | {_names(arm.outcomes)} | `{arm.rule.value}` |\n"


def _needs(kinds: tuple[type, ...]) -> str:
    if len(kinds) < _MANY:
        return _names(kinds)
    others = [each for each in _NEEDS if each not in kinds]
    rest = [each for each in kinds if each not in _NEEDS]
    many = f"any need but {_names(others)}" if others else "any need"
    return f"{many}; {_names(rest)}" if rest else many


def _names(kinds: Iterable[type]) -> str:
    return ", ".join(f"`{kind.__name__}`" for kind in kinds)
