"""Where a framework asks a person before it runs a tool, the check answers and judges across the pause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.live.adapter import AdapterBase, Entry
from agentcore.live.conversations import conversation
from agentcore.live.session import Reply, Session, mapped
from live.packages import checked, kinds

CALL: Final = {"type": "call", "id": "call_1", "tool": "search", "input": {"query": "a"}, "approval": True}
AT: Final = {
    "langchain": "before_model",
    "pydantic-ai": "history_processor",
    "openai-agents": "call_model_input_filter",
}


BEFORE: Final = {"type": "call", "id": "call_0", "tool": "weather", "input": {}, "output": ["sun", "rain"]}


def asking(**outcome: Any) -> dict[str, Any]:
    """A conversation with a call that needs no approval, and then one that does."""
    parts: list[list[Any]] = [[BEFORE], [{**CALL, **outcome}], [{"type": "text", "text": "done"}]]
    answers = [{"parts": each} for each in parts]
    texts = [{"type": "text", "text": text} for text in ("please look", "and tell")]
    request = {"role": "user", "parts": texts}
    return {"format": 1, "turns": [{"messages": [request], "answers": answers}]}


# ---------------------------------------------------------------- the session's side


class _Asking(AdapterBase):
    """A loop that asks for an approval of each call, and never ends to ask if it is let."""

    name = "asking"
    boundaries = {}  # noqa: RUF012 - there is no hook

    def __init__(self, *, again: bool = False) -> None:
        self.decisions: list[Any] = []
        self._again = again

    def user(self, parts: Any) -> Any:
        return mapped(parts, text=dict)

    answer = user

    def result(self, call: Any) -> Any:
        return call["output"]

    def entry(self, message: Any) -> Entry:
        raise NotImplementedError

    def begin(self, session: Any, hook: Any, at: str, path: str) -> Any:
        del hook, at, path  # there is one of each

        def turn(given: Any) -> Reply:
            calls = ["call_1"] if session.answer(given) else []
            return Reply(given, asked=calls, resume=resume)

        def resume(decisions: Any) -> Reply:
            self.decisions.append(decisions)
            return Reply([], asked=[*decisions] if self._again else (), resume=resume)

        return turn


class _Recorder:
    """Records nothing."""

    def prompt(self, messages: Any) -> int:
        del messages
        return 0

    def begin_turn(self, turn: int) -> None:
        """Nothing to begin."""

    async def settle(self) -> None:
        """Nothing to wait for."""

    def result(self, value: Any) -> None:
        """Nothing to record."""

    def holder(self, name: str, value: Any) -> None:
        """Nothing to hold."""


@pytest.mark.parametrize(("outcome", "reason"), [({"output": 1}, None), ({"denied": "not now"}, "not now")])
def test_a_call_that_waits_is_decided_as_the_conversation_says(outcome: Any, reason: str | None) -> None:
    adapter = _Asking()
    adapter.run(Session(asking(**outcome), _Recorder()), None, "", "generate")
    assert adapter.decisions == [{"call_1": reason}]


def test_a_framework_that_asks_again_for_the_same_call_does_not_hang_the_check() -> None:
    adapter = _Asking(again=True)
    adapter.run(Session(asking(output=1), _Recorder()), None, "", "generate")
    assert len(adapter.decisions) == 1


def test_random_conversations_have_calls_that_are_approved_and_calls_that_are_denied() -> None:
    calls = [
        part
        for seed in range(60)
        for turn in conversation(seed)["turns"]
        for answer in turn["answers"]
        for part in answer["parts"]
        if part.get("approval")
    ]
    assert {"denied" in call for call in calls} == {True, False}


# ---------------------------------------------------------------- the frameworks


def reported(tmp_path: Path, framework: str, hook: str, at: str, path: str) -> dict[str, Any]:
    file = tmp_path / "asking.json"
    file.write_text(json.dumps([asking(output="found"), asking(denied="not now")]), encoding="utf-8")
    return checked(framework, hook, at, recorded=file, examples=2, path=path)


@pytest.mark.live
@pytest.mark.sample(1)
@pytest.mark.parametrize("path", ["generate", "stream"])
@pytest.mark.parametrize("framework", AT)
def test_a_hook_that_writes_across_an_approval_is_found(tmp_path: Path, framework: str, path: str) -> None:
    report = reported(tmp_path, framework, "approval_pollutes", AT[framework], path)
    assert "write" in kinds(report), report
    assert report["conversations"]["judged"] == 2


@pytest.mark.live
@pytest.mark.sample(1)
@pytest.mark.parametrize("framework", AT)
def test_a_clean_hook_is_silent_across_an_approval(tmp_path: Path, framework: str) -> None:
    report = reported(tmp_path, framework, "approval_clean", AT[framework], "generate")
    assert (report["verdict"], kinds(report)) == ("clean", []), report["findings"]
    assert report["conversations"]["judged"] == 2


@pytest.mark.live
def test_a_call_is_written_after_it_was_approved(tmp_path: Path) -> None:
    report = reported(tmp_path, "langchain", "approval_pollutes_after", "wrap_tool_call", "generate")
    assert kinds(report) == ["write"]
    # The denied call never comes to the tool.
    assert report["conversations"]["calls"] == 3
