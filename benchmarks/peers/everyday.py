"""What every peer in Python is asked: one case of one size, in a process of its own, as one line of JSON.

Imports the standard library only, so that it runs in the environment of every peer.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any, Final, Protocol

IMAGE: Final = 1_000_000
"""Bytes of the image that the first message of a run has, in the case `large`."""
FOUND: Final = 100_000
"""Characters that the tool answers there."""
STEPS: Final = 3
"""Steps of each of the runs that are made at once."""


@dataclass(frozen=True)
class Result:
    """What a case did: `count` is what it is judged by, `size` a number of bytes, where there is one."""

    count: int
    size: int = 0


Work = Callable[[], Awaitable[Result]]


class UnsupportedError(Exception):
    """The library has no means for what is asked."""


class Everyday(Protocol):
    """A library. What has to be there before the clock starts is made by the method, not by what it gives.

    What it has no means for raises UnsupportedError.
    """

    def run(self, steps: int, found: int, image: int) -> Work:
        """A run of so many steps, each but the last with a call; counts the messages that it ends with."""

    def stream(self, chunks: int) -> Work:
        """A streamed answer of so many chunks; counts those that the caller got."""

    async def save(self, steps: int) -> Work:
        """Saving a finished run of so many steps as JSON; its bytes, and the messages in it."""

    async def load(self, steps: int) -> Work:
        """Loading that, as values that a run can go on from; counts its messages."""

    def checkpoints(self, steps: int) -> Work:
        """A run that keeps every step where another process finds it; the bytes kept."""


async def _together(peer: Everyday, runs: int) -> Work:
    begun = [peer.run(STEPS, 10, 0) for _ in range(runs)]

    async def work() -> Result:
        done = await asyncio.gather(*(each() for each in begun))
        return Result(sum(each.count for each in done))

    return work


async def _made(peer: Everyday, case: str, size: int) -> Work:
    match case:
        case "large":
            return peer.run(size, FOUND, IMAGE)
        case "at once":
            return await _together(peer, size)
        case "chunks":
            return peer.stream(size)
        case "save":
            return await peer.save(size)
        case "load":
            return await peer.load(size)
        case _:
            return peer.checkpoints(size)


async def measured(peer: Everyday, case: str, size: int) -> dict[str, Any]:
    """The seconds of one case, and what it did; or what the peer has no means for."""
    try:
        # What is imported and cached at the first time is no case's.
        for _ in range(3):
            await (await _made(peer, case, 3))()
        work = await _made(peer, case, size)
    except UnsupportedError as error:
        return {"unsupported": str(error)}
    gc.collect()
    begun = perf_counter()
    result = await work()
    return {"seconds": perf_counter() - begun, **asdict(result)}


def serve(peer: Everyday) -> None:
    """Measures the case and the size that the command line names."""
    case, size = sys.argv[1:]
    answer = asyncio.run(measured(peer, case, int(size)))
    sys.stdout.write(json.dumps(answer) + "\n")
