"""How the tools of one answer run: one after the other, racing each other, or as tasks side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

from agentcore.compat.heap import Ref
from agentcore.compat.strands.turns import Closed, Event, Jobs, Process, Promise, Step, Steps

Execute: TypeAlias = Callable[[Ref], Steps[Ref]]
"""Runs one tool use to its result."""


def one_by_one(uses: list[Ref], execute: Execute, results: list[Ref]) -> Steps[None]:
    """Runs tools in order; what has a result when one of them raises is kept."""
    for use in uses:
        result = yield from execute(use)
        results.append(result)


class Race:
    """Tools that race each other on JavaScript's job queue, each from event to event.

    `told` makes the event that tells of a result, `error_of` the result of a tool that raised. A tool that
    is left behind when the loop is closed goes on until its next event.
    """

    def __init__(
        self,
        jobs: Jobs,
        *,
        turns: int,
        told: Callable[[Ref], Event],
        error_of: Callable[[Ref, Exception], Ref],
    ) -> None:
        self.jobs = jobs
        self.turns = turns
        self.told = told
        self.error_of = error_of

    def run(self, uses: list[Ref], execute: Execute, keep: Callable[[Ref, Ref], None]) -> Steps[None]:
        """Runs tools; `keep` is called with a use and its result, in the order in which they come."""
        runners = [Process(self.jobs, execute(use)) for use in uses]
        pending = {index: self._next(runner, index) for index, runner in enumerate(runners)}
        try:
            while pending:
                race = Promise.first(self.jobs, list(pending.values()))
                yield race
                index, step = race.value
                event = step.event
                if event is None:
                    del pending[index]
                    result = step.value if step.error is None else self.error_of(uses[index], step.error)
                    keep(uses[index], result)
                    event = self.told(result)
                yield from self.jobs.pause(self.turns)
                yield event
                if index in pending:
                    pending[index] = self._next(runners[index], index)
        except Closed:
            for index in pending:
                while not runners[index].step.settled:
                    yield runners[index].step
            raise

    def _next(self, runner: Process, index: int) -> Promise:
        return runner.advance().mapped(lambda step: (index, step))


def side_by_side(uses: list[Ref], execute: Execute, results: list[Ref]) -> Steps[None]:
    """Runs tools as tasks, which change places where one of them tells of something or ends.

    If one raises, the others are left where they are, and there are no results.
    """
    running = [execute(use) for use in uses]
    found: dict[int, Ref] = {}
    ready = list(range(len(running)))
    ended: set[int] = set()
    while ready:
        told: deque[tuple[int, Step]] = deque()
        for index in ready:
            told.append((index, _advanced(running[index])))
        ready = []
        for index, step in told:
            if step.error is not None:
                raise step.error
            if step.event is not None:
                yield step.event
                ready.append(index)
            elif index not in ended:
                # The result is told of, and taken when the task has its turn again.
                found[index] = step.value
                ended.add(index)
    results.extend(found[index] for index in range(len(running)))


def _advanced(steps: Steps[Ref]) -> Step:
    try:
        item = next(steps)
    except StopIteration as end:
        return Step(value=end.value)
    except Exception as error:  # noqa: BLE001 - raised where it is taken
        return Step(error=error)
    return Step(event=item if isinstance(item, Event) else None)
