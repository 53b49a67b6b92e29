"""A process that is killed leaves the conversation as it was before its append, or as it is after it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

import anyio
import anyio.from_thread
import pytest

from agentcore.conversations.conversation import Conversation
from agentcore.conversations.sql import SqlStore
from conversations import writer
from conversations.postgres import Server

_SECONDS: Final = 120


class Writers:
    """Writers of one database, each a process of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        root = Path(writer.__file__).parent.parent
        env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root), str(root.parent)))}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "conversations.writer", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=_SECONDS)

    def start(self, first: int, count: int, kill_at: int = 0) -> int:
        """Begin to write, and return the process id of the writer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{first} {count} {kill_at}\n")
        self._process.stdin.flush()
        word, child = self.line().split()
        assert word == "began"
        return int(child)

    def line(self) -> str:
        """The next line that is printed."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def end(self) -> tuple[int, list[str]]:
        """The code that the writer ended with, and the turns that it has reported since."""
        said: list[str] = []
        while not (line := self.line()).startswith("ended"):
            said.append(line)
        return int(line.split()[1]), said


@pytest.fixture
def writers(url: str) -> Iterator[Writers]:
    anyio.run(appended, url, 0)
    with Writers(url) as one:
        yield one


def whole(count: int) -> Conversation:
    conversation = Conversation()
    for number in range(count):
        conversation = conversation.with_turn(writer.turn_number(number))
    return conversation


async def stored(url: str) -> Conversation:
    async with SqlStore(url) as store:
        return await store.load("a")


async def appended(url: str, number: int) -> Conversation:
    """The conversation after the turn of that number was appended, perhaps again."""
    async with SqlStore(url) as store:
        turn = writer.turn_number(number)
        await store.append("a", turn.parent, turn)
        return await store.load("a")


def killed_at(writers: Writers, first: int, point: int) -> int | None:
    """Append one turn in a process that kills itself at a point, and check what there is then.

    Returns how many turns there are; None if the process never came to that point.
    """
    writers.start(first, 1, point)
    code, said = writers.end()
    if code == 0:
        return None
    assert code == -signal.SIGKILL
    now = anyio.run(stored, writers.url)
    assert now in (whole(first), whole(first + 1))
    if said:  # what was reported as stored is stored
        assert now == whole(first + 1)
    return len(now.turns)


@pytest.mark.slow
def test_a_writer_that_is_killed_at_each_point_leaves_a_whole_turn_or_none(writers: Writers) -> None:
    seen: set[int] = set()
    first, point = 1, 0
    while True:
        point += 1
        count = killed_at(writers, first, point)
        if count is None:
            break
        seen.add(count - first)
        # The same turn again: stored once, whether it was there or not.
        assert anyio.run(appended, writers.url, first) == whole(first + 1)
        first += 1
    assert point > 14, "statements, the beginning and the end of a transaction"
    assert seen == {0, 1}, "killed before the commit, and after it"
    assert anyio.run(stored, writers.url) == whole(first + 1)


@pytest.mark.slow
def test_a_writer_that_is_killed_at_any_time_leaves_what_it_reported(writers: Writers) -> None:
    draws = random.Random(7)  # noqa: S311 - when to kill
    first = 1
    for _ in range(10):
        child = writers.start(first, 1000)
        said = [writers.line()]
        time.sleep(draws.random() * 0.1)
        os.kill(child, signal.SIGKILL)
        code, rest = writers.end()
        assert code == -signal.SIGKILL
        said += rest
        now = anyio.run(stored, writers.url)
        count = len(now.turns)
        assert now == whole(count)
        assert said == [f"t{number}" for number in range(first, first + len(said))]
        assert first + len(said) <= count <= first + len(said) + 1
        first = count
    assert anyio.run(appended, writers.url, first) == whole(first + 1)


@pytest.mark.slow
@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_server_that_is_killed_leaves_what_a_writer_reported(writers: Writers, server: Server) -> None:
    writers.start(1, 1000)
    said = [writers.line() for _ in range(3)]
    server.kill()
    code, rest = writers.end()
    assert code == 1, "the writer was told"
    said += rest
    server.start()
    now = anyio.run(stored, writers.url)
    assert now == whole(len(now.turns))
    assert len(said) + 1 <= len(now.turns) <= len(said) + 2
    assert anyio.run(appended, writers.url, len(now.turns)) == whole(len(now.turns) + 1)


@pytest.mark.slow
def test_a_writer_that_is_killed_holds_up_nobody(writers: Writers) -> None:
    """It is killed with the conversation's row held, which the database gives up with the process."""
    writers.start(1, 1, 6)
    assert writers.end()[0] == -signal.SIGKILL
    with anyio.from_thread.start_blocking_portal() as portal:
        assert portal.start_task_soon(appended, writers.url, 1).result(timeout=20) == whole(2)
