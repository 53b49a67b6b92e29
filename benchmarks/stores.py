"""Bytes and time that a turn costs in a store, after 10, 100 and 1,000 turns: `python -m benchmarks.stores`.

A turn is a prompt, a call of a tool with its result, and an answer, of some 1,500 bytes as JSON. Bytes are
those that the database writes: SQLite's write-ahead log, PostgreSQL's (`pg_current_wal_insert_lsn`). An
append writes whole pages, so bytes are averages over the last turns before each mark.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio
import sqlalchemy as sa

from agentcore.conversations.conversation import Turn, TurnMessage, new_id
from agentcore.conversations.sql import SqlStore
from agentcore.messages.messages import (
    AssistantMessage,
    Message,
    TextOutput,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)

MARKS: Final = (10, 100, 1000)
_LAST: Final = 10


def turn_after(parent: str | None) -> Turn:
    """A turn of usual size."""
    messages: list[Message] = [
        UserMessage("What is the weather in Rome, and what should I wear? " * 4),
        AssistantMessage([ToolCallPart("c", "weather", input={"city": "Rome", "days": [1, 2, 3]})]),
        ToolMessage(
            [
                ToolResultPart(
                    "c", "weather", output=TextOutput("sunny, 21 degrees, wind from the west. " * 10)
                )
            ]
        ),
        AssistantMessage([TextPart("It is sunny and warm; a shirt will do. " * 10)]),
    ]
    name = new_id()
    return Turn(
        id=name,
        parent=parent,
        messages=[
            TurnMessage(
                id=f"{name}-{n}",
                turn=name,
                message=message,
                given_by="run" if n else "caller",
                step=n // 3 if n else None,
            )
            for n, message in enumerate(messages)
        ],
    )


class Figures(NamedTuple):
    """What a turn costs after so many."""

    turns: int
    written: float
    milliseconds: float
    processor_milliseconds: float
    load_milliseconds: float


async def measured(store: SqlStore, written: Callable[[], int]) -> list[Figures]:
    """The figures of a store at each mark."""
    figures, head = [], None
    seconds: list[float] = []
    busy: list[float] = []
    positions: list[int] = []
    for number in range(1, MARKS[-1] + 1):
        turn = turn_after(head)
        positions.append(written())
        began, used = time.perf_counter(), time.process_time()
        await store.append("a", head, turn)
        seconds.append(time.perf_counter() - began)
        busy.append(time.process_time() - used)
        head = turn.id
        if number in MARKS:
            began = time.perf_counter()
            await store.load("a")
            loading = time.perf_counter() - began
            figures.append(
                Figures(
                    number,
                    (written() - positions[-_LAST]) / _LAST,
                    statistics.median(seconds[-_LAST:]) * 1e3,
                    statistics.median(busy[-_LAST:]) * 1e3,
                    loading * 1e3,
                )
            )
    return figures


@contextmanager
def sqlite_database() -> Iterator[tuple[str, Callable[[], int]]]:
    """A new file, and what its write-ahead log has come to."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "a.db-wal"
        yield f"sqlite:///{folder}/a.db", lambda: log.stat().st_size if log.exists() else 0


def postgres_written(url: str) -> Callable[[], int]:
    """What the server has written to its log."""
    engine = sa.create_engine(
        url.replace("postgresql:", "postgresql+psycopg:", 1), isolation_level="AUTOCOMMIT"
    )

    def written() -> int:
        with engine.connect() as connection:
            query = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
            return int(connection.exec_driver_sql(query).scalar_one())

    return written


async def run(url: str, written: Callable[[], int], *, is_sqlite: bool) -> list[Figures]:
    """The figures of a new database at that URL."""
    async with SqlStore(url) as store:
        await store.migrate()
        if is_sqlite:
            # So that the log only grows.
            engine = store._engine  # noqa: SLF001 - nobody else needs it
            sa.event.listen(engine, "connect", _keep_log)
            await store.aclose()
        return await measured(store, written)


def _keep_log(connection: Any, _: object) -> None:
    connection.execute("PRAGMA wal_autocheckpoint = 0")


def main() -> None:
    """Print the figures of SQLite and, if there is a URL of an empty database, of PostgreSQL."""
    with sqlite_database() as (url, written):
        _print("SQLite", anyio.run(partial(run, url, written, is_sqlite=True)))
    for url in sys.argv[1:]:
        _print("PostgreSQL", anyio.run(partial(run, url, postgres_written(url), is_sqlite=False)))


def _print(name: str, figures: list[Figures]) -> None:
    for one in figures:
        print(  # noqa: T201 - what the command is for
            f"{name:11} {one.turns:5} turns: {one.written:8.0f} bytes, {one.milliseconds:6.1f} ms, "
            f"{one.processor_milliseconds:5.1f} ms of the processor a turn; "
            f"loaded in {one.load_milliseconds:7.1f} ms"
        )


if __name__ == "__main__":
    main()
