"""A program that appends turns to a store, and may kill itself at a point of the work: for test_store_kills.

Argument: the URL of the database. Each line of its input has the first number of a turn, how many there are,
and the point at which the writer kills itself, counted from the first append on: at the beginning of the
transaction, before and after each statement, before the commit and after it; 0: at none. A fork of this
process writes. Prints the fork's process id, the id of each turn once its append has returned, and how the
fork ended.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import anyio
import sqlalchemy as sa

from agentcore.conversations.conversation import KeptMessages, Piece, Turn, TurnMessage
from agentcore.conversations.sql import SqlStore
from agentcore.messages.messages import AssistantMessage, UserMessage


def turn_number(number: int) -> Turn:
    """The turn of that number; a third of them compact the context."""
    name = f"t{number}"
    messages = [
        TurnMessage(id=f"{name}-0", turn=name, message=UserMessage("q" * 300)),
        TurnMessage(id=f"{name}-1", turn=name, message=AssistantMessage("a"), given_by="run", step=0),
    ]
    summary = TurnMessage(id=f"{name}-2", turn=name, message=UserMessage("s"), given_by="hook", hook="h")
    context: list[Piece] | None = [summary, KeptMessages(0, 1)] if number % 3 == 2 else None
    parent = f"t{number - 1}" if number else None
    return Turn(id=name, parent=parent, messages=messages, context=context)


class Killer:
    """Kills this process at a point."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.reached = 0

    def point(self, *_: object, **__: object) -> None:
        """Go past one more point."""
        self.reached += 1
        if self.reached == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, engine: sa.Engine) -> None:
        """Have the engine go past points."""
        for name in ("begin", "before_cursor_execute", "after_cursor_execute", "commit"):
            sa.event.listen(engine, name, self.point)
        dialect: Any = engine.dialect
        commit = dialect.do_commit

        def committed(connection: object) -> None:
            commit(connection)
            self.point()

        dialect.do_commit = committed


async def write(url: str, first: int, count: int, kill_at: int) -> None:
    """Append the turns."""
    async with SqlStore(url) as store:
        await store.load("a")
        killer = Killer(kill_at)
        killer.watch(store._engine)
        for number in range(first, first + count):
            turn = turn_number(number)
            await store.append("a", turn.parent, turn)
            print(turn.id, flush=True)  # noqa: T201 - for the test


def main(url: str) -> None:
    """Have a fork write for each line of the input."""
    for line in sys.stdin:
        first, count, kill_at = map(int, line.split())
        child = os.fork()
        if child == 0:
            anyio.run(write, url, first, count, kill_at)
            os._exit(0)
        print("began", child, flush=True)  # noqa: T201 - for the test
        _, status = os.waitpid(child, 0)
        print("ended", os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - as above


if __name__ == "__main__":
    main(sys.argv[1])
