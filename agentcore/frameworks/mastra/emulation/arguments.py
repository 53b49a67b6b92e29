"""The arguments of processors under the package's names, and the message list with its methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn

from agentcore.frameworks.mastra.emulation.conversion import (
    ModelMessage,
    model_messages,
    model_prompt,
    of_all,
    of_source,
)
from agentcore.frameworks.mastra.emulation.errors import TripWire
from agentcore.frameworks.mastra.emulation.forms import is_empty
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.frameworks.mastra.emulation.ui import UiMessage, ui_message
from agentcore.heap.heap import UNDEFINED, Ref, Slot, Store, Value
from agentcore.heap.js import fields, get, spread
from agentcore.heap.views import ArrayView, Desk, Key, ObjectView

_ALIASES: Final[Mapping[str, str]] = {
    "systemMessages": "system_messages",
    "getAllSystemMessages": "all_system_messages",
    "addSystem": "add_system",
    "replaceAllSystemMessages": "replace_all_system_messages",
    "clearSystemMessages": "clear_system_messages",
    "removeByIds": "remove_by_ids",
}
# What a list of either version has besides; each of them answers with its name.
_LEFT_OUT_OF_LIST: Final = frozenset(
    {
        *("clear", "getPersisted", "getSystemMessages", "getLatestUserContent", "isNewMessage"),
        *("drainUnsavedMessages", "getEarliestUnsavedMessageTimestamp", "makeMessageSourceChecker"),
        *("serialize", "deserialize", "serializeForSpan", "startRecording", "stopRecording"),
        *("hasRecordedEvents", "getRecordedEvents", "addSignal", "dropsIncompleteToolCalls", "stepStart"),
        *("openStepBoundary", "rollbackToStepBoundary", "rotateResponseMessageId"),
        *("markResponseMessageBoundary", "enrichLastStepStart", "updateToolInvocation"),
        *("updateMessageMetadataByToolCallId", "addOutputErrorsToProviderToolCalls"),
    }
)
_ARGUMENTS_LEFT_OUT: Final = frozenset(
    {
        *("agent", "tracing", "loggerVNext", "metrics", "state", "writer", "abortSignal", "runId"),
        *("rotateResponseMessageId", "sendSignal", "llmRequestStage"),
    }
)


class ListHandle:
    """A message list as a processor gets it; two of one list are equal.

    Its methods have the names of the package's, or those names as Python writes them.
    """

    def __init__(self, desk: Desk, target: MessageList) -> None:
        self.desk = desk
        self.target = target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListHandle) and other.target is self.target

    def __hash__(self) -> int:
        return id(self.target)

    @property
    def messages(self) -> ArrayView:
        """The list's own array of messages."""
        return self.desk.view(self.target.messages, ("list",))  # type: ignore[no-any-return]

    @property
    def get(self) -> ListViews:
        """The messages by their source, in the forms that they can be read in."""
        return ListViews(self.desk, self.target)

    @property
    def system_messages(self) -> list[Any]:
        """All system messages, those with a tag last."""
        return [self.desk.view(message, ("list", "system")) for message in self.target.all_system()]

    def spread(self) -> dict[str, Any]:
        """Returns `{...messageList}`: its fields, of which those that are no messages are left undefined."""
        made: dict[str, Any] = dict.fromkeys(self.target.profile.list_fields, UNDEFINED)
        systems = self.desk.view(self.target.system_messages, ("list", "system"))
        return {**made, "messages": self.messages, "systemMessages": systems}

    def all_system_messages(self) -> list[Any]:
        """Returns all system messages, those with a tag last."""
        return self.system_messages

    def add(self, messages: Any = UNDEFINED, source: Any = UNDEFINED, options: Any = UNDEFINED) -> None:
        """Adds messages of any form with a source: "input", "response", "context" or "memory".

        `options` may say `merge: False`, in the versions that take any.
        """
        self.target.add(self._slot(messages), self._slot(source), self._slot(options))

    def add_system(self, messages: Any = UNDEFINED, tag: Any = UNDEFINED) -> None:
        """Adds system messages, under a tag if one is given."""
        self.target.add_system(self._slot(messages), self._slot(tag))

    def replace_all_system_messages(self, messages: Any = UNDEFINED) -> None:
        """Puts these in place of the system messages without a tag."""
        self.target.replace_system(self._slot(messages))

    def clear_system_messages(self, tag: Any = UNDEFINED) -> None:
        """Takes out the system messages of a tag, or those without."""
        self.target.clear_system(self._slot(tag))

    def remove_by_ids(self, ids: Any = UNDEFINED) -> None:
        """Takes the messages of some ids out."""
        self.target.remove_by_ids(self._slot(ids))

    def clear_all(self) -> None:
        """Takes all messages out."""
        self.target.clear()

    def clear_input(self) -> None:
        """Takes the input's messages out."""
        self.target.clear_source("input")

    def clear_response(self) -> None:
        """Takes the agent's messages out."""
        self.target.clear_source("response")

    def _slot(self, value: Any) -> Any:
        return self.desk.slot(value)

    def __getattr__(self, name: str) -> Any:
        if name in _ALIASES:
            return getattr(self, _ALIASES[name])
        if name in _LEFT_OUT_OF_LIST:
            raise self.desk.leave_out(f"messageList.{name}", INSTEAD)
        raise AttributeError(f"a message list has no {name!r}")


