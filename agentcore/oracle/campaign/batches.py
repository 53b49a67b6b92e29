"""A piece of a campaign: programs on both sides, one after the other, the driver some way ahead.

Rule oracle.started-again: a driver that fails takes nothing with it but the program that it was at.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.kit.families import Family
from agentcore.kit.safe_text import cut
from agentcore.oracle.campaign.interruption import Interrupted, reason
from agentcore.oracle.campaign.selection import Selection
from agentcore.oracle.campaign.stop_rules import Limits, Tally
from agentcore.oracle.campaign.verdicts import (
    AGREED,
    Failed,
    Fault,
    Kind,
    Tested,
    Verdict,
    Wrong,
    left_out,
    unsupported,
)
from agentcore.oracle.drivers.driver import Failure, Implementation

__all__ = ["WINDOW", "Chunk", "Found", "OtherFormatError", "parsed", "run_chunk"]

Json: TypeAlias = dict[str, Any]

_FORMATS: Final = 10
_TEXT: Final = 200
WINDOW: Final = 16
"""How many programs a driver is given ahead of the one that it is waited for."""


class OtherFormatError(AgentCoreError):
    """The driver says that it speaks formats of programs among which the family's is not."""


@attrs.frozen(kw_only=True)
class Found:
    """A program of which something is to be told."""

    program: Json
    fault: Fault


@attrs.frozen(kw_only=True)
class Chunk:
    """What became of the programs, in their order, and of each kind of fault the first.

    `seconds` is how long it took, of which `waiting` was spent on the driver's answers. `implementation` is
    what the driver said that it is. `stopped` says what stopped it before its end, after something was found.
    """

    kinds: tuple[Kind, ...]
    found: Mapping[Kind, Found]
    seconds: float
    waiting: float
    implementation: Implementation | None
    stopped: str = ""


def parsed(programs: Iterable[Json], family: Family) -> Iterator[Json]:
    """The programs as their lines say, so that both sides run the same, whatever is shared in memory.

    Raises BadProgram when it comes to one that is none.
    """
    return (family.parse(family.to_line(program)) for program in programs)


def run_chunk(  # noqa: PLR0913 - the last have defaults that fit most uses
    sides: Tested,
    programs: Iterable[Json],
    *,
    selection: Selection,
    limits: Limits,
    window: int = WINDOW,
    trims: bool = False,
    over: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda _: None,
) -> Chunk:
    """Runs the programs until there are no more, a limit is reached, or it is `over`.

    Features that the driver says it does not support are left out too; with `trims` they are taken out of
    programs where that is possible, rather than the programs being left out. `progress` is called with the
    number of programs done. What the driver still has to answer in the end is forgotten, with its process.
    Then it is asked what causes each of the wrong traces.

    Raises:
        OtherFormatError: if the driver says that it runs programs of other formats only.
    """
    return _Run(sides, selection, limits, window, trims=trims).chunk(programs, over, progress)


class _Run:
    def __init__(
        self, sides: Tested, selection: Selection, limits: Limits, window: int, *, trims: bool
    ) -> None:
        self._sides = sides
        self._trims = trims
        self._window = window
        self._tally = Tally(limits)
        self._kinds: list[Kind] = []
        self._found: dict[Kind, Found] = {}
        self._wrong: dict[int, Found] = {}
        self._waiting = 0.0
        self._begun = time.monotonic()
        # Why there was no start is what becomes of the first program; the next one gets another process.
        self._unstarted: Failure | None = self._waited(sides.driver.start)
        said = sides.driver.implementation
        if said and sides.family.name not in said.formats:
            formats = cut(", ".join(said.formats[:_FORMATS]), _TEXT) or "none"
            raise OtherFormatError(f"the driver runs no {sides.family.name} programs; it has said: {formats}")
        self._selection = selection.without(said.unsupported) if said else selection

    def chunk(
        self, programs: Iterable[Json], over: Callable[[], bool], progress: Callable[[int], None]
    ) -> Chunk:
        stopped = ""
        try:
            self._run(iter(programs), over, progress)
            self._explain()
        except (Exception, Interrupted) as error:
            # Rule oracle.never-lost: whatever it is, it takes nothing with it that was found before.
            if not self._found:
                raise
            stopped = reason(error)
        if self._sides.driver.pending:
            self._sides.driver.close()
        return Chunk(
            kinds=tuple(self._kinds),
            found=self._found,
            seconds=time.monotonic() - self._begun,
            waiting=self._waiting,
            implementation=self._sides.driver.implementation,
            stopped=stopped,
        )

    def _run(self, source: Iterator[Json], over: Callable[[], bool], progress: Callable[[int], None]) -> None:
        queue: deque[tuple[Json, str | None]] = deque()
        while not (self._tally.ended or over()):
            self._fill(queue, source)
            if not queue:
                return
            self._take(*queue.popleft())
            progress(self._tally.run)

    def _explain(self) -> None:
        """Finds what causes each wrong trace, which makes kinds of what was one (rule oracle.grouped)."""
        if not self._wrong:
            return
        if self._sides.driver.pending:
            self._sides.driver.close()
        found, self._found = self._found, {}
        for number, kind in enumerate(self._kinds):
            one = self._wrong.get(number) or found.get(kind)
            if number in self._wrong and one is not None and isinstance(one.fault, Wrong):
                one = Found(program=one.program, fault=self._sides.explained(one.program, one.fault))
                self._kinds[number] = one.fault.kind
            if one is not None:
                self._found.setdefault(one.fault.kind, one)

    def _fill(self, queue: deque[tuple[Json, str | None]], source: Iterator[Json]) -> None:
        driver = self._sides.driver
        while driver.pending < self._window and not self._stands(queue):
            program = next(source, None)
            if program is None:
                return
            if self._trims:
                program = self._selection.trimmed(program)
            refused = self._selection.refused(program)
            queue.append((program, refused))
            if refused is None and self._unstarted is None:
                self._sides.submit(program)

    def _stands(self, queue: deque[tuple[Json, str | None]]) -> bool:
        """Whether the first program to run is there, and there is no process to run it."""
        return self._unstarted is not None and any(refused is None for _, refused in queue)

    def _take(self, program: Json, refused: str | None) -> None:
        verdict = None if refused is not None else self._verdict(program)
        kind = _kind(verdict) if refused is None else left_out(refused)
        if isinstance(verdict, Wrong):
            self._wrong[len(self._kinds)] = Found(program=program, fault=verdict)
        self._kinds.append(kind)
        if isinstance(verdict, Fault) and kind not in self._found:
            self._found[kind] = Found(program=program, fault=verdict)
        self._tally.add(kind)

    def _verdict(self, program: Json) -> Verdict:
        unstarted, self._unstarted = self._unstarted, None
        if unstarted is not None:
            return Failed(unstarted)
        return self._sides.receive(program, self._waited)

    def _waited(self, ask: Callable[[], Any]) -> Any:
        since = time.monotonic()
        found = ask()
        self._waiting += time.monotonic() - since
        return found


def _kind(verdict: Verdict) -> Kind:
    if verdict is None:
        return AGREED
    return verdict.kind if isinstance(verdict, Fault) else unsupported(verdict.reason)
