"""The agent loop of Strands Agents on an explicit heap, as a profile has it: cells alias as real objects do.

The order of things is that of the packages that the profiles name (claims S1 to S86); where they differ, a
field of the profile decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, cast

import attrs

from agentcore.frameworks.strands.emulation.agent import (
    Agent,
    failed,
    field,
    items,
    message_of,
    own,
    text_message,
    uses,
)
from agentcore.frameworks.strands.emulation.batches import Batches
from agentcore.frameworks.strands.emulation.contexts import context, given
from agentcore.frameworks.strands.emulation.cycles import Cycles
from agentcore.frameworks.strands.emulation.models import Models
from agentcore.frameworks.strands.emulation.settings import Settings
from agentcore.frameworks.strands.emulation.tools import Chains, Tools
from agentcore.frameworks.strands.emulation.turns import Closed, Event, Item, Jobs, Steps
from agentcore.frameworks.strands.profiles import HooksRun, StrandsProfile
from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import UNDEFINED, Ref, Store, Value
from agentcore.heap.js import PackageError
from agentcore.heap.views import Desk
from agentcore.messages.brief import brief

HOLDERS: Final = {
    "caller": "caller",
    "history": "history",
    "system": "system prompt",
    "toolSpecs": "tool specs",
    "modelState": "model state",
    "results": "results",
}
"""What outlives a step, by the names of the snapshots and those of the pollution report."""
_UNANSWERED: Final = "Tool was interrupted."


@attrs.frozen(kw_only=True)
class Outcome:
    """How an invocation ended: with a result (`lastMessage`, `stopReason` and more), or an error."""

    __repr__ = brief

    result: Ref | None = None
    error: Exception | None = None


def _check_written(output: Any) -> None:
    """Writes structured output as JSON in UTF-8, as the span of an invocation has it.

    Raises:
        PackageError: for a text that cannot be written so.
    """
    texts = [output]
    for value in texts:
        if isinstance(value, dict | list):
            texts += [*value, *value.values()] if isinstance(value, dict) else value
        elif isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError as error:
                told = f"Error serializing to JSON: UnicodeEncodeError: {error}"
                raise PackageError("PydanticSerializationError", told) from error


class StrandsLoop:
    """An agent, invoked with one input after the other."""

    holders = HOLDERS

    def __init__(self, profile: StrandsProfile, settings: Settings, desk: Desk | None = None) -> None:
        self.profile = profile
        self.settings = settings
        self.desk = desk if desk is not None else Desk(Store())
        self.store = self.desk.store
        self.jobs = Jobs(counted=settings.concurrent and profile.pace is not None)
        self.agent = Agent(profile, settings, self.desk, self.jobs)
        self.chains = Chains(settings.middleware, self.desk, self.jobs)
        self.models = Models(self.agent, self.chains, settings.model, self._prompted)
        batches = Batches(
            Tools(self.agent, self.chains, concurrent=settings.concurrent), concurrent=settings.concurrent
        )
        self.cycles = Cycles(self.agent, self.models, batches, settings)
        self.outcomes: list[Outcome] = []
        self.snapshots: list[Snapshot] = []

    def run(self) -> list[Outcome]:
        """Invokes the agent with every input, whether or not the one before failed."""
        for one in self.agent.caller.inputs:
            self.desk.step += 1
            self.outcomes.append(self._invoked(one))
        self.snapshot("end")
        return self.outcomes

    def _invoked(self, one: Value) -> Outcome:
        try:
            result = self.jobs.run(self._invocation(one))
            if self.profile.structured_written:
                _check_written(self.store.plain(result).get("structuredOutput"))
            return Outcome(result=result)
        except Exception as error:  # noqa: BLE001 - the caller is told
            return Outcome(error=error)

    # ---------------------------------------------------------------- an invocation

    def _invocation(self, one: Value) -> Steps[Ref]:
        agent = self.agent
        options, state = self._options()
        if self.profile.input_converted:
            one = yield from self._converted(one, state)
        before = agent.event("beforeInvocation", invocationState=state)
        yield from agent.tell(before)
        denied = agent.denial(before, "invocation denied by hook")
        if denied is not None:
            return (yield from self._denied(denied, state))
        try:
            result = yield from self._streamed(one, options, state)
        except Exception:
            yield from self._ended(state)
            raise
        yield from self._ended(state)
        return result

    def _options(self) -> tuple[Value, Value]:
        """The options of an invocation, and the state: in the options, where there are any.

        A handler of an earlier invocation may have put another state into the caller's options.
        """
        caller = self.agent.caller
        given = field(self.store, caller.options, "invocationState")
        state = given if self.profile.options_given else caller.state
        if state is not UNDEFINED:
            return caller.options, state
        made = self.store.object({})
        fields: dict[str, Value] = {**own(self.store, caller.options), "invocationState": made}
        return self.store.derive(self.store.object(fields), caller.options), made

    def _converted(self, one: Value, state: Value) -> Steps[Value]:
        """The input as messages; what is not answered at the end of the history is, before."""
        agent, store = self.agent, self.store
        history = items(store, agent.history)
        open_uses = uses(store, history[-1]) if history and self.profile.unanswered_answered else []
        if open_uses:
            missing = [
                store.object({"toolResult": failed(store, field(store, use, "toolUseId"), _UNANSWERED)})
                for use in open_uses
            ]
            yield from agent.added(message_of(store, "user", store.array(missing)), state)
        # The span of the invocation lists the tools; whoever made that impossible ends it here.
        agent.specs()
        return self.cycles.messages(one)

    def _denied(self, text: str, state: Value) -> Steps[Ref]:
        agent, store = self.agent, self.store
        message = text_message(store, "assistant", text)
        store.push(agent.history, [message])
        if self.profile.denial_announced:
            yield from agent.tell(agent.message_added(message, state))
        yield from self._ended(state)
        return self.cycles.result(message, "endTurn", state)

    def _ended(self, state: Value) -> Steps[None]:
        yield from self.agent.tell(self.agent.event("afterInvocation", invocationState=state))

    # ---------------------------------------------------------------- the stream stage

    def _streamed(self, args: Value, options: Value, state: Value) -> Steps[Ref]:
        self.cycles.begin()
        args = self.agent.copies.messages(args, self.profile.args_copied)
        values = {"args": args, "options": options, "invocationState": state}
        entered = context(self.store, self.profile, "stream", values)
        # Two functions of the package are around the chain, and the caller awaits them.
        return (yield from self.jobs.passing(self.chains.run("stream", entered, self._pass), 2))

    def _pass(self, ctx: Ref) -> Steps[Ref]:
        store = self.store
        if self.profile.options_given:
            state = field(store, given(store, ctx, "options"), "invocationState")
        else:
            state = given(store, ctx, "invocationState")
        if state is UNDEFINED or state is None:
            state = store.object({})
        steps = self.cycles.run(given(store, ctx, "args"), state)
        if self.profile.hooks_run is HooksRun.ON_ITS_WAY_OUT:
            steps = self._told(steps)
        return (yield from self.jobs.passing(steps))

    def _told(self, steps: Steps[Ref]) -> Steps[Ref]:
        """Tells hooks of the events that come out of the agent loop; what they throw closes it."""
        while True:
            try:
                item = next(steps)
            except StopIteration as end:
                return cast("Ref", end.value)
            if isinstance(item, Event):
                try:
                    yield from self.agent.tell(item)
                except Exception:
                    yield from self._closed(steps)
                    raise
                yield from self.jobs.pause()
            yield item

    def _closed(self, steps: Steps[Ref]) -> Steps[None]:
        """Closes the agent loop.

        If tools were running it tells of their end, and by that comes to life again: it goes on, and what
        hooks throw is no longer heeded.
        """
        resume: Callable[[], Item] = partial(steps.throw, Closed())
        while True:
            try:
                item = resume()
            except (StopIteration, Closed):
                return
            resume = partial(next, steps)
            if isinstance(item, Event):
                try:
                    yield from self.agent.tell(item)
                except Exception:  # noqa: BLE001, S112 - only logged
                    continue
                yield from self.jobs.pause()
            yield item

    # ---------------------------------------------------------------- for the pollution report

    def _prompted(self, request: Ref) -> None:
        self.snapshot("prompt", prompt=request)

    def held(self) -> Mapping[str, Value]:
        """What each of the holders holds now."""
        store, agent, caller = self.store, self.agent, self.agent.caller
        mine: list[Value] = [caller.messages, *caller.inputs, caller.system, caller.options, caller.state]
        return {
            "caller": store.array([slot for slot in mine if isinstance(slot, Ref)]),
            "history": agent.history,
            "system": agent.system,
            "toolSpecs": store.array([tool.spec for tool in agent.tools.values()]),
            "modelState": agent.model_state,
            "results": store.array([one.result for one in self.outcomes if one.result is not None]),
        }

    def snapshot(self, moment: str, **holders: Value) -> None:
        """Keeps who holds what at a moment, if the run is watched."""
        if self.store.watching:
            held = {**self.held(), **holders}
            self.snapshots.append(
                Snapshot(moment=moment, step=self.desk.step, holders=held, heap=self.store.heap())
            )