class Arguments(Mapping[str, Any]):
    """The arguments of a processor by their names, as views.

    `message_list` is `messageList`, and `request_context` is `requestContext`. An argument of the package
    that the emulation leaves out raises NotEmulatedError; one that is undefined is not there.
    """

    def __init__(
        self,
        desk: Desk,
        processor_id: str,
        target: MessageList,
        values: Mapping[str, Value],
        request_context: Ref,
    ) -> None:
        self.desk = desk
        self.processor_id = processor_id
        self.message_list = ListHandle(desk, target)
        self._shared = request_context
        self._values = {name: value for name, value in values.items() if value is not UNDEFINED}

    @property
    def request_context(self) -> RequestContext:
        """The request context of the call: one live object for all that take part."""
        return RequestContext(self.desk, self._shared, (self.processor_id, "requestContext"))

    def hand_over(self) -> Arguments:
        """Hands each of them out at the boundary; returns these."""
        for name, value in self._values.items():
            self.desk.hand(value, (self.processor_id, name))
        self.desk.hand(self._shared, (self.processor_id, "requestContext"))
        return self

    def __getitem__(self, name: str) -> Any:
        if name in ("messageList", "requestContext", "abort"):
            own = {"messageList": "message_list", "requestContext": "request_context"}
            return getattr(self, own.get(name, name))
        if name in _ARGUMENTS_LEFT_OUT:
            raise self.desk.leave_out(f"the argument {name}", INSTEAD)
        return self.desk.view(self._values[name], (self.processor_id, name))

    def __iter__(self) -> Iterator[str]:
        yield from ("messageList", "requestContext", "abort")
        yield from self._values

    def __len__(self) -> int:
        return len(self._values) + 3

    def abort(self, reason: str | None = None, options: Any = None) -> NoReturn:
        """Ends the run with a tripwire; `options` may have `retry` and `metadata`."""
        told = reason or f"Tripwire triggered by {self.processor_id}"
        raise TripWire(told, {} if options is None else options, self.processor_id)


# `messageList.get`: the messages of the list, or of one source, in the forms that they can be read in.
#
# `db()` has the list's own messages. A message in a form of AI SDK 5 is a new object, but what a call was
# given and what a tool answered are the stored objects (rule mastra.views-share-payloads).

SOURCES: Final = ("all", "remembered", "input", "response")
"""What can be read: all messages, or those of one source."""
_BY_NAME: Final = {"remembered": "memory"}
_LIST_LEFT_OUT: Final = ("v1", "prompt", "ui", "core", "aiV4", "aiV6", "aiV7")
_LEFT_OUT_OF_5: Final = ("llmPrompt", "modelContent", "stepContent")


class ListViews:
    """The views of a message list, by the source of the messages."""

    def __init__(self, desk: Desk, target: MessageList) -> None:
        self.all = SourceViews(desk, target, "all")
        self.remembered = SourceViews(desk, target, "remembered")
        self.input = SourceViews(desk, target, "input")
        self.response = SourceViews(desk, target, "response")


