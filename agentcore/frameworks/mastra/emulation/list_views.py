"""`messageList.get`: the messages of the list, or of one source, in the forms that they can be read in.

`db()` has the list's own messages. A message in a form of AI SDK 5 is a new object, but what a call was given
and what a tool answered are the stored objects (rule mastra.views-share-payloads).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from agentcore.frameworks.mastra.emulation.conversion import model_prompt, of_messages, ui_message
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.frameworks.mastra.emulation.request_context import INSTEAD
from agentcore.frameworks.mastra.emulation.step_content import response_messages
from agentcore.heap.heap import Ref, Slot, Store, Value
from agentcore.heap.js import get, spread
from agentcore.heap.views import ArrayView, Desk

SOURCES: Final = ("all", "remembered", "input", "response")
"""What can be read: all messages, or those of one source."""
_BY_NAME: Final = {"remembered": "memory"}
_LEFT_OUT: Final = ("v1", "prompt", "ui", "core", "aiV4", "aiV6", "aiV7")
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
        raise _missing(self, name, _LEFT_OUT)


class Views5:
    """The messages of one source in the forms of AI SDK 5; new objects each time."""

    def __init__(self, views: SourceViews) -> None:
        self.desk = views.desk
        self.views = views
        self.source = f"{views.source}.aiV5"

    def model(self) -> ArrayView:
        """Returns the messages as model messages, without system messages."""
        target, store = self.views.target, self.views.target.store
        own = self.views.source == "response"
        made = response_messages(target) if own else of_messages(target, self.views.messages)
        return self._shown(store, [message.cell(store) for message in made], "model")

    def ui(self) -> ArrayView:
        """Returns the messages as UI messages."""
        store = self.views.target.store
        return self._shown(
            store, [_ui_cell(self.views.target, message) for message in self.views.messages], "ui"
        )

    def prompt(self) -> ArrayView:
        """Returns what a model would be shown now, system messages first.

        Raises:
            NotEmulatedError: for the messages of one source, which have no prompt.
        """
        if self.views.source != "all":
            raise self.desk.leave_out(f"messageList.get.{self.source}.prompt", INSTEAD)
        target, store = self.views.target, self.views.target.store
        made = model_prompt(target)
        return self._shown(store, [message.cell(store) for message in made], "prompt")

    def _shown(self, store: Store, cells: Iterable[Ref], form: str) -> ArrayView:
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
