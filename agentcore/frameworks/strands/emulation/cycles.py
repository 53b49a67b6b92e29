"""The cycles of one pass of the agent loop: the model is asked, tools run, until it is done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, cast

import attrs

from agentcore.frameworks.strands.emulation.agent import (
    Agent,
    as_text,
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
from agentcore.frameworks.strands.emulation.turns import Steps
from agentcore.frameworks.strands.profiles import Kept
from agentcore.heap.heap import UNDEFINED, Accepts, Ref, Value
from agentcore.heap.js import PackageError

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
        result = yield from self.models.answered(this.state, choice)
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
        return (yield from self._said(this, message, reason))

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

    def _said(self, this: _Pass, message: Ref, reason: Value) -> Steps[Ref | None]:
        """The result; none where the model still has to give structured output."""
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