class SourceViews:
    """The messages of one source, in each form."""

    def __init__(self, desk: Desk, target: MessageList, source: str) -> None:
        self.desk = desk
        self.target = target
        self.source = source

    @property
    def messages(self) -> tuple[Slot, ...]:
        """The stored messages of the source, in the list's order."""
        if self.source == "all":
            return self.target.all()
        return self.target.of(_BY_NAME.get(self.source, self.source))

    def db(self) -> ArrayView:
        """Returns the stored messages: of all the list's own array, of one source a new array."""
        listed = self.target.messages if self.source == "all" else self.target.store.array(self.messages)
        return self.view(listed, "db")

    @property
    def aiV5(self) -> Views5:  # noqa: N802 - the package's name
        """The same messages in the forms of AI SDK 5."""
        return Views5(self)

    def view(self, array: Ref, form: str) -> ArrayView:
        """Returns an array as the hook sees it."""
        return self.desk.view(array, ("list", "get", self.source, form))  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        raise _missing(self, name, _LIST_LEFT_OUT)


class Views5:
    """The messages of one source in the forms of AI SDK 5; new objects each time."""

    def __init__(self, views: SourceViews) -> None:
        self.desk = views.desk
        self.views = views
        self.source = f"{views.source}.aiV5"

    def model(self) -> ArrayView:
        """Returns the messages as model messages, without system messages."""
        target, store = self.views.target, self.views.target.store
        source = self.views.source
        if source == "response":
            made = response_messages(target)
        else:
            made = of_all(target) if source == "all" else of_source(target, _BY_NAME.get(source, source))
        return self._array_view(store, [message.cell(store) for message in made], "model")

    def ui(self) -> ArrayView:
        """Returns the messages as UI messages."""
        target, store = self.views.target, self.views.target.store
        made = [one if is_empty(one) else _ui_cell(target, one) for one in self.views.messages]
        # A version with signals reads the role of every UI message, so an empty place fails there.
        for shown in made if target.profile.knows_signals else ():
            get(store, shown, "role")
        return self._array_view(store, made, "ui")

    def prompt(self) -> ArrayView:
        """Returns what a model would be shown now, system messages first.

        Raises:
            NotEmulatedError: for the messages of one source, which have no prompt.
        """
        if self.views.source != "all":
            raise self.desk.leave_out(f"messageList.get.{self.source}.prompt", INSTEAD)
        target, store = self.views.target, self.views.target.store
        made = model_prompt(target)
        return self._array_view(store, [message.cell(store) for message in made], "prompt")

    def _array_view(self, store: Store, cells: Iterable[Slot], form: str) -> ArrayView:
        array = store.derive(store.array(cells), self.views.target.messages)
        return self.views.view(array, f"aiV5.{form}")

    def __getattr__(self, name: str) -> Any:
        raise _missing(self, name, _LEFT_OUT_OF_5)


def _missing(views: SourceViews | Views5, name: str, left_out: Iterable[str]) -> Exception:
    """Returns the error for a view that is not there: by its name, if the package has it."""
    if name in left_out:
        return views.desk.leave_out(f"messageList.get.{views.source}.{name}", INSTEAD)
    return AttributeError(f"messageList.get.{views.source} has no {name!r}")


def _ui_cell(target: MessageList, message: Slot) -> Ref:
    store = target.store
    shown = ui_message(target, message)
    content = get(store, message, "content")
    named = {name: get(store, message, name) for name in ("createdAt", "threadId", "resourceId")}
    named["providerMetadata"] = get(store, content, "providerMetadata")
    known = {name: value for name, value in named.items() if value}
    made: dict[str, Value] = {
        "id": get(store, message, "id"),
        "role": get(store, message, "role"),
        "metadata": spread(store, get(store, content, "metadata"), **known),
        "parts": store.array(shown.parts),
    }
    return store.derive(store.object(made), message, content)


# The request context: values by name that the caller and all processors of a call share.

INSTEAD: Final = (
    "check the hook in the real package with `agentcore check-hook` (spec/mastra.md says what else)"
)
"""What an error says of a part of the package that the emulation leaves out."""

