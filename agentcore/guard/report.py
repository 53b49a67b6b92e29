"""`guard`, its report, and the error of one that is to be empty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentcore.errors import AgentCoreError
from agentcore.guard.classes import ClassReader
from agentcore.guard.comparing import changes
from agentcore.guard.snapshot import Snapshot
from agentcore.guard.values import Change, Opaque

__all__ = ["GuardedWriteError", "Report", "guard"]


class GuardedWriteError(AgentCoreError):
    """Something that was guarded was changed; `paths` are the places, `report` says all.

    `path` is the first of the places.
    """

    wire_name = "GuardedWriteError"

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self.report = report
        self.paths = tuple(change.path for change in report.changes)
        self.path = self.paths[0]

    def __str__(self) -> str:
        return f"{self.report}\nreturn new messages and leave these as they are"


class Report:
    """What changed in a guarded block; true if anything did."""

    __slots__ = ("_changes", "_opaque")

    def __init__(self, opaque: tuple[Opaque, ...]) -> None:
        self._changes: tuple[Change, ...] = ()
        self._opaque = opaque

    @property
    def changes(self) -> tuple[Change, ...]:
        """The places that hold something else; none until the block has ended, in whatever way."""
        return self._changes

    @property
    def opaque(self) -> tuple[Opaque, ...]:
        """The values that were compared by identity only: what happens inside of them is not reported."""
        return self._opaque

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        if not self.changes:
            return "nothing was changed"
        count = len(self.changes)
        lines = (f"  {change}" for change in self.changes)
        return "\n".join((f"{count} place{'s' * (count > 1)} changed:", *lines))

    def require_unchanged(self) -> None:
        """Raises GuardedWriteError if anything changed."""
        if self.changes:
            raise GuardedWriteError(self)


@contextmanager
def guard(*values: object, raises: bool = False, opaque: tuple[type, ...] = ()) -> Iterator[Report]:
    """Reports what the code of a block changes of these values, and of everything that they lead to.

    Paths begin at `$`, the value; of several values, `$[0]` is the first. Changes are found by comparing
    before and after, so what is changed and changed back is none. The values are held during the block, and
    by nothing afterwards.

    An exception of the block goes on, and the report is there all the same (rule guard.report-stands).

    Args:
        values: anything: containers, dataclasses, attrs and pydantic models, objects of any class.
        raises: whether the end of the block raises if anything changed.
        opaque: classes whose instances are not looked into.

    Raises:
        GuardedWriteError: if anything changed and `raises` is true.
    """
    reader = ClassReader(opaque)
    snapshot = Snapshot(values[0] if len(values) == 1 else values, reader)
    report = Report(_opaque(snapshot))
    try:
        yield report
    finally:
        report._changes = changes(snapshot, reader)  # noqa: SLF001 - read only for all others
        # An error that is raised here would keep them.
        del snapshot, values
    if raises:
        report.require_unchanged()


def _opaque(snapshot: Snapshot) -> tuple[Opaque, ...]:
    return tuple(
        Opaque(path=snapshot.path(number), type_name=type(value).__name__)
        for number, value in snapshot.opaque.items()
    )
