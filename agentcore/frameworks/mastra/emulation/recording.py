"""Records answers: puts them into the list, and into the steps that processors get."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

import attrs

from agentcore.frameworks.mastra.emulation.arguments import response_messages, step_content
from agentcore.frameworks.mastra.emulation.conversion import of_all
from agentcore.frameworks.mastra.emulation.core_messages import check_core
from agentcore.frameworks.mastra.emulation.forms import FORMAT, tool_name
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.frameworks.mastra.emulation.settings import Clock, date
from agentcore.frameworks.mastra.emulation.tools import INHERITED, Answer, failure
from agentcore.frameworks.mastra.profiles import Recording
from agentcore.heap.heap import UNDEFINED, HeapTypeError, Ref, Slot, Store, Value
from agentcore.heap.js import elements, fields, get, is_array, is_nullish, spread
from agentcore.kit.emulate import StepCell

_FLAT_USAGE: Final = ("v1", "v2")
"""The versions of models that count tokens by one number each."""


_STEP_FIELDS: Final = (
    *("finishReason", "usage", "warnings", "request", "response", "providerMetadata", "tripwire"),
)


def _text(store: Store, step: Ref) -> Value:
    """The text of a step, which is empty if a processor rejected the step."""
    return "" if get(store, step, "tripwire") else StepCell.computed["text"](store, step)


def _blank_as(text: str, other: str) -> str:
    """The text, or the other one in place of a blank."""
    return text if text.strip() else other


class _StepCell(StepCell):
    """The slots of a step result, with the text that Mastra makes of it."""

    __slots__ = ()

    computed: ClassVar = MappingProxyType({**StepCell.computed, "text": _text})


class Recorder:
    """Records an answer as one message, and what tools answered in the parts of it that have the calls."""

    def __init__(self, target: MessageList, clock: Clock, *, streams: bool) -> None:
        self.target = target
        self.store: Store = target.store
        self.clock = clock
        self.streams = streams
        self.steps = self.store.array(())

    @property
    def count(self) -> int:
        """The number of steps that were reported."""
        return len(elements(self.store, self.steps))

    def open_step(self) -> None:
        """Begins a step after the first."""
        self.target.open_step()

    def refresh_last_step(self) -> None:
        """Reads the last step's content again, before processors see it."""
        store = self.store
        if not self.count:
            return
        content = step_content(self.target, self.count)
        *before, last = elements(store, self.steps)
        if last and elements(store, content):
            read = {name: get(store, last, name) for name in _STEP_FIELDS}
            again = store.object({**read, "content": content}, _StepCell)
            store.replace(self.steps, (*before, again))

    def add_pieces(self, answered: Answered, own_id: Value) -> Exception | None:
        """Adds what is added while it comes; what the list fails with, and then the rest does not come."""

    def end_answer(self, answered: Answered, own_id: Value, model: Ref) -> Exception | None:
        """Reads the agent's messages so far, and adds what is added at the end; what that fails with."""
        try:
            self.response_messages()
        except Exception as error:  # noqa: BLE001 - whatever fails is taken for a failure of the model
            return error
        return self._add_message(answered, own_id, model)

    def _add_message(self, answered: Answered, own_id: Value, model: Ref) -> Exception | None:
        message = answered.message(self.store, own_id, model)
        return None if message is None else self._tried(message)

    def _tried(self, message: Ref) -> Exception | None:
        try:
            self.target.add(message, "response")
        except Exception as error:  # noqa: BLE001 - whatever fails is taken for a failure of the model
            return error
        return None

    def record_error(self, error: Exception, own_id: Value) -> None:
        """Adds what the last model failed with, to the message of an id if the assistant has one of it."""
        store = self.store
        # A blank text counts as none, so that no record holds one.
        name = _blank_as(str(getattr(error, "name", type(error).__name__)), "Error")
        told = store.object({"name": name, "message": _blank_as(str(error), "Unknown error")})
        part = store.object({"type": "error", "error": told})
        # The package ignores a message id that a processor returned in this step.
        target = self.target.by_id(own_id)
        parts = None if target is None else self.target.parts_of_assistant(target)
        if target is not None and parts is not None and is_array(store, parts):
            listed = (one for one in elements(store, parts) if not is_nullish(one))
            if not any(get(store, one, "type") == "error" for one in listed):
                store.push(parts, [part])
                self.target.add(target, "response", merge=False)
            return
        content = store.object({"format": FORMAT, "parts": store.array([part])})
        new_id = own_id if target is None else self.clock.draw_id()
        at = date(store, self.clock.now)
        message = {"id": new_id, "role": "assistant", "createdAt": at, "content": content}
        self.target.add(store.object(message), "response", merge=False)

    def carry_over(self, answers: Iterable[Answer], own_id: Value) -> None:
        """Adds what tools answered in an attempt that failed, which the next one knows of."""
        store = self.store
        parts = [self._carried(answer) for answer in answers]
        if parts:
            content = store.object({"format": FORMAT, "parts": store.array(parts)})
            message = store.object({"id": own_id, "role": "assistant", "content": content})
            self.target.add(message, "response")

    def _carried(self, answer: Answer) -> Ref:
        store = self.store
        told: dict[str, Value] = {"state": "result", "result": answer.result}
        if answer.error is not None:
            told = {"state": "output-error", "errorText": _blank_as(answer.error, "Tool execution failed")}
        elif is_nullish(answer.result):
            told = {"state": "call"}
        call = spread(store, answer.call, **told)
        return store.object({"type": "tool-invocation", "toolInvocation": call})

    def add_calls(self, answered: Answered, own_id: Value) -> None:
        """Adds what comes after the answer."""

    def report(self, answered: Answered, model: Value) -> None:
        """Enters the step into the array that processors are given, and reads the whole conversation.

        Raises:
            PackageError: for a message that can't be shown to a model, though a prompt may leave it out.
            HeapTypeError: for a message or a part that is not one.
        """
        store = self.store
        content = self._content()
        made: dict[str, Value] = {
            "content": content,
            "finishReason": UNDEFINED if answered.error is None else "error",
            "usage": self._usage(model),
            "warnings": store.array(()),
            "request": store.object({}),
            "response": store.object({**self._metadata(model), "messages": self.response_messages()}),
        }
        store.push(self.steps, [store.object(made, _StepCell)])
        of_all(self.target)

    def _usage(self, model: Value) -> Ref:
        """What a scripted model says that its answer took."""
        store = self.store
        counts = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
        if not self.target.profile.keeps_raw_usage:
            return store.object(counts)
        raw: Any = counts
        if get(store, model, "specificationVersion") not in _FLAT_USAGE:
            raw = {"inputTokens": {"total": 1}, "outputTokens": {"total": 1}}
        return store.object({**counts, "raw": store.load(raw)})

    def _metadata(self, model: Value) -> dict[str, Value]:
        """What the package notes of an answer that came as a stream."""
        if not self.streams:
            return {}
        store = self.store
        return {
            "id": self.clock.draw_id(),
            "timestamp": date(store, self.clock.now),
            "modelId": get(store, model, "modelId"),
            "modelVersion": get(store, model, "specificationVersion"),
            "modelProvider": get(store, model, "provider"),
        }

    def add_again(self) -> None:
        """Adds the agent's messages once more before tools run, where the package does."""

    def add_results(self, answers: Sequence[Answer]) -> Iterator[str]:
        """Adds what tools answered, errors first; gives the kinds of their chunks."""
        for answer in answers:
            if answer.error is not None:
                self._answer(answer, {"state": "output-error", "errorText": answer.error})
                yield "tool-error"
        for answer in answers:
            if answer.result is not UNDEFINED:
                self._answer(answer, {"state": "result", "result": answer.result})
                yield "tool-result"

    def final_messages(self) -> Ref | None:
        """Returns what the end of a run adds: the agent's messages."""
        own = self.target.of("response")
        return self.store.array(own) if own else None

    def response_messages(self) -> Ref:
        """The agent's messages as model messages."""
        return self.store.array([message.cell(self.store) for message in response_messages(self.target)])

    def _content(self) -> Ref:
        return step_content(self.target, self.count + 1)

    def _answer(self, answer: Answer, told: Mapping[str, Value]) -> None:
        store, call = self.store, answer.call
        named = {name: get(store, call, name) for name in ("toolCallId", "args")}
        name = tool_name(self.target, get(store, call, "toolName"))
        self.target.answer_call(store.object({**told, **named, "toolName": name}))


