"""The agent loop of Strands Agents on an explicit heap, as a profile has it: cells alias as real objects do.

The loop runs passes, and a pass cycles: the model is asked, tools run, until it is done. The order of things
is that of the packages that the profiles name (claims S1 to S86); where they differ, a field of the profile
decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast

import attrs

from agentcore.frameworks.strands.emulation.agent import (
    Agent,
    as_text,
    context,
    context_field,
    failed,
    field,
    inside,
    items,
    message_of,
    own,
    text_message,
    uses,
)
from agentcore.frameworks.strands.emulation.batches import Batches, Wanted
from agentcore.frameworks.strands.emulation.models import Models, choice_of
from agentcore.frameworks.strands.emulation.settings import InvalidOutputError, Settings, StructuredOutput
from agentcore.frameworks.strands.emulation.tools import Chains, Tools
from agentcore.frameworks.strands.emulation.turns import Closed, Event, Item, Jobs, Steps
from agentcore.frameworks.strands.profiles import HooksRun, Kept, StrandsProfile
from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import UNDEFINED, Accepts, Ref, Store, Value
from agentcore.heap.js import PackageError
from agentcore.heap.views import Desk
from agentcore.messages.brief import brief

_CYCLE_KEYS: Final = (
    *("agent", "event_loop_cycle_id", "request_state", "event_loop_cycle_trace", "event_loop_cycle_span"),
)
_TRUNCATED: Final = (
    "The selected tool {}'s tool use was incomplete due to maximum token limits being reached."
)


@attrs.define
class _Pass:
    """One run of the loop: its invocation state, and the structured output that is wanted."""

    state: Value
    wanted: Wanted | None
    cycle: int = -1


class Cycles:
    """Runs passes of one agent."""

    def __init__(self, agent: Agent, models: Models, batches: Batches, settings: Settings) -> None:
        self.agent = agent
        self.profile = agent.profile
        self.store = agent.store
        self.models = models
        self.batches = batches
        self.settings = settings
        self.wanted: Wanted | None = None
        self._around = sum(handler.stage == "stream" for handler in settings.middleware)

    def begin(self) -> None:
        """A new pass begins: nothing is known of its structured output."""
        output = self.settings.structured_output
        self.batches.tools.outputs.clear()
        self.wanted = None if output is None else Wanted(output, self.agent.structured(output))

    def result(self, message: Value, reason: Value, state: Value, output: Value = UNDEFINED) -> Ref:
        """The result of an invocation."""
        shown = state if self.profile.options_given else UNDEFINED
        return self.store.object(
            {
                "stopReason": reason,
                "lastMessage": message,
                "invocationState": shown,
                "structuredOutput": output,
            }
        )

    def messages(self, one: Value) -> Value:
        """An input as a list of messages."""
        store, as_data = self.store, self.settings.inputs_as_data
        if isinstance(one, str):
            return store.array([text_message(store, "user", one)])
        first = next(iter(items(store, one)), None)
        if first is None:
            return store.array(())
        if "role" in own(store, first):
            return self.agent.made(one, as_data=as_data)
        content = self.agent.made_blocks(one, as_data=as_data)
        return store.array([message_of(store, "user", cast("Ref", content))])

    # ---------------------------------------------------------------- a pass

    def run(self, args: Value, state: Value) -> Steps[Ref]:
        """The result of a pass over this input."""
        if not self.profile.structured_lasts:
            self.begin()
        this = _Pass(state=state, wanted=self.wanted)
        if self.profile.structured_tool_first:
            with self._tool_of(this.wanted):
                yield from self._entered(args, this)
                return (yield from self._cycles(this))
        yield from self._entered(args, this)
        with self._tool_of(this.wanted):
            return (yield from self._cycles(this))

    def _entered(self, args: Value, this: _Pass) -> Steps[None]:
        """Puts the input into the history."""
        added = args if self.profile.input_converted else self.messages(args)
        for message in items(self.store, added):
            yield from self.agent.added(cast("Ref", message), this.state)

    @contextmanager
    def _tool_of(self, wanted: Wanted | None) -> Iterator[None]:
        """Has the tool for structured output among the agent's tools."""
        if wanted is None:
            yield
            return
        if self.profile.registers_strictly:
            self.agent.check(wanted.tool.name, as_text(self.store, wanted.tool.spec, "description"))
        self.agent.tools[wanted.tool.name] = wanted.tool
        try:
            yield
        finally:
            self.agent.tools.pop(wanted.tool.name, None)

    def _cycles(self, this: _Pass) -> Steps[Ref]:
        result: Ref | None = None
        while result is None:
            this.cycle += 1
            self._check_depth(this)
            self.agent.desk.step += min(this.cycle, 1)
            self.agent.fill(this.state, *_CYCLE_KEYS)
            result = yield from self._cycle(this)
        return result

    def _check_depth(self, this: _Pass) -> None:
        """A cycle runs inside the one before it, where cycles do, and handlers are around them all.

        Raises:
            Exception: if there is no room for another, under the name of errors of later cycles.
        """
        deepest = self.profile.deepest_cycle
        if deepest is not None and this.cycle >= deepest - self._around:
            raise self._failure(
                PackageError(
                    "RecursionError", "maximum recursion depth exceeded while calling a Python object"
                )
            )

    def _cycle(self, this: _Pass) -> Steps[Ref | None]:
        try:
            message, reason = yield from self._answer(this)
        except Exception as error:
            raise self._failure(error, later=this.cycle > 0) from error
        try:
            return (yield from self._followed(this, message, reason))
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception, *, later: bool = True) -> Exception:
        """The error as it leaves the cycle."""
        name = self.profile.errors.later
        if name is None or not later:
            return error
        own_names = (name, self.profile.errors.max_tokens[0], self.profile.errors.unstructured[0])
        passed = isinstance(error, PackageError) and error.name in own_names
        return error if passed else PackageError(name, str(error))

    def _answer(self, this: _Pass) -> Steps[tuple[Ref, Value]]:
        """The model's message and why it stopped; or tool uses that wait at the end of the history."""
        store, agent = self.store, self.agent
        history = items(store, agent.history)
        if self.profile.pending_uses_run and history and uses(store, history[-1]):
            return cast("Ref", history[-1]), "toolUse"
        choice = UNDEFINED if this.wanted is None else this.wanted.choice
        result = yield from self.models.run_attempts(this.state, choice)
        message, reason = cast("Ref", field(store, result, "message")), field(store, result, "stopReason")
        agent.fill(this.state, "request_state")
        if self.profile.answer_kept is Kept.AT_ONCE:
            kept = self._without_uses(message) if reason == "maxTokens" else message
            try:
                yield from agent.added(kept, this.state)
            except Exception as error:
                raise self._failure(error) from error
        return message, reason

    def _without_uses(self, message: Ref) -> Ref:
        """The message with texts in the place of its tool uses."""
        store = self.store
        content: list[Any] = []
        for block in items(store, field(store, message, "content")):
            name = field(store, inside(store, block, "toolUse"), "name")
            used = inside(store, block, "toolUse") is not UNDEFINED
            content.append(store.load({"text": _TRUNCATED.format(name or "<unknown>")}) if used else block)
        fields: Mapping[str, Value] = {**own(store, message), "content": store.array(content)}
        return store.derive(store.object(fields), message)

    def _followed(self, this: _Pass, message: Ref, reason: Value) -> Steps[Ref | None]:
        if reason == "maxTokens" and self.profile.truncated_kept:
            raise PackageError(*self.profile.errors.max_tokens)
        if reason == "toolUse":
            return (yield from self._used(this, message))
        return (yield from self._make_result(this, message, reason))

    def _used(self, this: _Pass, message: Ref) -> Steps[Ref | None]:
        """Runs the tools of an answer; the result, if they gave the structured output."""
        ran = yield from self.batches.run(message, this.state, this.wanted)
        if ran is None:
            return None
        self.agent.fill(this.state, "event_loop_parent_cycle_id")
        if self.profile.answer_kept is Kept.AFTER_TOOLS:
            yield from self.agent.added(message, this.state)
        yield from self.agent.added(ran.message, this.state)
        wanted = this.wanted
        if wanted is None:
            return None
        output = ran.output
        if self.profile.structured_read_late:
            output = self.batches.told_output(message, ran.message, wanted)
        wanted.given = wanted.given or output is not UNDEFINED
        return self.result(message, "toolUse", this.state, output) if wanted.given else None

    # ---------------------------------------------------------------- the end of the turn

    def _make_result(self, this: _Pass, message: Ref, reason: Value) -> Steps[Ref | None]:
        """Returns the result; none where the model still has to give structured output."""
        profile, agent, wanted = self.profile, self.agent, this.wanted
        output: Value = UNDEFINED
        if wanted is not None and (reason == "endTurn" or not profile.structured_at_end_only):
            if wanted.choice is UNDEFINED:
                yield from self._asked_for(wanted, this.state)
                return None
            output = self._from_text(wanted.output, message)
        if profile.answer_kept is Kept.AFTER_TOOLS:
            yield from agent.added(message, this.state)
        return self.result(message, reason, this.state, output)

    def _asked_for(self, wanted: Wanted, state: Value) -> Steps[None]:
        """From now on the model has to give structured output."""
        live = as_text(self.store, wanted.tool.spec, "name")
        wanted.choice = choice_of(
            self.store, live if self.profile.structured_choice_live else wanted.tool.name
        )
        prompt = self.profile.wording.structured_prompt
        if prompt is not None:
            yield from self.agent.added(text_message(self.store, "user", prompt), state)

    def _from_text(self, wanted: StructuredOutput, message: Ref) -> Value:
        """The structured output that a message holds as text.

        Raises:
            PackageError: if it holds none.
        """
        blocks = items(self.store, field(self.store, message, "content"))
        data = _json_object("".join(as_text(self.store, block, "text") for block in blocks))
        name, text = self.profile.errors.unstructured
        if data is None or not self.profile.structured_from_text:
            raise PackageError(name, text)
        try:
            with self.agent.desk.acting(f"structured output {wanted.name}"):
                return self.agent.desk.slot(wanted.validate(data), accepts=Accepts.JSON)
        except InvalidOutputError as invalid:
            told = f"Structured output failed validation for {wanted.name}: {invalid.details}"
            raise PackageError(name, told) from invalid


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


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
    """The end of an invocation: a result (`lastMessage`, `stopReason` and more), or an error."""

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
        except Exception as error:  # noqa: BLE001 - the caller gets it
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
            yield from self._tell_end(state)
            raise
        yield from self._tell_end(state)
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
        yield from self._tell_end(state)
        return self.cycles.result(message, "endTurn", state)

    def _tell_end(self, state: Value) -> Steps[None]:
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
            state = field(store, context_field(store, ctx, "options"), "invocationState")
        else:
            state = context_field(store, ctx, "invocationState")
        if state is UNDEFINED or state is None:
            state = store.object({})
        steps = self.cycles.run(context_field(store, ctx, "args"), state)
        if self.profile.hooks_run is HooksRun.ON_ITS_WAY_OUT:
            steps = self._tell_hooks(steps)
        return (yield from self.jobs.passing(steps))

    def _tell_hooks(self, steps: Steps[Ref]) -> Steps[Ref]:
        """Notifies hooks of the events that come out of the agent loop; what they throw closes it."""
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

        If tools were running it reports their end, and by that comes to life again: it goes on, and what
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
        """Returns the slot that each holder holds at this moment, by the holder's name."""
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
