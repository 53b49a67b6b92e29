"""A loop of one's own, with an adapter made of the skeleton's and boundaries of every kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.live.adapter import Attached, Boundary, Recorder
from agentcore.live.conversations import Conversation, tools
from agentcore.skeletons.live_adapter import Adapter, _answer, _outcome, _translated


class Handle:
    """A live handle: it stays itself, and leads to the conversation."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.note: dict[str, Any] = {}

    def __enter__(self) -> None:
        """Makes it a resource, which is not copied."""

    def close(self) -> None:
        """As above."""


class Stop(Exception):  # noqa: N818 - it is no error
    """A hook ends the run with it."""


class _Toy(Adapter):
    name = "toy"
    paths: Sequence[str] = ("generate", "stream")
    boundaries: Mapping[str, Boundary] = {
        **Adapter.boundaries,
        "around": Boundary(
            parameters=("request", "handler"),
            handler="handler",
            passive=lambda given: given["handler"](given["request"]),
            messages_in=lambda given: given["request"],
            messages_out=lambda request: request,
        ),
        "with_handle": Boundary(
            parameters=("handle",),
            kept=lambda given: [given["handle"]],
            handles=lambda given: [given["handle"].messages, given["handle"].note],
        ),
        "assigns": Boundary(parameters=("state",), outlets=lambda given: [given["state"]]),
        "after_model": Boundary(
            parameters=("answer",), after=True, whole=False, passive=lambda given: given["answer"]
        ),
    }

    def control(self) -> Sequence[type[BaseException]]:
        return (Stop,)

    def run(
        self, conversation: Conversation, hook: Attached | None, at: str, path: str, recorder: Recorder
    ) -> None:
        del path  # both do the same
        calls = tools(conversation)
        messages: list[Any] = []
        passed: list[Any] = []
        recorder.holder("caller", passed)
        for number, turn in enumerate(conversation["turns"]):
            recorder.begin_turn(number)
            messages = [*messages, *_translated(turn["messages"])]
            passed.append(messages)
            messages = self._turn(messages, turn["answers"], calls, hook and hook.call, at, recorder)
            recorder.result(messages)

    def _turn(  # noqa: PLR0913, PLR0917 - what a turn is made of
        self, given: list[Any], answers: Sequence[Any], calls: Any, hook: Any, at: str, recorder: Recorder
    ) -> list[Any]:
        messages = [*given]
        handle = Handle()

        def ask(prompt: list[Any]) -> Any:
            step = recorder.prompt(prompt)
            return _answer(
                answers[step] if step < len(answers) else {"parts": [{"type": "text", "text": "done"}]}
            )

        while True:
            if at == "before_model" and hook is not None:
                messages = hook(messages) or messages
            if at == "with_handle" and hook is not None:
                handle.messages = messages
                hook(handle)
            if at == "assigns" and hook is not None:
                state = {"messages": messages}
                hook(state)
                messages = state["messages"]
            answer = hook(messages, ask) if at == "around" and hook is not None else ask(messages)
            if at == "after_model" and hook is not None:
                answer = hook(answer) or answer
            messages = [*messages, answer]
            if not answer["calls"]:
                return messages
            messages += [
                {"role": "tool", "id": each["id"], "content": _outcome(calls[each["id"]])}
                for each in answer["calls"]
            ]


ADAPTER = _Toy()
