"""Hooks on `--path stream`, and hooks that are generators where the framework takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.live import ImmutableArgumentError, isolate, strict
from agentcore.live.adapter import AdapterBase, Boundary, Entry
from agentcore.live.conversations import conversation
from agentcore.live.judge import Judge
from agentcore.live.loading import ValueSource
from agentcore.live.session import Reply, mapped
from live.packages import checked, kinds

STREAMED: Final = [
    ("langchain", "before_model"),
    ("pydantic-ai", "history_processor"),
    ("openai-agents", "call_model_input_filter"),
]


class _Yielding(AdapterBase):
    """A loop whose hook is a generator of messages that are put after the conversation."""

    name = "yielding"
    boundaries: Mapping[str, Boundary] = {
        "before_model": Boundary(("messages",), delta=True, passive=lambda _: {})
    }

    def user(self, parts: Any) -> Any:
        return {"role": "user", "content": mapped(parts, text=dict)}

    def answer(self, parts: Any) -> Any:
        return {"role": "assistant", "content": mapped(parts, text=dict)}

    def result(self, call: Any) -> Any:
        return {"role": "tool", "content": call["id"]}

    def entry(self, message: Any) -> Entry:
        return Entry(message["role"], str(message["content"]))

    def begin(self, session: Any, hook: Any, at: str, path: str) -> Any:
        del at, path  # there is one of each

        async def turn_async(messages: Any) -> Reply:
            added = [each async for each in hook.call(messages)]
            return Reply([*messages, *added, self.answer(session.answer([*messages, *added]))])

        def turn(messages: Any) -> Reply:
            added = [] if hook is None else [*hook.call(messages)]
            return Reply([*messages, *added, self.answer(session.answer([*messages, *added]))])

        return turn_async if hook is not None and hook.is_async else turn


ADAPTER: Final = _Yielding()


def pollutes(messages: Any) -> Any:
    yield {"role": "user", "content": []}
    messages[0]["content"] = [{"type": "text", "text": "after the first value"}]


async def pollutes_async(messages: Any) -> Any:
    messages[0]["content"] = [{"type": "text", "text": "before the first value"}]
    yield {"role": "user", "content": []}


def clean(messages: Any) -> Any:
    yield {**messages[0], "content": []}


async def clean_async(messages: Any) -> Any:
    yield {**messages[0], "content": []}


def found(hook: Callable[..., Any]) -> set[str]:
    judge = Judge(ADAPTER, ValueSource(lambda: hook, (), (), Path.cwd(), "hook"), "before_model")
    return {
        each.kind for seed in range(8) for each in judge.judge(conversation(seed), "generate", seed).shown
    } - {"accumulates"}


@pytest.mark.parametrize("hook", [pollutes, pollutes_async])
def test_a_generator_that_writes_is_found(hook: Callable[..., Any]) -> None:
    assert found(hook) == {"write"}


@pytest.mark.parametrize("hook", [clean, clean_async])
def test_a_generator_that_yields_new_messages_is_silent(hook: Callable[..., Any]) -> None:
    assert found(hook) == set()


@pytest.mark.parametrize("hook", [pollutes, pollutes_async])
def test_a_generator_that_writes_passes_when_it_is_isolated(hook: Callable[..., Any]) -> None:
    assert found(isolate(hook, framework="live.test_streams:ADAPTER", at="before_model")) == set()


def test_strict_raises_in_a_generator() -> None:
    hook = strict(pollutes, framework="live.test_streams:ADAPTER", at="before_model")
    with pytest.raises(ImmutableArgumentError):
        list(hook([{"role": "user", "content": []}]))


@pytest.mark.live
@pytest.mark.sample(1)
@pytest.mark.parametrize(("framework", "at"), STREAMED)
def test_hooks_are_told_apart_where_the_model_streams(framework: str, at: str) -> None:
    polluting = checked(framework, f"{at}_pollutes", at, path="stream", examples=8)
    clean_one = checked(framework, f"{at}_clean", at, path="stream", examples=8)
    assert (polluting["verdict"], clean_one["verdict"]) == ("fault", "clean"), (polluting, clean_one)
    assert polluting["framework"]["paths"] == ["stream"]


@pytest.mark.live
@pytest.mark.sample(1)
@pytest.mark.parametrize("hook", ["node_yields", "node_yields_async"])
def test_a_node_may_be_a_generator(hook: str) -> None:
    assert "write" in kinds(checked("langchain", f"{hook}_pollutes", "langgraph_node", examples=6))
    report = checked("langchain", f"{hook}_clean", "langgraph_node", examples=6)
    assert (report["verdict"], kinds(report)) == ("clean", []), report


@pytest.mark.live
@pytest.mark.sample(1)
@pytest.mark.parametrize(("framework", "at"), STREAMED)
def test_a_generator_that_the_framework_never_runs_is_not_judged(
    tmp_path: Path, framework: str, at: str
) -> None:
    file = tmp_path / "generators.py"
    file.write_text("async def hook(*args):\n    yield args[-1]\n", encoding="utf-8")
    report = checked(framework, "hook", at, file=file, examples=4)
    # The framework refuses what it gets, or nobody asks for a value; it is never clean.
    assert report["exit"] in {1, 3}
    assert report["conversations"]["calls"] == 0 or kinds(report) == ["raises"]
