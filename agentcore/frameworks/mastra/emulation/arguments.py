"""What processors are given: the arguments by the package's names, and the message list with its methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from agentcore.frameworks.mastra.emulation.errors import TripWire
from agentcore.frameworks.mastra.emulation.list_views import ListViews
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.frameworks.mastra.emulation.request_context import INSTEAD, RequestContext
from agentcore.heap.heap import UNDEFINED, Ref, Value
from agentcore.heap.views import ArrayView, Desk

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
_LEFT_OUT: Final = frozenset(
    {
        *("agent", "tracing", "loggerVNext", "metrics", "state", "writer", "abortSignal", "runId"),
        *("rotateResponseMessageId", "sendSignal", "llmRequestStage"),
    }
)


class ListHandle:
    """A message list in the hands of a processor; two of one list are equal.

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

    def handed(self) -> Arguments:
        """These, once each of them has passed the boundary."""
        for name, value in self._values.items():
            self.desk.hand(value, (self.processor_id, name))
        self.desk.hand(self._shared, (self.processor_id, "requestContext"))
        return self

    def __getitem__(self, name: str) -> Any:
        if name in ("messageList", "requestContext", "abort"):
            own = {"messageList": "message_list", "requestContext": "request_context"}
            return getattr(self, own.get(name, name))
        if name in _LEFT_OUT:
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