class PieceRecorder(Recorder):
    """Records each text, all calls, and all answers of tools as messages, which the list merges."""

    def __init__(self, target: MessageList, clock: Clock, *, streams: bool) -> None:
        super().__init__(target, clock, streams=streams)
        self.seen = 0

    def open_step(self) -> None:
        """A step begins without a mark."""

    def refresh_last_step(self) -> None:
        """Does nothing: a report that was made stays as it is."""

    def add_pieces(self, answered: Answered, own_id: Value) -> Exception | None:
        """Adds each text and each reasoning as a message."""
        for index, part in enumerate(answered.parts):
            kind = get(self.store, part, "type")
            if kind in ("text", "reasoning"):
                told = part if kind == "text" else self._without_text(part)
                failed = self._tried(self._message(own_id, [told]))
                if failed is not None:
                    answered.cut(self.store, index)
                    return failed
        return None

    def _add_message(self, answered: Answered, own_id: Value, model: Ref) -> Exception | None:
        """Adds nothing: the pieces are in the list."""

    def _without_text(self, part: Slot) -> Ref:
        made = {"type": "reasoning", "reasoning": "", "details": get(self.store, part, "details")}
        return self.store.object(made)

    def add_calls(self, answered: Answered, own_id: Value) -> None:
        """Adds the calls as one message."""
        store = self.store
        calls = [part for part in answered.parts if get(store, part, "type") == "tool-invocation"]
        if calls:
            self.target.add(self._message(own_id, calls), "response")

    def _message(self, own_id: Value, parts: Iterable[Slot]) -> Ref:
        store = self.store
        content = store.object({"format": FORMAT, "parts": store.array(parts)})
        at = date(store, self.clock.now)
        return store.object({"id": own_id, "role": "assistant", "content": content, "createdAt": at})

    def _content(self) -> Ref:
        # The package counts from the step before, and leaves out as many parts as there were messages.
        content = elements(self.store, step_content(self.target, self.count))
        return self.store.array(content[self.seen :])

    def add_again(self) -> None:
        """Adds the agent's messages, as a model is shown them."""
        messages = self.response_messages()
        if elements(self.store, messages):
            self.target.add(messages, "response")

    def add_results(self, answers: Sequence[Answer]) -> Iterator[str]:
        """Adds what tools answered as one message; if one of them did not, only what was thrown."""
        store = self.store
        results = [self._result(answer) for answer in answers]
        if UNDEFINED in results:
            thrown = [answer for answer in answers if answer.thrown]
            yield from ("tool-error" for _ in thrown)
            told = [self._called(answer.call, answer.error) for answer in thrown]
            if told:
                self.target.add(self._message(self.clock.draw_id(), told), "response")
        elif answers:
            yield "tool-result"
            called = [
                self._called(answer.call, result) for answer, result in zip(answers, results, strict=True)
            ]
            self.target.add(self._message(self.clock.draw_id(), called), "response")
            self.seen = len(elements(store, self.response_messages()))

    def _result(self, answer: Answer) -> Value:
        if answer.error is None or answer.thrown:
            return answer.result
        return failure(self.store, answer.error)

    def _called(self, call: Slot, result: Value) -> Ref:
        store = self.store
        named = {name: get(store, call, name) for name in ("toolCallId", "toolName", "args")}
        invocation = store.derive(store.object({"state": "result", **named, "result": result}), call)
        return store.object({"type": "tool-invocation", "toolInvocation": invocation})

    def final_messages(self) -> Ref | None:
        """Returns what the end of a run adds: the agent's messages, in the form that a model gets.

        Raises:
            PackageError: for a role that AI SDK 4 does not know, or a call that ended without a result.
            HeapTypeError: for what AI SDK 4 can make no message of.
        """
        check_core(self.target)
        return self.response_messages()


