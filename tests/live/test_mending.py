"""`isolate` makes every polluting hook pass, and `strict` raises at the line that writes."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import inspect
import traceback
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.live import ImmutableArgumentError, isolate, strict
from agentcore.live.checking import HookNotJudgedError, LiveFaultError, check_live_hook
from agentcore.live.conversations import conversation
from agentcore.live.judge import Judge
from agentcore.live.loading import ValueSource
from agentcore.live.tap import Mode
from live.hooks import toy_hooks
from live.toy_loop import ADAPTER

TOY: Final = "live.toy_loop:ADAPTER"
AT: Final = ("before_model", "around", "registered", "ends", "assigns", "after_model")


def polluting(at: str) -> Any:
    return getattr(toy_hooks, "pollutes" if at == "before_model" else f"{at}_pollutes")


def clean(at: str) -> Any:
    return getattr(toy_hooks, "clean" if at == "before_model" else f"{at}_clean")


def kinds(make: Any, at: str) -> set[str]:
    judge = Judge(ADAPTER, ValueSource(make, (), (), Path.cwd(), "hook"), at)
    return {
        each.kind for seed in range(20) for each in judge.judge(conversation(seed), "generate", seed).shown
    }


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("at", AT)
def test_a_polluting_hook_passes_when_it_is_isolated(at: str) -> None:
    assert "write" in kinds(lambda: polluting(at), at)
    assert kinds(lambda: isolate(polluting(at), framework=TOY, at=at), at) == set()


@pytest.mark.parametrize("at", AT)
def test_strict_raises_at_the_line_that_writes(at: str) -> None:
    judge = Judge(
        ADAPTER, ValueSource(lambda: strict(polluting(at), framework=TOY, at=at), (), (), Path.cwd(), "x"), at
    )
    runs = (judge.run(conversation(seed), "generate", seed, Mode.LIVE) for seed in range(20))
    error = next(run.error for run in runs if run.error is not None)
    assert isinstance(error, ImmutableArgumentError)
    lines = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.endswith("toy_hooks.py")
    ]
    assert lines
    assert "=" in str(lines[-1].line) or "append" in str(lines[-1].line)


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("at", AT)
def test_strict_and_isolate_leave_a_clean_hook_as_it_is(at: str) -> None:
    assert kinds(lambda: strict(clean(at), framework=TOY, at=at), at) == set()
    assert kinds(lambda: isolate(clean(at), framework=TOY, at=at), at) == set()


def test_a_stateful_hook_is_the_same_hook_when_it_is_isolated() -> None:
    def hook() -> Any:
        toy_hooks._STATE.update(count=0, known={})
        return isolate(toy_hooks.stateful, framework=TOY, at="before_model")

    assert kinds(hook, "before_model") == set()


def test_a_boundary_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="has no boundary nowhere; it has before_model"):
        isolate(toy_hooks.clean, framework=TOY, at="nowhere")


@pytest.fixture
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root.parent}")
    monkeypatch.setenv("AGENTCORE_CACHE", str(tmp_path))


@pytest.mark.usefixtures("_cache")
def test_a_function_of_a_module_is_checked_in_a_process_of_its_own() -> None:
    with pytest.raises(LiveFaultError, match="pollutes writes messages") as caught:
        check_live_hook(toy_hooks.pollutes, framework=TOY, at="before_model", examples=6)
    assert caught.value.report["findings"][0]["line"]["file"].endswith("toy_hooks.py")
    report = check_live_hook(toy_hooks.clean, framework=TOY, at="before_model", examples=6)
    assert report["verdict"] == "clean"


@pytest.mark.usefixtures("_cache")
def test_a_closure_is_checked_here() -> None:
    def hook(messages: Any) -> Any:
        return toy_hooks.pollutes(messages)

    with pytest.raises(LiveFaultError, match="hook writes messages"):
        check_live_hook(hook, framework=TOY, at="before_model", examples=6)
    assert check_live_hook(lambda _: None, framework=TOY, at="before_model", examples=6)["verdict"] == "clean"


@pytest.mark.usefixtures("_cache")
def test_a_hook_that_is_not_judged_fails_its_test() -> None:
    with pytest.raises(HookNotJudgedError, match="NOT JUDGED"):
        check_live_hook("nowhere.py#x", framework=TOY, at="before_model")


@pytest.mark.slow
@pytest.mark.usefixtures("_cache")
def test_the_fixture_checks_live_where_a_framework_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from live.hooks import toy_hooks

        def test_pollutes(check_hook):
            check_hook(toy_hooks.pollutes, framework="live.toy_loop:ADAPTER", at="before_model", examples=4)

        def test_clean(check_hook):
            check_hook(toy_hooks.clean, framework="live.toy_loop:ADAPTER", at="before_model", examples=4)
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(failed=1, passed=1)


# ---------------------------------------------------------------- what a hook is


class _Middleware:
    """An object whose method is the hook."""

    def __init__(self) -> None:
        self.calls = 0

    def hook(self, messages: Any) -> Any:
        self.calls += 1
        messages[0]["content"] = "!"
        return messages


@pytest.fixture
def _by_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy's boundary, at which an object with a method `hook` is a hook."""
    named = dataclasses.replace(ADAPTER.boundaries["before_model"], methods=("absent", "hook"))
    monkeypatch.setitem(ADAPTER.boundaries, "before_model", named)