_SAME: Final = {
    "forEach": "for_each",
    "toJSON": "to_json",
    "setRaw": "set",
    "getRaw": "get",
    "hasRaw": "has",
    "deleteRaw": "delete",
}
_CONTEXT_LEFT_OUT: Final = ("all", "isSerializable", "serializeForSpan")


class RequestContext:
    """The request context as a processor gets it (rule mastra.request-context-shared).

    It is one object for the caller, every processor and every step. Its methods have the names of the
    package's, or those names as Python writes them.
    """

    def __init__(self, desk: Desk, ref: Ref, handle: tuple[Key, ...]) -> None:
        self.view = ObjectView(desk, ref, handle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RequestContext) and other.view.is_same(self.view)

    def __hash__(self) -> int:
        return hash(self.view.ref)

    def get(self, key: str) -> Any:
        """Returns the live value of a key; UNDEFINED if there is none."""
        return self.view.get(key, UNDEFINED)

    def set(self, key: str, value: Any) -> None:
        """Puts a value under a key: everyone who reads the key from now on gets it.

        Raises:
            HostValueError: for a value that JavaScript has no counterpart of.
        """
        self.view[key] = value

    def has(self, key: str) -> bool:
        """Returns whether there is a key."""
        return key in self.view

    def delete(self, key: str) -> bool:
        """Takes a key out; returns whether it was there."""
        found = self.has(key)
        if found:
            del self.view[key]
        return found

    def clear(self) -> None:
        """Takes all keys out."""
        self.view.clear()

    def keys(self) -> list[str]:
        """Returns the keys, in their order."""
        return list(self.view)

    def values(self) -> list[Any]:
        """Returns the live values, in the order of their keys."""
        return list(self.view.values())

    def entries(self) -> list[tuple[str, Any]]:
        """Returns keys with their live values."""
        return list(self.view.items())

    def size(self) -> int:
        """Returns the number of keys."""
        return len(self.view)

    def for_each(self, act: Callable[[Any, str], Any]) -> None:
        """Calls a function with each value and its key."""
        for key, value in self.entries():
            act(value, key)

    def to_json(self) -> dict[str, Any]:
        """Returns a new object with the same live values."""
        return dict(self.view)

    def __getattr__(self, name: str) -> Any:
        if name in _SAME:
            return getattr(self, _SAME[name])
        if name in _CONTEXT_LEFT_OUT:
            raise self.view.desk.leave_out(f"requestContext.{name}", INSTEAD)
        raise AttributeError(f"a request context has no {name!r}")


# What a step produced, read out of the agent's messages: the marks of steps in them say where it is.
#
# What is written into an answer shows here and in later prompts (rule mastra.answers-live).


def response_messages(target: MessageList) -> list[ModelMessage]:
    """The agent's messages as model messages."""
    made = of_source(target, "response")
    return [message for message in made if message.role in ("assistant", "tool")]


def step_content(target: MessageList, number: int) -> Ref:
    """The content of a step, counted from 1; that of a step 0 is empty."""
    store = target.store
    parts = [part for message in target.of("response") for part in ui_message(target, message).parts]
    starts = [index for index, part in enumerate(parts) if get(store, part, "type") == "step-start"]
    bounds = [-1, *starts, len(parts)]
    inside: list[Slot] = []
    if number == 1:
        inside = parts[: bounds[1]]
    elif 1 < number < len(bounds):
        inside = parts[bounds[number - 1] + 1 : bounds[number]]
    return store.array(_content(target, inside))


def _content(target: MessageList, parts: list[Slot]) -> list[Slot]:
    store = target.store
    content: list[Slot] = []
    for message in model_messages(target, [UiMessage("assistant", parts)], calls_end=False):
        if isinstance(message.content, str):
            continue
        for part in message.content:
            if get(store, part, "type") == "tool-result":
                names = ("type", "toolCallId", "toolName", "output")
                read = {name: get(store, part, name) for name in names}
                made = {**read, "input": target.known_args(get(store, part, "toolCallId"))}
            else:
                made = dict(fields(store, part))
            content.append(store.derive(store.object(made), part))
    return content
