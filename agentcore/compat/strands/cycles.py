"""The cycles of one pass of the agent loop: the model is asked, tools run, until it is done."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NoReturn, cast

import attrs

from agentcore.compat.heap import UNDEFINED, Function, Ref, Value
from agentcore.compat.js import PackageError
from agentcore.compat.strands.agent import Agent, Registered
from agentcore.compat.strands.executors import Race, one_by_one, side_by_side
from agentcore.compat.strands.models import TOOL_NAME, Models, choice_of
from agentcore.compat.strands.parts import (
    as_text,
    failed,
    field,
    inside,
    items,
    message_of,
    own,
    results,
    text_message,
    uses,
)
from agentcore.compat.strands.profiles import HandlerFailure, Kept
from agentcore.compat.strands.settings import InvalidOutputError, Settings, StructuredOutput
from agentcore.compat.strands.tools import Tools
from agentcore.compat.strands.turns import Closed, Steps

_CYCLE_KEYS: Final = (
    *("agent", "event_loop_cycle_id", "request_state", "event_loop_cycle_trace", "event_loop_cycle_span"),
)
_TRUNCATED: Final = (
    "The selected tool {}'s tool use was incomplete due to maximum token limits being reached."
)


@attrs.define
class _Wanted:
    """The structured output that is wanted: its tool, the choice that asks for it, whether it was given."""

    output: StructuredOutput
    tool: Registered
    choice: Value = UNDEFINED
    given: bool = False


@attrs.define
class _Pass:
    """One run of the loop: its invocation state, and the structured output that is wanted."""

    state: Value
    wanted: _Wanted | None
    cycle: int = -1


@attrs.define
class _Batch:
    """The tool uses of one answer: what was asked for, what is run, and the results by then."""

    asked: list[Ref]
    run: list[Ref] = attrs.field(factory=list)
    results: list[Ref] = attrs.field(factory=list)


class Cycles:
    """Runs passes of one agent."""

    def __init__(self, agent: Agent, models: Models, tools: Tools, settings: Settings) -> None:
        self.agent = agent
        self.profile = agent.profile
        self.store = agent.store
        self.models = models
        self.tools = tools
        self.settings = settings
        self.wanted: _Wanted | None = None

    def begin(self) -> None:
        """A new pass begins: nothing is known of its structured output."""
        output = self.settings.structured_output
        self.tools.outputs.clear()
        self.wanted = None if output is None else _Wanted(output, self.agent.structured(output))

    def result(self, message: Value, reason: Value, state: Value, output: Value = UNDEFINED) -> Ref:
        """The result of an invocation."""
        shown = state if self.profile.options_given else UNDEFINED
        return self.store.object(
            {"stopReason": reason, "lastMessage": message, "invocationState": shown, "structuredOutput": output}
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
    def _tool_of(self, wanted: _Wanted | None) -> Iterator[None]:
        """Has the tool for structured output among the agent's tools."""
        if wanted is None:
            yield
            return
        self.agent.tools[wanted.tool.name] = wanted.tool
        try:
            yield
        finally:
            self.agent.tools.pop(wanted.tool.name, None)

    def _cycles(self, this: _Pass) -> Steps[Ref]:
        result: Ref | None = None
        while result is None:
            this.cycle += 1
            self.agent.desk.step += min(this.cycle, 1)
            self.agent.fill(this.state, *_CYCLE_KEYS)
            result = yield from self._cycle(this)
        return result

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

    def _asked_for(self, wanted: _Wanted, state: Value) -> Steps[None]:
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
            return self.store.load(wanted.validate(data))  # type: ignore[no-any-return]
        except InvalidOutputError as invalid:
            told = f"Structured output failed validation for {wanted.name}: {invalid.details}"
            raise PackageError(name, told) from invalid

    # ---------------------------------------------------------------- tools

    def _used(self, this: _Pass, message: Ref) -> Steps[Ref | None]:
        """Runs the tools of an answer; the result, if they gave the structured output."""
        agent = self.agent
        before = agent.event("beforeTools", message=message, invocationState=this.state)
        batch = _Batch(asked=uses(self.store, message))
        yield from agent.announce(before)
        denied = agent.denial(before, "Tool cancelled by hook")
        output: Value = UNDEFINED
        try:
            if denied is not None:
                self._denied(batch, message, denied)
            else:
                yield from self._run(batch, message, this)
                output = self._output_of(batch.run, this.wanted)
        except Closed:
            # The event is waited for, and by that the loop goes on.
            yield from self._after(batch, this)
            return None
        except Exception:
            yield from self._after(batch, this)
            raise
        answered = yield from self._after(batch, this)
        agent.fill(this.state, "event_loop_parent_cycle_id")
        if self.profile.answer_kept is Kept.AFTER_TOOLS:
            yield from agent.added(message, this.state)
        yield from agent.added(answered, this.state)
        wanted = this.wanted
        if wanted is None:
            return None
        if self.profile.wording.structured_success is None:
            output = self._output_in(message, answered, wanted)
        wanted.given = wanted.given or output is not UNDEFINED
        return self.result(message, "toolUse", this.state, output) if wanted.given else None

    def _after(self, batch: _Batch, this: _Pass) -> Steps[Ref]:
        """Makes the message of the results, and tells of it."""
        store = self.store
        content = store.array([store.object({"toolResult": result}) for result in batch.results])
        message = message_of(store, "user", content)
        event = self.agent.event("afterTools", message=message, invocationState=this.state)
        yield from self.agent.announce(event)
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

    def _run(self, batch: _Batch, message: Ref, this: _Pass) -> Steps[None]:
        store, profile, agent = self.store, self.profile, self.agent
        batch.run = self._required(message)
        if profile.uses_fixed_early:
            known = {field(store, use, "toolUseId") for use in batch.asked}
            batch.run = [use for use in batch.run if field(store, use, "toolUseId") in known]
        if profile.names_checked:
            self._check_names(batch)

        def execute(use: Ref) -> Steps[Ref]:
            return self.tools.run(use, this.state)

        if not self.settings.concurrent:
            yield from one_by_one(batch.run, execute, batch.results)
        elif profile.pace is None:
            yield from side_by_side(batch.run, execute, batch.results)
        else:
            told = lambda result: agent.event("toolResult", toolResult=result)  # noqa: E731
            race = Race(agent.jobs, turns=profile.pace.told, told=told, error_of=self._raised)
            found: dict[Value, Ref] = {}
            try:
                yield from race.run(batch.run, execute, lambda use, result: found.update({self._id(use): result}))
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

    def _raised(self, use: Ref, error: Exception) -> Ref:
        return self._failed(use, str(error))

    def _failed(self, use: Ref, text: str) -> Ref:
        return failed(self.store, self._id(use), text)

    def _id(self, use: Ref) -> Value:
        return field(self.store, use, "toolUseId")

    # ---------------------------------------------------------------- structured output

    def _output_of(self, run: list[Ref], wanted: _Wanted | None) -> Value:
        """What the tool for structured output kept of these uses."""
        for use in run:
            if wanted is not None and field(self.store, use, "name") == wanted.tool.name:
                value = self.tools.outputs.pop(as_text(self.store, use, "toolUseId"), UNDEFINED)
                if value is not UNDEFINED:
                    return self.store.load(value)  # type: ignore[no-any-return]
        return UNDEFINED

    def _output_in(self, message: Ref, answered: Ref, wanted: _Wanted) -> Value:
        """What the result of the first use of the tool for structured output holds."""
        store = self.store
        named = [use for use in uses(store, message) if field(store, use, "name") == wanted.tool.name]
        if not named:
            return UNDEFINED
        for result in results(store, answered):
            matches = field(store, result, "toolUseId") == self._id(named[0])
            if matches and field(store, result, "status") == "success":
                first = next(iter(items(store, field(store, result, "content"))), None)
                return inside(store, first, "json")
        return UNDEFINED


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _wrong_name(name: str) -> str:
    if re.match("^[a-zA-Z0-9_-]+$", name):
        return f"tool_name=<{name}>, tool_name_max_length=<64> | invalid tool name length"
    return f"tool_name=<{name}> | invalid tool name pattern"