@pytest.mark.usefixtures("_by_methods")
def test_an_object_with_a_method_stays_an_object_of_its_class_whose_method_gets_copies() -> None:
    messages = [{"role": "user", "content": "hi"}]
    mended = isolate(_Middleware(), framework=TOY, at="before_model")
    assert mended.hook(messages) == [{"role": "user", "content": "!"}]
    assert messages[0]["content"] == "hi"
    assert (isinstance(mended, _Middleware), mended.calls) == (True, 1)
    refusing = strict(_Middleware(), framework=TOY, at="before_model")
    with pytest.raises(ImmutableArgumentError, match="a hook writes to a dict that it was given"):
        refusing.hook(messages)


async def _shout(messages: Any) -> Any:
    messages[0]["content"] = "!"
    return messages


async def _pass_on(request: Any, handler: Any) -> Any:
    answer = await handler(request)
    answer["content"] = "!"
    return answer


def test_an_async_hook_gets_copies_and_what_it_returns_counts() -> None:
    messages = [{"role": "user", "content": "hi"}]
    mended = isolate(_shout, framework=TOY, at="before_model")
    assert inspect.iscoroutinefunction(mended)
    assert asyncio.run(mended(messages)) == [{"role": "user", "content": "!"}]
    assert messages == [{"role": "user", "content": "hi"}]


def test_an_async_handler_is_waited_for_and_its_answer_is_a_copy() -> None:
    answer = {"role": "assistant", "content": "hi"}

    async def handler(_: Any) -> Any:
        return answer

    mended = isolate(_pass_on, framework=TOY, at="around")
    assert asyncio.run(mended([], handler)) == {"role": "assistant", "content": "!"}
    assert answer["content"] == "hi"


class _Frozen:
    def __init_subclass__(cls) -> None:
        raise TypeError("no subclasses")

    def __init__(self) -> None:
        self.text = "hi"


class _Open:
    def __init__(self) -> None:
        self.text = "hi"


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (_Open, "a hook writes to a _Open that it was given"),
        # A class that allows no subclass is compared when the hook returns.
        (_Frozen, r"messages\[0\]\.text was changed, 'hi' -> '!'; return new objects instead"),
    ],
)
def test_strict_refuses_a_write_to_an_object_at_once_or_when_the_hook_returns(kind: Any, says: str) -> None:
    def write(messages: Any) -> None:
        messages[0].text = "!"

    message = kind()
    with pytest.raises(ImmutableArgumentError, match=says):
        strict(write, framework=TOY, at="before_model")([message])
    assert message.text == "hi"


def test_what_the_hook_copies_of_a_refusing_object_may_be_written() -> None:
    def write(messages: Any) -> Any:
        made = copy.copy(messages[0])
        made["content"] = "!"
        return [made]

    mended = strict(write, framework=TOY, at="before_model")
    assert mended([{"role": "user", "content": "hi"}]) == [{"role": "user", "content": "!"}]


# ---------------------------------------------------------------- checks in this process


def test_a_check_of_recorded_conversations_runs_just_these_and_says_what_it_found() -> None:
    def shouts(messages: Any) -> None:
        toy_hooks.pollutes(messages)

    with pytest.raises(LiveFaultError, match="shouts writes messages") as caught:
        check_live_hook(shouts, framework=TOY, at="before_model", conversations=[conversation(4)])
    report = caught.value.report
    assert report["conversations"]["run"] == 1
    assert report["findings"][0]["counts"]["text"] == "1 of 1"
