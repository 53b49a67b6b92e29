"""What stores are measured with, each in a process of its own: a long conversation, and many at once.

Imports nothing but psycopg, so that it runs in the environment of every peer.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Awaitable
from typing import Any, Final, NamedTuple, Protocol

import psycopg

# Turns of one conversation after which its figures are taken, over so many of the last ones.
MARKS: Final = (10, 100, 1000)
_LAST: Final = 10
# At once: so many conversations, of so many turns each, through so many connections.
CONVERSATIONS: Final = 200
TURNS: Final = 10
CONNECTIONS: Final = 8
_WORDS: Final = ("sun", "rain", "wind", "warm", "cold", "north", "south", "shirt", "Rome", "Oslo", "Lima")


class Texts(NamedTuple):
    """What is said in a turn: a question, what a tool answered, and an answer; some 1,000 characters."""

    question: str
    found: str
    answer: str


class Keeper(Protocol):
    """A store, opened on an empty database."""

    async def open(self, url: str) -> None:
        """Connect, and make the tables."""

    async def append(self, conversation: str, texts: Texts) -> None:
        """Keep one turn: a user message, a call of a tool, its result, and an answer."""

    async def load(self, conversation: str) -> list[str]:
        """The texts of its messages in order, empty for a call of a tool."""

    async def close(self) -> None:
        """Close the connections."""


def texts_of(conversation: str, turn: int) -> Texts:
    """The texts of that turn; no two turns have the same, so that nothing is gained by compressing them."""
    drawn = random.Random(f"{conversation}/{turn}")  # noqa: S311 - nothing secret

    def words(count: int) -> str:
        return " ".join(f"{drawn.choice(_WORDS)}{drawn.randrange(1000)}" for _ in range(count))

    return Texts(*(f"{conversation}/{turn} {words(count)}" for count in (25, 55, 55)))


class _Log:
    """What the server has written to its log, in bytes."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    def position(self) -> int:
        return self._one("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")

    def size(self) -> int:
        return self._one("SELECT pg_database_size(current_database())")

    def _one(self, query: str) -> int:
        row = self._connection.execute(query.encode()).fetchone()
        return int(row[0]) if row else 0


async def _long(keeper: Keeper, log: _Log) -> list[dict[str, float]]:
    """What a turn costs in a conversation that grows."""
    figures: list[dict[str, float]] = []
    seconds: list[float] = []
    positions: list[int] = []
    for turn in range(MARKS[-1]):
        texts = texts_of("long", turn)
        positions.append(log.position())
        seconds.append(await _timed(keeper.append("long", texts)))
        if turn + 1 in MARKS:
            written = (log.position() - positions[-_LAST]) / _LAST
            loaded = statistics.median([await _timed(keeper.load("long")) for _ in range(3)])
            figures.append(
                {
                    "turns": turn + 1,
                    "written": written,
                    "milliseconds": statistics.median(seconds[-_LAST:]) * 1e3,
                    "load_milliseconds": loaded * 1e3,
                    "database": log.size(),
                }
            )
    return figures


async def _timed(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def _many(keeper: Keeper) -> dict[str, float]:
    """What a turn costs while many conversations are kept at once, and what is lost or doubled."""
    names = [f"chat-{number}" for number in range(CONVERSATIONS)]
    seconds: list[float] = []

    async def talk(name: str) -> None:
        for turn in range(TURNS):
            texts = texts_of(name, turn)
            # As a service does: read what has been said, then keep what is new.
            began = time.perf_counter()
            await keeper.load(name)
            await keeper.append(name, texts)
            seconds.append(time.perf_counter() - began)

    used = resource.getrusage(resource.RUSAGE_SELF)
    began = time.perf_counter()
    await asyncio.gather(*map(talk, names))
    took = time.perf_counter() - began
    spent = resource.getrusage(resource.RUSAGE_SELF)
    wrong = 0
    for name in names:
        expected: list[str] = []
        for turn in range(TURNS):
            question, found, answer = texts_of(name, turn)
            expected += [question, "", found, answer]
        wrong += await keeper.load(name) != expected
    cuts = statistics.quantiles(seconds, n=100)
    return {
        "conversations": CONVERSATIONS,
        "turns": len(seconds),
        "turns_a_second": len(seconds) / took,
        "median_milliseconds": cuts[49] * 1e3,
        "p99_milliseconds": cuts[98] * 1e3,
        "processor_milliseconds": (spent.ru_utime + spent.ru_stime - used.ru_utime - used.ru_stime)
        / len(seconds)
        * 1e3,
        "wrong_conversations": wrong,
    }


async def _measured(keeper: Keeper, url: str) -> dict[str, Any]:
    await keeper.open(url)
    try:
        log = _Log(url)
        # The first turn pays for what is imported and prepared once.
        await keeper.append("first", texts_of("first", 0))
        return {"long": await _long(keeper, log), "many": await _many(keeper)}
    finally:
        await keeper.close()


def serve(keeper: Keeper) -> None:
    """Measure the store on the database whose URL is the argument, and print the figures as JSON."""
    print(json.dumps(asyncio.run(_measured(keeper, sys.argv[1]))))  # noqa: T201 - what it is for
