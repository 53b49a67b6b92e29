"""What a hook leaves running goes on while the model is called, whatever time it says that it takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread, Timer
from typing import Any, Final

import pytest

from agentcore.live.adapter import AdapterBase, Boundary, Entry
from agentcore.live.conversations import conversation
from agentcore.live.judge import Judge, Shown
from agentcore.live.loading import ValueSource
from agentcore.live.session import Reply, calls_in, mapped


class _Waiting(AdapterBase):
    """A loop in an event loop, which calls its hook before each model call."""

    name = "waiting"
    awaits = True
    boundaries: Mapping[str, Boundary] = {"before_model": Boundary(("messages",))}

    def user(self, parts: Any) -> Any:
        return {"role": "user", "content": mapped(parts, text=dict)}

    def answer(self, parts: Any) -> Any:
        return {"role": "assistant", "content": mapped(parts, text=dict), "calls": calls_in(parts)}

    def result(self, call: Any) -> Any:
        return {"role": "tool", "content": call["id"]}

    def entry(self, message: Any) -> Entry:
        return Entry(message["role"], str(message["content"]))

    def begin(self, session: Any, hook: Any, at: str, path: str) -> Any:
        del at, path  # there is one of each

        async def turn(messages: Any) -> Reply:
            while True:
                called = None if hook is None else hook.call(messages)
                if called is not None:
                    await called
                answer = self.answer(session.answer(messages))
                messages = [*messages, answer, *map(self.result, answer["calls"])]
                if not answer["calls"]:
                    return Reply(messages)

        return turn


def _write(messages: Any) -> None:
    messages[0]["note"] = "late"


async def sleeps(messages: Any) -> None:
    async def later() -> None:
        await asyncio.sleep(30)
        _write(messages)

    _left.append(asyncio.ensure_future(later()))


async def calls_an_executor(messages: Any) -> None:
    def later() -> None:
        time.sleep(30)
        _write(messages)

    asyncio.get_running_loop().run_in_executor(None, later)


def sets_a_timer(messages: Any) -> None:
    Timer(30, _write, [messages]).start()


def starts_a_thread(messages: Any) -> None:
    def later() -> None:
        time.sleep(30)
        _write(messages)

    Thread(target=later).start()


async def only_reads(messages: Any) -> None:
    async def later() -> None:
        await asyncio.sleep(30)
        _left.append(len(messages))

    _left.append(asyncio.ensure_future(later()))


async def never_ends(messages: Any) -> None:
    async def later() -> None:
        await asyncio.Event().wait()

    _left.append((len(messages), asyncio.ensure_future(later())))


async def waits_for_its_threads(messages: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(len, messages).result()


_left: Final[list[Any]] = []


def shown(hook: Callable[..., Any]) -> list[Shown]:
    judge = Judge(_Waiting(), ValueSource(lambda: hook, (), (), Path.cwd(), "hook"), "before_model")
    outcomes = [judge.judge(conversation(seed), "generate", seed) for seed in range(3)]
    assert all(each.judged for each in outcomes)
    return [each for outcome in outcomes for each in outcome.shown]


@pytest.mark.parametrize("hook", [sleeps, calls_an_executor, sets_a_timer, starts_a_thread])
def test_a_write_long_after_the_return_is_found_at_once_and_seen_by_later_prompts(hook: Any) -> None:
    began = time.monotonic()
    found = shown(hook)
    assert {each.kind for each in found} == {"write"}
    assert len(found) == 3
    assert "later-prompts" in {holder for each in found for holder in each.seen}
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("hook", [only_reads, never_ends, waits_for_its_threads])
def test_what_goes_on_and_writes_nothing_is_silent(hook: Any) -> None:
    assert shown(hook) == []


def test_threads_timers_and_sleeps_are_python_s_own_after_a_check() -> None:
    before = Thread.start, ThreadPoolExecutor.submit, time.sleep
    shown(starts_a_thread)
    assert (Thread.start, ThreadPoolExecutor.submit, time.sleep) == before
