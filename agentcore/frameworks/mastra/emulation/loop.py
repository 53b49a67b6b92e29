"""Mastra's agent loop on an explicit heap: cells alias as the real objects do.

The order of things is that of @mastra/core 1.71.0; where versions differ, a field of the profile decides.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from agentcore.frameworks.mastra.emulation import tools as tooling
from agentcore.frameworks.mastra.emulation.conversion import of_all, of_source, prompt
from agentcore.frameworks.mastra.emulation.errors import CallerError, MastraError, Outcome, TripWire, Tripwire
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.frameworks.mastra.emulation.model_calls import Fallback, Models, NoKeyError
from agentcore.frameworks.mastra.emulation.processors import Fields, Processors
from agentcore.frameworks.mastra.emulation.recording import RECORDERS, Answered, read_answer
from agentcore.frameworks.mastra.emulation.settings import Clock, Settings, load
from agentcore.frameworks.mastra.profiles import MastraProfile
from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import UNDEFINED, HeapTypeError, Ref, Slot, Store, Value
from agentcore.heap.js import PackageError, elements, fields, get, is_nullish, or_else, spread
from agentcore.heap.views import Desk

AGENT_ID = "agent"
_OPTIONS = ("providerOptions", "modelSettings", "toolChoice", "activeTools")
_NOT_SENT = ("maxRetries", "headers")
_RETRIES = 2


class ModelCallError(Exception):
    """The last model failed; `original` is what it raised."""

    def __init__(self, original: Exception) -> None:
        super().__init__(str(original))
        self.original = original


@attrs.define
class _Step:
    """A step on its way: what the model was asked with, and what it answered."""

    fields: Fields
    answered: Answered
    early: Mapping[Slot, tooling.Answer]


HOLDERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "caller": "caller",
        "conversation": "conversation",
        "system": "system messages",
        "steps": "report",
        "options": "options of the call",
        "requestContext": "request context",
    }
)
"""What outlives a step, by the names of the snapshots and those of the pollution report."""


class MastraLoop:
    """One call of `generate` or `stream`. If the store is watched, `snapshots` are taken."""

    holders = HOLDERS

    def __init__(self, profile: MastraProfile, settings: Settings, desk: Desk | None = None) -> None:
        self.profile = profile
        self.settings = settings
        self.desk = desk if desk is not None else Desk(Store())
        self.store = self.desk.store
        self.clock = Clock()
        self.list = MessageList(self.store, self.clock, profile)
        self.list.leave_out = self.desk.leave_out
        self.recorder = RECORDERS[profile.recording](self.list, self.clock, streams=settings.streams)
        self.models = Models(self.desk, profile)
        self.outcome = Outcome()
        self.snapshots: list[Snapshot] = []
        self.given = load(settings, self.desk)
        self.caller = self.given.caller
        self.options = {name: get(self.store, self.caller, name) for name in _OPTIONS}
        self.fallbacks = self._fallbacks()
        self.first_fallback = 0
        self.tools = tooling.built(self.store, settings.tools)
        self.first_message_id = self.clock.draw_id()
        self.message_id: Value = self.first_message_id
        self.texts: list[str] = []
        self.shown_calls: set[Value] = set()
        # What failed first of the last models, which the caller gets however the run goes on.
        self.failed: Exception | None = None
        self.processors = Processors(self.list, self.models, settings, AGENT_ID, self.given.request_context)

    def _fallbacks(self) -> list[Fallback]:
        settings = self.settings
        retries, configured = settings.max_retries or 0, settings.max_retries is not None
        return [
            Fallback(self.models.wrap(model), retries, configured)
            for model in (settings.model, *settings.fallback_models)
        ]

    def _chunk(self, *kinds: str) -> None:
        for kind in kinds:
            if self.outcome.chunks[-1:] != [kind]:
                self.outcome.chunks.append(kind)

    # ---------------------------------------------------------------- the call

    def run(self) -> Outcome:
        """Runs to the end. Never raises what the real package would report: see the outcome."""
        self._run()
        self._snapshot("end")
        return self.outcome

    def _run(self) -> None:
        try:
            self._prepare()
        except TripWire as wire:
            self._tripped(wire)
            return
        except Exception as error:  # noqa: BLE001 - whatever fails here is the caller's error
            self._prepare_failed(error)
            return
        try:
            self._convert_first()
        except Exception as error:  # noqa: BLE001 - whatever fails here is the caller's error
            self._prepare_failed(error)
            return
        self._chunk("start")
        try:
            self._loop()
        except TripWire as wire:
            self._tripped(wire)
        except ModelCallError as failed:
            self._chunk("step-finish", "finish")
            self.outcome.error = CallerError.of(failed.original)
        except Exception as error:  # noqa: BLE001 - whatever fails here is the caller's error
            self._chunk("error")
            self.outcome.error = CallerError.through_json(error)
        if self.failed is not None:
            self.outcome.error = CallerError.of(self.failed)

    def held(self) -> Mapping[str, Value]:
        """Returns the slot that each holder holds at this moment, by the holder's name."""
        return {
            "caller": self.caller,
            "conversation": self.list.messages,
            "system": self.store.array(self.list.all_system()),
            "steps": self.recorder.steps,
            "options": self.store.object({**self.options, "tools": self.tools}),
            "requestContext": self.given.request_context,
        }

    def _snapshot(self, moment: str, **holders: Value) -> None:
        if self.store.watching:
            held = {**self.held(), **holders}
            self.snapshots.append(
                Snapshot(moment=moment, step=self.desk.step, holders=held, heap=self.store.heap())
            )

    def _prepare(self) -> None:
        try:
            tooling.name_for_providers(self.store, self.tools)
        except Exception:
            # The package prepares the messages meanwhile, and processors run, whatever becomes of that.
            with contextlib.suppress(Exception):
                self._prepare_messages()
            raise
        self._prepare_messages()

    def _prepare_messages(self) -> None:
        given, store = self.given, self.store
        if given.instructions:
            self._add_system(given.instructions, UNDEFINED)
        self.list.add(get(store, self.caller, "context"), "context")
        if given.system:
            self._add_system(given.system, "user-provided")
        self.list.add(get(store, self.caller, "messages"), "input")
        try:
            self.processors.run_input()
        except TripWire:
            raise
        except Exception as error:
            told = f"[Agent:{AGENT_ID}] - Input processor error"
            raise MastraError("AGENT_INPUT_PROCESSOR_ERROR", told, cause=CallerError.of(error)) from error

    def _add_system(self, content: Slot, tag: Value) -> None:
        listed = elements(self.store, content) if _is_array(self.store, content) else (content,)
        for message in listed:
            self.list.add_system(message, tag)

    def _prepare_failed(self, error: Exception) -> None:
        inner = CallerError.through_json(error)
        name = "AGENT_STREAM_FAILED" if self.settings.streams else "AGENT_GENERATE_FAILED"
        self.outcome.error = CallerError.of(MastraError(name, str(error), cause=inner))

    def _tripped(self, wire: TripWire) -> None:
        """Ends the run by an abort (rule mastra.abort-trips)."""
        self._chunk("tripwire")
        options = wire.options
        self.outcome.tripwire = Tripwire(
            reason=wire.reason,
            retry=_read(options, "retry"),
            metadata=_read(options, "metadata"),
            processor_id=wire.processor_id,
        )
        self.outcome.finish_reason = "other"
        self.outcome.last_text = "".join(self.texts)

    # ---------------------------------------------------------------- the loop

    def _convert_first(self) -> None:
        """Converts the messages as the package does before the first step, for what that fails with.

        Rule mastra.converted-first.

        Raises:
            PackageError: for a role that no model knows.
            HeapTypeError: for a message or a part that is not one, or a time limit.
        """
        of_all(self.list)
        self.models.check_timeout(self.options["modelSettings"])

    def _loop(self) -> None:
        live = self.profile.live_system_messages
        self.original_system = self.list.system_messages if live else self.store.array(self.list.all_system())
        if not self.profile.settings_anew:
            own = self.options["modelSettings"]
            made = {**self.profile.settings, **fields(self.store, own)}
            self.options["modelSettings"] = self.store.derive(self.store.object(made), own)
        count = 0
        goes_on = True
        while goes_on:
            count += 1
            goes_on = self._run_step(first=count == 1)
            goes_on = goes_on and count != self.settings.max_steps
            self._chunk("step-finish")
        self._finish()

    def _run_step(self, *, first: bool) -> bool:
        """Runs a step; whether another follows. Options are the call's again (rule mastra.fields-reset)."""
        self.desk.step += 1
        if not first:
            self.recorder.open_step()
        self.texts.append("")
        attempt_id = self.message_id
        step = self._call_a_model()
        self.message_id = self._message_id(step.fields) or self.first_message_id
        self._record(step, attempt_id)
        self.recorder.add_calls(step.answered, self.message_id)
        error = step.answered.error
        self.failed = self.failed or error
        self.recorder.report(step.answered, step.fields["model"])
        self.outcome.step_texts.append(self.texts[-1])
        self.recorder.add_again()
        if error is None:
            return self._run_tools(step)
        # The calls of an answer that could not be recorded run all the same, where the package does so.
        mends = self.profile.unrecorded_calls_run
        if (mends or step.answered.broken_off) and self._run_tools(step) and mends:
            return True
        raise ModelCallError(self.failed or error)

    def _call_a_model(self) -> _Step:
        """Calls the first model that does not fail and has no processor fail.

        Raises:
            TripWire: if a processor aborts.
            Exception: what failed with the last of them.
        """
        attempts = [
            (index, fallback)
            for index, fallback in enumerate(self.fallbacks)
            for _ in range(1 + fallback.max_retries * self.profile.retries_run_processors)
            if index >= self.first_fallback
        ]
        for number, (index, fallback) in enumerate(attempts, 1):
            is_last = number == len(attempts)
            if self.profile.goes_on_with_fallback:
                self.first_fallback = index
            try:
                return self._attempt(fallback, is_last=is_last)
            except TripWire:
                raise
            except Exception:
                if is_last and not self.profile.retries_run_processors:
                    raise
        told = "Exhausted all fallback models and reached the maximum number of retries."
        raise PackageError("Error", told)

    def _attempt(self, fallback: Fallback, *, is_last: bool) -> _Step:
        """Runs the processors on the original system messages (rule mastra.systems-reset), and asks a model.

        The options are the caller's own objects (rule mastra.options-live), and the tools one object for the
        call (rule mastra.tools-live).
        """
        store, profile = self.store, self.profile
        self.list.replace_system(self.original_system)
        settings = fields(store, self.options["modelSettings"])
        own, timeout = settings.get("maxRetries"), settings.get("timeout")
        retries = fallback.max_retries if fallback.configured else or_else(own, fallback.max_retries)
        anew = profile.settings_anew
        step: dict[str, Value] = {
            "messageId": self.message_id if profile.sets_message_id else UNDEFINED,
            "model": fallback.model,
            "tools": self.tools,
            "toolChoice": self.options["toolChoice"]
            if self.options["toolChoice"] is not UNDEFINED
            else "auto",
            "activeTools": self.options["activeTools"] if profile.call_active_tools else UNDEFINED,
            "providerOptions": self.options["providerOptions"],
            "modelSettings": store.derive(
                store.object(
                    {
                        **settings,
                        "timeout": spread(store, timeout) if timeout else UNDEFINED,
                        "maxRetries": retries,
                    }
                ),
                self.options["modelSettings"],
            )
            if anew
            else self.options["modelSettings"],
            "structuredOutput": UNDEFINED,
        }
        self.recorder.refresh_last_step()
        current: Fields = dict(step)
        if self.processors.any_for_steps or self.models.ends_with_the_user(fallback.model):
            current = self._processed(step)
        if profile.hides_inactive_tools:
            tooling.check_active(store, current["tools"], current["activeTools"])
        return self._ask_model(current, is_last=is_last)

    def _processed(self, step: Mapping[str, Value]) -> Fields:
        store = self.store
        result = self.processors.run_step(step, self.recorder.count, self.recorder.steps)
        current = {**step, **result}
        if not self.profile.settings_anew:
            return current
        for name in ("messageId", "model"):
            current[name] = or_else(result[name], step[name])
        settings = current["modelSettings"]
        # A hook may have written into those of the step, which stand in for what it did not return.
        own = {
            name: or_else(
                UNDEFINED if is_nullish(settings) else get(store, settings, name),
                get(store, step["modelSettings"], name),
            )
            for name in ("maxRetries", "timeout")
        }
        current["modelSettings"] = store.derive(store.object({**fields(store, settings), **own}), settings)
        if current["tools"]:
            current["tools"] = spread(store, current["tools"])
        current["executedModel"] = self.models.named(current["model"])
        return current

    # ---------------------------------------------------------------- asking the model

    def _ask_model(self, current: Fields, *, is_last: bool) -> _Step:
        store = self.store
        tooling.check_whole(self.desk, current["tools"], called=False)
        shown = prompt(self.list)
        self.models.check_version(current["model"])
        self.models.check_timeout(current["modelSettings"])
        offer = tooling.offered(
            store,
            current["tools"],
            current["toolChoice"],
            current["activeTools"],
            none_hides=self.profile.no_choice_hides_tools,
        )
        output = current["structuredOutput"]
        if not is_nullish(output) and get(store, output, "schema"):
            raise self.desk.leave_out("structuredOutput with a schema", "leave the schema out")
        self.models.check_provider(current["model"])
        settings = current["modelSettings"]
        self.models.check_settings(current["model"], settings)
        kept_back = (*_NOT_SENT, "timeout") if self.profile.checks_timeout else _NOT_SENT
        sent = {name: slot for name, slot in fields(store, settings).items() if name not in kept_back}
        headers = UNDEFINED if is_nullish(settings) else get(store, settings, "headers")
        options = store.object(
            {
                "tools": offer.tools,
                "toolChoice": offer.choice,
                "prompt": shown,
                "providerOptions": current["providerOptions"],
                **sent,
                "headers": self._headers(headers),
            }
        )
        store.derive(options, settings, fields=frozenset(sent))
        answered = self._call_model(current["model"], options, settings, is_last=is_last)
        tooling.check_whole(self.desk, current["tools"], called=bool(answered.calls))
        own_id = self._message_id(current)
        failed = self.recorder.add_pieces(answered, own_id)
        self._pass_on(answered)
        early = self._run_early(current, answered)
        if answered.broken_off:
            failed = failed or answered.error
        elif answered.error is None:
            failed = failed or self.recorder.end_answer(answered, own_id, current["model"])
        if failed is not None and not is_last:
            self.recorder.carry_over(early.values(), self.message_id)
            raise failed
        answered.error = answered.error or failed
        return _Step(current, answered, early)

    def _message_id(self, current: Fields) -> Value:
        return current["messageId"] if self.profile.sets_message_id else self.message_id

    def _headers(self, headers: Value) -> Value:
        if not self.profile.lowers_headers:
            return spread(self.store, headers) if headers else UNDEFINED
        named = {name.lower(): value for name, value in fields(self.store, headers).items()}
        return self.store.object(named) if named else UNDEFINED

    def _call_model(self, model: Ref, options: Ref, settings: Value, *, is_last: bool) -> Answered:
        retries = UNDEFINED if is_nullish(settings) else get(self.store, settings, "maxRetries")
        try:
            parts = self._call_again(model, options, or_else(retries, _RETRIES))
        except Exception as error:
            if not is_last and not isinstance(error, NoKeyError):
                raise
            return Answered(error=error)
        once = self.settings.streams and self.profile.streams_call_once
        fills, gathers = self.profile.fills_empty_calls, not self.settings.streams
        return read_answer(self.store, parts, once=once, fills=fills, gathers=gathers)

    def _call_again(self, model: Ref, options: Ref, retries: Value) -> list[Any]:
        """Calls a model as often as it fails and may be called again; returns what it answers.

        Raises:
            HeapTypeError: for retries that are no number from 0 on.
            PackageError: for a number with a fraction, after all calls that are in it.
            Exception: what the last call raised.
        """
        if isinstance(retries, bool) or not isinstance(retries, int | float):
            raise HeapTypeError("Expected `retries` to be a number or Infinity.")
        if retries < 0:
            raise HeapTypeError("Expected `retries` to be a non-negative number.")
        attempt = 0
        while attempt <= retries:
            self.desk.hook = "model"
            self.clock.think()
            self._snapshot("prompt", prompt=options)
            try:
                return self.models.call_model(model, options)
            except Exception as error:
                if attempt == retries or isinstance(error, NoKeyError | HeapTypeError):
                    raise
            attempt += 1
        raise PackageError("Error", "Retry attempts exhausted without throwing an error.")

    # ---------------------------------------------------------------- recording the answer

    def _record(self, step: _Step, attempt_id: Value) -> None:
        """Enters what is reported of the answer, or the error that stands for it."""
        answered = step.answered
        model = step.fields.get("executedModel")
        if model is not None and self.profile.names_models:
            self.list.name_model(model)
        if answered.error is not None:
            if self.profile.records_errors:
                self.recorder.record_error(answered.error, attempt_id)
            self._chunk("error")

    def _pass_on(self, answered: Answered) -> None:
        """Passes an answer to the caller's stream, where it stays even if the attempt fails after all."""
        self.texts[-1] += answered.text
        self._chunk("step-start", *self._passed(answered))

    def _passed(self, answered: Answered) -> Iterator[str]:
        """The chunks of an answer in a stream."""
        calls = iter(answered.calls)
        for kind in answered.kinds:
            if kind == "tool-call":
                call_id = get(self.store, next(calls), "toolCallId")
                if call_id in self.shown_calls and self.profile.streams_call_once:
                    continue
                self.shown_calls.add(call_id)
            yield kind

    # ---------------------------------------------------------------- tools

    def _run_early(self, current: Fields, answered: Answered) -> dict[Slot, tooling.Answer]:
        """The answers of calls that a stream runs as they come in, before the list has the message."""
        if not (self.settings.streams and self.profile.streams_run_tools_early):
            return {}
        tools, active = current["tools"], current["activeTools"]
        calls = [call for call in answered.calls if tooling.can_run(self.store, call, tools, active)]
        try:
            of_source(self.list, "input")  # which tools are given
        except Exception as error:  # noqa: BLE001 - whatever fails is the answer
            return {call: tooling.Answer(call, error=str(error)) for call in calls}
        came = answered.came
        return {
            call: tooling.run(self.desk, self.profile, call, tools, active, args=came.get(call))
            for call in calls
        }

    def _run_tools(self, step: _Step) -> bool:
        """Runs the calls of an answer, one step whatever their number (rule mastra.step-number).

        The tools are those that processors returned, if any did (rule mastra.tools-returned). Returns whether
        another step follows.
        """
        current = step.fields
        # Where a processor took the tools away the model is offered none, but those of the call are run.
        tools, active = current["tools"] or self.tools, current["activeTools"]
        if not self.profile.hides_inactive_tools:
            active = UNDEFINED
        answers = self._answers(step, tools, active)
        self.outcome.finish_reason = "tool-calls" if answers else "stop"
        if not self.profile.missing_tool_answers:
            tooling.check_known(self.store, step.answered.calls, tools)
        for kind in self.recorder.add_results(answers):
            self._chunk(kind)
        if answers:
            of_all(self.list)  # the package's step ends with the whole conversation
        pending = any(answer.result is UNDEFINED and answer.error is None for answer in answers)
        if self.profile.throwing_tool_ends:
            pending = pending or any(answer.thrown for answer in answers)
        if step.answered.error is not None:
            # Only for the model to mend its calls.
            pending = pending or all(answer.error is None for answer in answers)
        return bool(answers) and not pending

    def _answers(self, step: _Step, tools: Value, active: Value) -> list[tooling.Answer]:
        """The answers to the calls of a step."""
        calls = step.answered.calls
        ran = {
            call: step.early.get(call) or tooling.run(self.desk, self.profile, call, tools, active)
            for call in tooling.in_turn(self.store, self.profile, calls, tools, active)
        }
        return [ran[call] for call in calls]

    # ---------------------------------------------------------------- the end

    def _finish(self) -> None:
        outcome = self.outcome
        outcome.response_messages = self.recorder.response_messages()
        last_only = self.shown_calls and self.profile.stream_text_is_last
        outcome.last_text = self.texts[-1] if last_only else "".join(self.texts)
        self._chunk("finish")
        self._add_again()

    def _add_again(self) -> None:
        """Adds the agent's messages to their own list again; the package only logs what fails there."""
        with contextlib.suppress(Exception):
            self.list.add(self.recorder.final_messages(), "response")


def _is_array(store: Store, value: Slot) -> bool:
    return isinstance(value, Ref) and isinstance(store.cells[value.address], tuple)


def _read(options: Any, name: str) -> Any:
    return options.get(name, UNDEFINED) if isinstance(options, Mapping) else UNDEFINED