RECORDERS: Final[Mapping[Recording, type[Recorder]]] = MappingProxyType(
    {Recording.WHOLE: Recorder, Recording.PIECES: PieceRecorder}
)
"""Who records in which way."""


# What a model answered: the parts of a stored message, the calls to run, and the chunks of a stream.


@attrs.define(kw_only=True)
class Answered:
    """An answer of a model, or the error that stands for the answer of the last one.

    `calls` are {toolCallId, toolName, args}, sharing their arguments with the parts. `kinds` are the kinds of
    the chunks that a stream has of it; `ends` has for each part how many they are up to its end.
    `came` are the arguments that calls came with which were given others. `broken_off`: the error stands for
    a part that could not be read, and for those after it.
    """

    parts: list[Slot] = attrs.Factory(list)
    calls: list[Ref] = attrs.Factory(list)
    text: str = ""
    kinds: list[str] = attrs.Factory(list)
    error: Exception | None = None
    ends: list[int] = attrs.Factory(list)
    came: dict[Slot, Value] = attrs.Factory(dict)
    broken_off: bool = False

    def cut(self, store: Store, index: int) -> None:
        """Leaves out what came after a part, and the chunk that says that the part ends."""
        self.parts = self.parts[: index + 1]
        kinds = [get(store, part, "type") for part in self.parts]
        texts = [get(store, part, "text") for part in self.parts if get(store, part, "type") == "text"]
        self.text = "".join(map(str, texts))
        self.calls = self.calls[: kinds.count("tool-invocation")]
        self.kinds = self.kinds[: self.ends[index] - 1]

    def fill(self, store: Store, call: Ref, args: Ref) -> None:
        """Gives a call arguments, in its part too."""
        self.came.setdefault(call, get(store, call, "args"))
        store.put(call, "args", args)
        own = (get(store, part, "toolInvocation") for part in self.parts)
        held = [one for one in own if isinstance(one, Ref)]
        store.put(held[self.calls.index(call)], "args", args)

    def message(self, store: Store, own_id: Any, model: Ref) -> Ref | None:
        """The assistant's message as it is added to the list; None if there is nothing to add."""
        if not self.parts:
            return None
        texts = [get(store, part, "text") for part in self.parts if get(store, part, "type") == "text"]
        named = {"modelId": get(store, model, "modelId"), "provider": get(store, model, "provider")}
        content: dict[str, Value] = {
            "format": 2,
            "parts": store.array(self.parts),
            "content": "\n".join(map(str, texts)) or UNDEFINED,
            "metadata": store.object({name: value or UNDEFINED for name, value in named.items()}),
        }
        return store.object({"id": own_id, "role": "assistant", "content": store.object(content)})


