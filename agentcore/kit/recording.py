"""What a run shows to its hooks, tools and models, written down: one record for all formats.

Entries are kept under the names of the trace's fields. What a format's trace has of the record is then a list
of names (`Record.shown`); how a live value becomes JSON is the format's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from agentcore.kit.families import Refusal

__all__ = ["Record", "RecordedRun"]

Json: TypeAlias = dict[str, Any]


class Record:
    """What is on record of a run, by fields of its trace.

    `kept` are the live objects that ops keep, by name; `refusals` are the ops that objects refused.
    """

    def __init__(self) -> None:
        self._entries: dict[str, list[Any]] = {}
        self.kept: Json = {}
        self.refusals: list[Refusal] = []

    def of(self, field: str) -> list[Any]:
        """Returns the entries of a field, in the order of the run."""
        return self._entries.setdefault(field, [])

    def add(self, field: str, entry: Any) -> Any:
        """Writes an entry down, and returns it."""
        self.of(field).append(entry)
        return entry

    def shown(self, *fields: str) -> Json:
        """Returns fields of a trace with their entries."""
        return {field: self.of(field) for field in fields}

    def shown_if_any(self, *fields: str) -> Json:
        """Returns those of the fields that have an entry."""
        return {field: self.of(field) for field in fields if self._entries.get(field)}


class RecordedRun:
    """A program about to run: its record, and what its model answers.

    Args:
        program: the program.
        at_end: what the model answers once the script has ended.
        script: the model's answers, unless the program has them.
    """

    def __init__(self, program: Mapping[str, Any], *, at_end: Any, script: Sequence[Any] = ()) -> None:
        self.program = program
        self.record = Record()
        self.model_calls = 0
        self._script: Sequence[Any] = program.get("script", script)
        self._at_end = at_end

    @property
    def refusals(self) -> Sequence[Refusal]:
        """The ops that objects refused."""
        return self.record.refusals

    def answer(self) -> Any:
        """Returns what the script has for this call of the model, and counts the call."""
        number, self.model_calls = self.model_calls, self.model_calls + 1
        return self._script[number] if number < len(self._script) else self._at_end
