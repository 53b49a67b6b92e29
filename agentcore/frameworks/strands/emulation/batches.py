"""The tools of one answer of the model: the hooks around all of them, and what they gave."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import attrs

from agentcore.frameworks.strands.emulation.agent import (
    Registered,
    as_text,
    failed,
    field,
    inside,
    items,
    message_of,
    results,
    uses,
)
from agentcore.frameworks.strands.emulation.models import TOOL_NAME
from agentcore.frameworks.strands.emulation.settings import StructuredOutput
from agentcore.frameworks.strands.emulation.tools import Tools
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
from agentcore.heap.heap import UNDEFINED, Ref, Value
from agentcore.heap.js import PackageError


@attrs.define
class Wanted:
    """The structured output that is wanted: its tool, the choice that asks for it, whether it was given."""

    output: StructuredOutput
    tool: Registered
    choice: Value = UNDEFINED
    given: bool = False


@attrs.frozen
class Ran:
    """The message with the results of the tools, and the structured output if its tool kept it."""

    message: Ref
    output: Value


@attrs.define
class _Batch:
    """The tool uses of one answer: what was asked for, what is run, and the results by then."""

    asked: list[Ref]
    run: list[Ref] = attrs.field(factory=list)
    results: list[Ref] = attrs.field(factory=list)


class Batches:
    """Runs the tools of answers, one after the other or at once."""

    def __init__(self, tools: Tools, *, concurrent: bool) -> None:
        self.tools = tools
        self.agent = tools.agent
        self.profile = tools.profile
        self.store = tools.store
        self.concurrent = concurrent

    def run(self, message: Ref, state: Value, wanted: Wanted | None) -> Steps[Ran | None]:
        """The outcomes of the tools; None if a hook threw meanwhile and the loop goes on all the same."""
        agent = self.agent
        before = agent.event("beforeTools", message=message, invocationState=state)
        batch = _Batch(asked=uses(self.store, message))
        yield from agent.announce(before)
        denied = agent.denial(before, "Tool cancelled by hook")
        kept: Value = UNDEFINED
        try:
            if denied is not None:
                self._denied(batch, message, denied)
            else:
                yield from self._executed(batch, message, state)
                kept = self._kept_output(batch.run, wanted)
        except Closed:
            # The end of the tools is reported, and by that the loop goes on.
            yield from self._make_message(batch, state)
            return None
        except Exception:
            yield from self._make_message(batch, state)
            raise
        answered = yield from self._make_message(batch, state)
        return Ran(answered, kept)

    def _make_message(self, batch: _Batch, state: Value) -> Steps[Ref]:
        """Makes the message of the results, and reports it."""
        store = self.store
        content = store.array([store.object({"toolResult": result}) for result in batch.results])
        message = message_of(store, "user", content)
        yield from self.agent.announce(self.agent.event("afterTools", message=message, invocationState=state))
        return message

    def _denied(self, batch: _Batch, message: Ref, text: str) -> None:
        asked = batch.asked if self.profile.uses_fixed_early else self._required(message)
        batch.results.extend(self._failed(use, text) for use in asked)

    def _required(self, message: Ref) -> list[Ref]:
        """The tool uses that a message has by now; an error if it has to have some."""
        found = uses(self.store, message)
        if not found and self.profile.requires_uses:
            raise PackageError("Error", "Model indicated toolUse but no tool use blocks found in message")
        return found

    def _executed(self, batch: _Batch, message: Ref, state: Value) -> Steps[None]:
        batch.run = self._required(message)
        if self.profile.uses_fixed_early:
            known = {self._id(use) for use in batch.asked}
            batch.run = [use for use in batch.run if self._id(use) in known]
        if self.profile.names_checked:
            self._check_names(batch)

        def execute(use: Ref) -> Steps[Ref]:
            return self.tools.run(use, state)

        if not self.concurrent:
            yield from one_by_one(batch.run, execute, batch.results)
        elif self.profile.pace is None:
            yield from side_by_side(batch.run, execute, batch.results)
        else:
            yield from self._raced(batch, Race(self.agent.jobs, execute, self.profile.pace.told))

    def _raced(self, batch: _Batch, race: Race) -> Steps[None]:
        """Has tools race each other. There is one result for each id, the one that comes last."""
        found: dict[Value, Ref] = {}

        def result_event(use: Ref, result: Ref | Exception) -> Event:
            made = self._failed(use, str(result)) if isinstance(result, Exception) else result
            found[self._id(use)] = made
            return self.agent.event("toolResult", toolResult=made)

        try:
            yield from race.run(batch.run, result_event)
        finally:
            for use in batch.run:
                result = found.get(self._id(use)) or self._failed(use, "Tool execution interrupted")
                batch.results.append(result)

    def _check_names(self, batch: _Batch) -> None:
        """Gives uses of tools that cannot be named so their error."""
        wrong = [use for use in batch.run if not TOOL_NAME.fullmatch(as_text(self.store, use, "name"))]
        ids = {self._id(use) for use in wrong}
        for use in wrong:
            name = as_text(self.store, use, "name")
            batch.results.append(self._failed(use, f"Error: {_wrong_name(name)}"))
        batch.run = [use for use in batch.run if self._id(use) not in ids]

    def _failed(self, use: Ref, text: str) -> Ref:
        return failed(self.store, self._id(use), text)

    def _id(self, use: Ref) -> Value:
        return field(self.store, use, "toolUseId")

    # ---------------------------------------------------------------- structured output

    def _kept_output(self, run: list[Ref], wanted: Wanted | None) -> Value:
        """Returns the structured output that these tool uses left, and forgets it."""
        for use in self._structured(run, wanted):
            value = self.tools.outputs.pop(as_text(self.store, use, "toolUseId"), UNDEFINED)
            if value is not UNDEFINED:
                return self.store.load(value)  # type: ignore[no-any-return]
        return UNDEFINED

    def told_output(self, message: Ref, answered: Ref, wanted: Wanted | None) -> Value:
        """The answer to the model for the first use of the tool for structured output."""
        store = self.store
        for use in self._structured(uses(store, message), wanted)[:1]:
            for result in results(store, answered):
                matches = field(store, result, "toolUseId") == self._id(use)
                if matches and field(store, result, "status") == "success":
                    first = next(iter(items(store, field(store, result, "content"))), None)
                    return inside(store, first, "json")
        return UNDEFINED

    def _structured(self, run: list[Ref], wanted: Wanted | None) -> list[Ref]:
        """The uses of the tool for structured output."""
        if wanted is None:
            return []
        return [use for use in run if field(self.store, use, "name") == wanted.tool.name]


def _wrong_name(name: str) -> str:
    if re.match("^[a-zA-Z0-9_-]+$", name):
        return f"tool_name=<{name}>, tool_name_max_length=<64> | invalid tool name length"
    return f"tool_name=<{name}> | invalid tool name pattern"


# How the tools of one answer run: one after the other, racing each other, or as tasks side by side.

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

    def run(self, uses: list[Ref], event_of: Callable[[Ref, Ref | Exception], Event]) -> Steps[None]:
        """Runs tools. `event_of` takes the outcome of each, when it comes, and gives the event for that."""
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
                    event = event_of(uses[index], step.value if step.error is None else step.error)
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
    """Runs tools as tasks, which change places where one of them reports something, waits or ends.

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
