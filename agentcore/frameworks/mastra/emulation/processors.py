"""Runs processors and applies what they return.

There are two ways. The workflow gives each processor what the one before returned; the direct way reads the
list again before each. Processors go the one way, prepareStep the other. Either way a processor is given the
list's own array (rule mastra.messages-live) and comes at every step (rule mastra.every-step).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn, TypeAlias

from agentcore.frameworks.mastra.emulation.arguments import Arguments, ListHandle
from agentcore.frameworks.mastra.emulation.errors import MastraError, TripWire
from agentcore.frameworks.mastra.emulation.forms import FORMAT, each_of, filled, is_empty, is_same
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.frameworks.mastra.emulation.model_calls import Models
from agentcore.frameworks.mastra.emulation.settings import (
    Hook,
    Processor,
    Settings,
    Tool,
    date,
    is_date,
    parsed,
    time_of,
)
from agentcore.frameworks.mastra.emulation.tools import built
from agentcore.frameworks.mastra.profiles import Executor
from agentcore.heap.heap import UNDEFINED, HeapTypeError, HostValueError, Ref, Slot, Value
from agentcore.heap.js import elements, fields, get, is_array, is_nullish, or_else, text
from agentcore.heap.views import ArrayView, View

Fields: TypeAlias = dict[str, Any]
"""Fields by name: slots, UNDEFINED, or a message list."""

PREPARE_STEP: Final = "prepare-step"
_SETTLED: Final = ("result", "output-error")
_STEP_FIELDS: Final = (
    "model",
    "tools",
    "toolChoice",
    "activeTools",
    "providerOptions",
    "modelSettings",
    "structuredOutput",
    "messageId",
    "retryCount",
)


class Processors:
    """The processors of a call, on its message list: its own or the agent's (rule mastra.call-replaces)."""

    def __init__(
        self, target: MessageList, models: Models, settings: Settings, agent_id: str, request_context: Ref
    ) -> None:
        given = settings.call_processors
        self.profile = models.profile
        self.executor = Executor.WORKFLOW if given is None else self.profile.call_processors
        self.desk = desk = models.desk
        self.store = desk.store
        self.target = target
        self.models = models
        self.request_context = request_context
        processors = settings.processors if given is None else given
        self.processors = [one for one in processors if one.process_input or one.process_input_step]
        self.prepare_step = settings.prepare_step or settings.default_prepare_step
        self.workflow_id = f"{agent_id}-input-processor"

    @property
    def any_for_steps(self) -> bool:
        """True if a processor or `prepareStep` is to run before a model call."""
        return bool(self.processors) or self.prepare_step is not None

    # ---------------------------------------------------------------- once per call

    def run_input(self) -> None:
        """Runs what processors do with the input.

        Raises:
            TripWire: if one aborts.
            MastraError: for every other error, wrapped.
        """
        if self.executor is Executor.DIRECT:
            self._run_input_directly()
        elif self.processors:
            self._as_workflow(self._input_values(), lambda one: one.process_input, self._input)

    def _input_values(self) -> Fields:
        messages = self.store.array(self.target.of("input"))
        return {"messages": messages, "systemMessages": self._systems(), "retryCount": 0}

    def _systems(self) -> Ref:
        """The system messages as processors are given them."""
        target = self.target
        live = self.profile.live_system_messages
        return target.system_messages if live else self.store.array(target.all_system())

    def _run_input_directly(self) -> None:
        for processor in self.processors:
            if processor.process_input is not None:
                values = self._input_values()
                ids, sources = self._ids(values["messages"]), self.target.source_by_id()
                returned = self._called(processor.id, processor.process_input, values)
                self._take_input(returned, processor.id, ids, sources)

    def _take_input(
        self, returned: Any, processor_id: str, ids: list[Value], sources: Mapping[object, str]
    ) -> None:
        """Takes what a processor that was run directly made of the input."""
        if isinstance(returned, ListHandle):
            self._check_list(returned, processor_id)
        elif _is_list(returned) or not _is_falsy(returned):
            method = "some" if ids else "filter"
            if isinstance(returned, Mapping):
                result = self._fields(returned)
                given, systems = (result.get(name, UNDEFINED) for name in ("messages", "systemMessages"))
                if not (is_array(self.store, given) and is_array(self.store, systems)):
                    raise HeapTypeError(f"result.{method} is not a function")
                self.target.replace_system(systems)
            else:
                given = self.desk.slot(returned)
            listed = filled(elements(self.store, given, method))
            ordered = sorted(listed, key=lambda one: get(self.store, one, "role") != "system")
            self._apply(self.store.array(ordered), ids, sources, systems_stay=True)

    def _input(self, processor: Processor, hook: Hook, values: Fields) -> Fields:
        target = self.target
        messages = values["messages"]
        ids = self._ids(messages)
        sources = target.source_by_id()
        systems = self._or_none(values["systemMessages"])
        shown = {"messages": messages, "systemMessages": systems, "retryCount": 0}
        returned = self._called(processor.id, hook, shown)
        if isinstance(returned, ListHandle):
            if returned.target is not target:
                self._refuse_list(processor.id, "the one passed in. Use the messageList argument instead.")
            return {**values, "messages": target.messages, "systemMessages": self._systems()}
        if _is_list(returned):
            given = self.desk.slot(returned)
            self._apply(given, ids, sources)
            return {**values, "messages": given}
        if _is_falsy(returned):
            return values
        if not isinstance(returned, Mapping):
            told = text(self.store, self.desk.slot(returned))
            raise HeapTypeError(f"Cannot use 'in' operator to search for 'messages' in {told}")
        result = self._fields(returned)
        if "messages" in result and "systemMessages" in result:
            self._apply(result["messages"], ids, sources)
            target.replace_system(result["systemMessages"])
            systems = (
                target.system_messages if self.profile.live_system_messages else result["systemMessages"]
            )
            return {**values, "messages": result["messages"], "systemMessages": systems}
        return values

    # ---------------------------------------------------------------- before each model call

    def run_step(self, step: Mapping[str, Value], number: Value, steps: Ref) -> Fields:
        """Runs the processors and prepareStep before a model call; gives the fields of the step then.

        The steps are passed on as they are (rule mastra.steps-live), fields are assigned, not merged (rule
        mastra.fields-assigned), and what one raises ends it all (rule mastra.error-stops).

        Raises:
            TripWire: if one aborts.
            Exception: what one raised; of a processor other than prepareStep wrapped.
        """
        result: Fields = {**step, "retryCount": 0}
        if self.processors and self.executor is Executor.WORKFLOW:
            values = {
                "messages": self.target.messages,
                "stepNumber": number,
                "steps": steps if self.profile.workflow_has_steps else UNDEFINED,
                "systemMessages": self._systems(),
                **result,
            }
            result |= self._as_workflow(values, lambda one: one.process_input_step, self._step)
        for processor_id, hook in self._run_directly():
            result |= self._prepared(processor_id, hook, result, number, steps)
        if self.models.ends_with_the_user(result["model"]):
            self._end_with_the_user()
        return result

    def _end_with_the_user(self) -> None:
        """Adds a message of the user's after an answer that the conversation ends with."""
        store, target = self.store, self.target
        last = target.all()[-1] if target.all() else None
        if last is None or is_empty(last) or not self._is_open_answer(last):
            return
        told = get(store, last, "createdAt")
        time = time_of(store, told) if is_date(store, told) else math.nan
        read = parsed(told) if isinstance(told, str) else time
        at = max(target.clock.now, 0 if read is None or math.isnan(read) else read + 1)
        part = store.object({"type": "text", "text": "Continue."})
        made: dict[str, Value] = {
            "id": target.clock.draw_id(),
            "role": "user",
            "content": store.object({"format": FORMAT, "parts": store.array([part])}),
            "createdAt": date(store, at),
        }
        target.add(store.object(made), "context")

    def _is_open_answer(self, message: Slot) -> bool:
        """True if what a model is shown of a message ends with an answer of a model's."""
        store = self.store
        if get(store, message, "role") != "assistant":
            return False
        parts = get(store, get(store, message, "content"), "parts")
        for part in reversed(elements(store, parts, "map")):
            kind = get(store, part, "type")
            if kind == "tool-invocation":
                if get(store, get(store, part, "toolInvocation"), "state") in _SETTLED:
                    return False
            elif kind != "step-start":
                return True
        return False

    def _run_directly(self) -> Iterator[tuple[str, Hook]]:
        if self.executor is Executor.DIRECT:
            for processor in self.processors:
                if processor.process_input_step is not None:
                    yield processor.id, processor.process_input_step
        if self.prepare_step is not None:
            yield PREPARE_STEP, self.prepare_step

    def _step(self, processor: Processor, hook: Hook, values: Fields) -> Fields:
        target = self.target
        messages = values["messages"]
        ids = self._ids(messages)
        sources = target.source_by_id()
        number = or_else(values["stepNumber"], 0)
        shown = {
            "messages": messages,
            "stepNumber": number,
            "systemMessages": self._or_none(values["systemMessages"]),
            "steps": self._or_none(values["steps"]),
            **self._step_fields(values),
            "retryCount": or_else(values["retryCount"], 0),
        }
        result = self._checked(self._called(processor.id, hook, shown), processor.id, number)
        if "phase" in result:
            raise self.desk.leave_out("the field phase of a result", "leave it out")
        self._take(result, ids, sources)
        passed = {name: values[name] for name in ("stepNumber", "steps", *_STEP_FIELDS)}
        passed["systemMessages"] = values["systemMessages"]
        named: Fields = {"messageId": or_else(result.get("messageId", UNDEFINED), values["messageId"])}
        if self.profile.live_system_messages:
            named["systemMessages"] = target.system_messages
        return {**passed, "messages": messages, **result, **named}

    def _step_fields(self, values: Fields) -> Fields:
        """The fields of a step as a processor is given them; an id that one returned may be shown to none."""
        shown = {name: values[name] for name in _STEP_FIELDS}
        return shown if self.profile.sets_message_id else {**shown, "messageId": UNDEFINED}

    def _or_none(self, value: Value) -> Value:
        """Returns `value ?? []`."""
        return self.store.array(()) if is_nullish(value) else value

    def _prepared(self, processor_id: str, hook: Hook, step: Fields, number: Value, steps: Ref) -> Fields:
        target = self.target
        ids = self._ids(target.messages)
        sources = target.source_by_id()
        shown = {
            "messages": target.messages,
            "stepNumber": number,
            "steps": steps,
            "systemMessages": self._systems(),
            **self._step_fields(step),
            "retryCount": 0,
        }
        result = self._checked(self._called(processor_id, hook, shown), processor_id, number)
        self._take(result, ids, sources)
        return {name: value for name, value in result.items() if name not in ("messages", "systemMessages")}

    # ---------------------------------------------------------------- the workflow

    def _as_workflow(
        self,
        values: Fields,
        hook_of: Callable[[Processor], Hook | None],
        run: Callable[[Processor, Hook, Fields], Fields],
    ) -> Fields:
        for processor in self.processors:
            hook = hook_of(processor)
            if hook is None:
                continue
            try:
                self._check_passed_on(values)
                values = run(processor, hook, values)
            except TripWire:
                raise
            except Exception as error:
                told = f"{error}; step processor:{processor.id}: {error}"
                raise MastraError(
                    "PROCESSOR_WORKFLOW_FAILED",
                    f"Processor workflow {self.workflow_id} failed with status: failed — {told}",
                ) from error
        return values

    def _check_passed_on(self, values: Fields) -> None:
        """A processor that sets `messageList` to undefined has the next one given a list of its own."""
        if is_nullish(values.get("messageList", self.target)):
            raise self.desk.leave_out("the field messageList of a result as undefined", "leave it out")

    def _called(self, processor_id: str, hook: Hook, shown: Mapping[str, Value]) -> Any:
        self.desk.hook = processor_id
        self.target.pass_time()
        # Without observability there is no span; the object around it is a new one for each (rule
        # mastra.tracing-context-own).
        values = {**shown, "tracingContext": self.store.object({})}
        args = Arguments(self.desk, processor_id, self.target, values, self.request_context)
        return self.desk.settled(hook(args.hand_over()))

    def _ids(self, messages: Value) -> list[Value]:
        listed = elements(self.store, messages, "map")
        return [get(self.store, message, "id") for message in filled(listed)]

    # ---------------------------------------------------------------- what was returned

    def _checked(self, returned: Any, processor_id: str, number: Value) -> Fields:
        """The fields of what a processor returned before a model call (rule mastra.no-result)."""
        if isinstance(returned, ListHandle):
            self._check_list(returned, processor_id)
            return {"messageList": returned}
        if _is_list(returned):
            return {"messages": self.desk.slot(returned)}
        if _is_falsy(returned):
            return {}
        result = self._fields(returned)
        held = result.get("messageList", UNDEFINED)
        if held:
            self._check_list(held, processor_id)
        if held and result.get("messages", UNDEFINED):
            raise MastraError(
                "PROCESSOR_RETURNED_MESSAGES_AND_MESSAGE_LIST",
                f"Processor {processor_id} returned both messages and messageList. "
                "Only one of these is allowed.",
            )
        model = result.pop("model", UNDEFINED)
        return {"model": self.models.returned(model, processor_id, number), **result} if model else result

    def _check_list(self, held: Any, processor_id: str) -> None:
        """Only the list that the processor got may come back (rule mastra.list-returned)."""
        if not isinstance(held, ListHandle) or held.target is not self.target:
            why = (
                "New external message list instances are not supported. Use the messageList argument instead."
            )
            self._refuse_list(processor_id, f"the one that was passed in as an argument. {why}")

    def _refuse_list(self, processor_id: str, why: str) -> NoReturn:
        raise MastraError(
            "PROCESSOR_RETURNED_EXTERNAL_MESSAGE_LIST",
            f"Processor {processor_id} returned a MessageList instance other than {why}",
        )

    def _fields(self, returned: Any) -> Fields:
        if isinstance(returned, View):
            return dict(fields(self.store, returned.ref))
        if not isinstance(returned, Mapping):
            return {}
        kept = {name: value for name, value in returned.items() if _is_own(name, value)}
        names = [name for name in returned if name not in kept]
        try:
            slots = self.store.load_all((self._loadable(returned[name]) for name in names), names)
        except HostValueError as error:
            raise self.desk.refuse(error) from None
        loaded = dict(zip(names, slots, strict=True))
        return {name: kept[name] if name in kept else loaded[name] for name in returned}

    def _loadable(self, value: Any) -> Any:
        """A value of which the heap can hold everything: tools as the objects that stand for them."""
        if isinstance(value, Mapping) and any(isinstance(one, Tool) for one in value.values()):
            return built(self.store, value, wrapped=False)
        return value

    def _take(self, result: Fields, ids: Iterable[Value], sources: Mapping[object, str]) -> None:
        if result.get("messages", UNDEFINED):
            self._apply(result["messages"], ids, sources)
        if result.get("systemMessages", UNDEFINED):
            self.target.replace_system(result["systemMessages"])

    def _apply(
        self,
        messages: Value,
        ids: Iterable[Value],
        sources: Mapping[object, str],
        *,
        systems_stay: bool = False,
    ) -> None:
        """Makes the list what was returned: by id, for good (rule mastra.returned-stored).

        The objects are taken as they are (rule mastra.returned-taken), and system messages among them are
        added (rule mastra.systems-among-messages); if `systems_stay`, those of the list are not taken out.
        """
        store, target = self.store, self.target
        gone = [own_id for own_id in ids if not self._has(messages, own_id)]
        if gone:
            target.remove(gone)
        known = self._known_by_id() if self.profile.keeps_same_objects else {}
        for message in each_of(store, messages, "messages"):
            own_id = get(store, message, "id")
            if self.profile.keeps_same_objects and known.get(_key(own_id)) == message:
                continue
            is_system = get(store, message, "role") == "system"
            if not (is_system and systems_stay):
                target.remove([own_id])
            if is_system:
                target.add_system(self._system_text(message))
            else:
                target.add(message, sources.get(own_id, "input"), merge=self.profile.returned_may_merge)

    def _has(self, messages: Value, own_id: Value) -> bool:
        """Returns `messages.some((message) => message.id === own_id)`."""
        there = filled(elements(self.store, messages, "some"))
        return any(is_same(get(self.store, one, "id"), own_id) for one in there)

    def _known_by_id(self) -> dict[object, Value]:
        """The list's messages by their ids.

        Raises:
            HeapTypeError: if a place in the list was left empty.
        """
        if any(map(is_empty, self.target.all())):
            raise HeapTypeError("Iterator value undefined is not an entry object")
        return {_key(get(self.store, message, "id")): message for message in self.target.all()}

    def _system_text(self, message: Slot) -> Value:
        store = self.store
        content = get(store, message, "content")
        told = get(store, content, "content")
        parts = get(store, content, "parts")
        if not is_nullish(told) or is_nullish(parts):
            return or_else(told, "")
        texts = [
            text(store, or_else(get(store, part, "text"), ""))
            if not is_empty(part) and get(store, part, "type") == "text"
            else ""
            for part in elements(store, parts, "map")
        ]
        return "\n".join(texts)


def _key(own_id: Value) -> object:
    """An id as a key of a dict, in which True is no 1."""
    return (type(own_id) is bool, own_id)


def _is_list(returned: Any) -> bool:
    return isinstance(returned, list | tuple | ArrayView)


def _is_falsy(returned: Any) -> bool:
    return not isinstance(returned, Mapping) and not returned


def _is_own(name: str, value: Any) -> bool:
    """True for a field that stays itself because it is not JSON: a message list or a model."""
    return isinstance(value, ListHandle) or name == "model"
