"""`isolate` makes every polluting hook pass, and `strict` raises at the line that writes."""

from __future__ import annotations

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