_NO_LIST: Final = "self[#toolCallArgsDeltas]?.[chunk.payload.toolCallId]?.push is not a function"


def read_answer(
    store: Store, parts: Iterable[Mapping[str, Any]], *, once: bool, fills: bool, gathers: bool
) -> Answered:
    """Returns the answer for the parts that a model gave.

    `once`: a call of an id is taken only once. `fills`: the first call of an id, if it has no arguments,
    takes a copy of those of the next one. `gathers`: the arguments of calls are gathered by their ids in an
    object, where an id that every object inherits is no list, and the answer ends with an error.
    """
    made = Answered()
    seen: dict[str, Ref] = {}
    for part in parts:
        kind = part["type"]
        if kind == "tool-call":
            if gathers and part["toolCallId"] in INHERITED:
                made.error, made.broken_off = HeapTypeError(_NO_LIST), True
                break
            args = store.load(json.loads(json.dumps(part["input"])))
            first = seen.get(part["toolCallId"])
            if first is not None and fills and not fields(store, get(store, first, "args")):
                # Read anew: no two calls share their arguments.
                made.fill(store, first, store.load(json.loads(json.dumps(part["input"]))))
            if first is None or not once:
                call = _add_call(store, made, part, args)
                seen.setdefault(part["toolCallId"], call)
        else:
            _add_text(store, made, kind, part["text"])
        made.ends += [len(made.kinds)] * (len(made.parts) - len(made.ends))
    return made


def _add_call(store: Store, made: Answered, part: Mapping[str, Any], args: Ref) -> Ref:
    named = {"toolCallId": part["toolCallId"], "toolName": part["toolName"], "args": args}
    made.calls.append(store.object(named))
    call = store.object({"state": "call", **named})
    made.parts.append(store.object({"type": "tool-invocation", "toolInvocation": call}))
    made.kinds.append("tool-call")
    return made.calls[-1]


def _add_text(store: Store, made: Answered, kind: str, told: str) -> None:
    made.kinds.append(f"{kind}-start")
    if kind == "reasoning":
        detail = store.object({"type": "text", "text": told})
        made.parts.append(store.object({"type": kind, "reasoning": told, "details": store.array([detail])}))
        made.kinds.append("reasoning-delta")
    elif told:
        made.text += told
        if made.parts and get(store, made.parts[-1], "type") == "tool-invocation":
            made.parts.append(store.object({"type": "step-start"}))
        made.parts.append(store.object({"type": "text", "text": told}))
        made.kinds.append("text-delta")
    made.kinds.append(f"{kind}-end")
