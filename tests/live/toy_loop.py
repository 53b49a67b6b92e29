"""A loop of one's own, with an adapter made of the skeleton's and boundaries of every kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from threading import Barrier
from typing import Any

from agentcore.live.adapter import Attached, Boundary, around
from agentcore.live.session import Reply, Session
from agentcore.skeletons.live_adapter import Adapter


class Handle:
    """A live handle: it stays itself, and leads to the conversation."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.note: dict[str, Any] = {}

    def __enter__(self) -> None:
        """Makes it a resource, which is not copied."""

    def close(self) -> None:
        """As above."""


class Registry:
    """Knows the messages of the loop by their identity, and stays itself."""

    def __init__(self, messages: list[Any]) -> None:
        self._known = {id(each) for each in messages}

    def has(self, message: Any) -> bool:
        return id(message) in self._known


class Stop(Exception):  # noqa: N818 - it is no error
    """A hook ends the run with it."""


class _Toy(Adapter):
    name = "toy"
    paths: Sequence[str] = ("generate", "stream")
    boundaries: Mapping[str, Boundary] = {
        **Adapter.boundaries,
        "around": around("request", messages=lambda request: request),
        "with_handle": Boundary(
            parameters=("handle",),
            kept=lambda given: [given["handle"]],
            handles=lambda given: [given["handle"].messages, given["handle"].note],
        ),
        "registered": Boundary(parameters=("messages", "registry"), kept=lambda given: [given["registry"]]),
        "tool": Boundary(
            parameters=("call", "messages", "together"),
            kept=lambda given: [given["together"]],
            after=True,
            whole=False,
        ),
        "ends": Boundary(parameters=("messages",), after=True),
        "assigns": Boundary(parameters=("state",), outlets=lambda given: [given["state"]]),
        "after_model": Boundary(
            parameters=("answer",), after=True, whole=False, passive=lambda given: given["answer"]
        ),
    }

    steering: Sequence[type[BaseException]] = (Stop,)

    def begin(self, session: Session, hook: Attached | None, at: str, path: str) -> Any:
        del path  # both do the same
        return lambda given: Reply(self._turn(given, session, hook and hook.call, at))

    def _turn(  # noqa: C901 - one boundary after another
        self, given: list[Any], session: Session, hook: Any, at: str
    ) -> list[Any]:
        messages = [*given]
        handle = Handle()

        def ask(prompt: list[Any]) -> Any:
            return self.answer(session.answer(prompt))

        while True:
            if at == "before_model" and hook is not None:
                messages = hook(messages) or messages
            if at == "with_handle" and hook is not None:
                handle.messages = messages
                hook(handle)
            if at == "registered" and hook is not None:
                messages = hook(messages, Registry(messages)) or messages
            if at == "assigns" and hook is not None:
                state = {"messages": messages}
                hook(state)
                messages = state["messages"]
            answer = hook(messages, ask) if at == "around" and hook is not None else ask(messages)
            if at == "after_model" and hook is not None:
                answer = hook(answer) or answer
            messages = [*messages, answer]
            if not answer["calls"]:
                if at == "ends" and hook is not None:
                    hook(messages)
                return messages
            if at == "tool" and hook is not None:
                _call_together(hook, answer["calls"], messages)
            messages += [self.result(session.call(each["id"])) for each in answer["calls"]]


def _call_together(hook: Any, calls: Sequence[Any], messages: list[Any]) -> None:
    together = Barrier(len(calls))
    with ThreadPoolExecutor(len(calls)) as threads:
        [*threads.map(hook, calls, repeat(messages), repeat(together))]


ADAPTER = _Toy()
