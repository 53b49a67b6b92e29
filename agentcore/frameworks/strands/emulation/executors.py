"""How the tools of one answer run: one after the other, racing each other, or as tasks side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from agentcore.frameworks.strands.emulation.turns import (
    Clock,
    Closed,
    Event,
    Jobs,
    Process,
    Promise,
    Steps,
    advanced,
)
from agentcore.heap.heap import Ref

Execute: TypeAlias = Callable[[Ref], Steps[Ref]]
"""Runs one tool use to its result."""


def one_by_one(uses: list[Ref], execute: Execute, results: list[Ref]) -> Steps[None]:
    """Runs tools in order; what has a result when one of them raises is kept."""
    for use in uses:
        result = yield from execute(use)
        results.append(result)


class Race:
    """Tools that race each other on JavaScript's job queue, each from event to event.

    An event takes so many turns to get from here to the hooks. A tool that is left behind when the loop is
    closed goes on until its next event.
    """

    def __init__(self, jobs: Jobs, execute: Execute, turns: int) -> None:
        self.jobs = jobs
        self.execute = execute
        self.turns = turns

    def run(self, uses: list[Ref], ended: Callable[[Ref, Ref | Exception], Event]) -> Steps[None]:
        """Runs tools. `ended` takes what comes of each, when it comes, and gives the event for that."""
        runners = [Process(self.jobs, self.execute(use)) for use in uses]
        pending = {index: self._next(runner, index) for index, runner in enumerate(runners)}
        try:
            while pending:
                race = Promise.first(self.jobs, list(pending.values()))
                yield race
                index, step = race.value
                event = step.event
                if event is None:
                    del pending[index]
                    event = ended(uses[index], step.value if step.error is None else step.error)
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
    """Runs tools as tasks, which change places where one of them tells of something, waits or ends.

    If one raises, the others are left where they are, and there are no results.
    """
    running = [execute(use) for use in uses]
    found: dict[int, Ref] = {}
    clock = Clock()
    ready = list(range(len(running)))
    while ready:
        got = [(index, advanced(running[index])) for index in ready]
        ready = []
        for index, step in got:
            if step.error is not None:
                raise step.error
            if step.event is not None:
                yield step.event
                ready.append(index)
            elif step.moments:
                clock.wait(step.moments, index)
            else:
                found[index] = step.value
        if not ready and (woken := clock.next()) is not None:
            ready.append(woken)
    results.extend(found[index] for index in range(len(running)))
