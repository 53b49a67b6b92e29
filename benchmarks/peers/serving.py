"""What every peer in Python shares: requests in, measurements out, one JSON object per line.

A request names what to measure and the run: `{"id": ..., "measure": "time", "history": 100, "steps": 10,
"override": false, "keep": false, "handler": false, "variant": "", "runs": 5, "limit": 5}`. The answer has the
same `id` and, by `measure`:

- `time`: for each of the `runs`, `seconds` of the whole run and `between`, those from its first model call
  to its last;
- `memory`: `bytes` that stay allocated after one run, by tracemalloc, as long as its result is held;
- `forks`: `seconds` of as many `forks` of one run at its middle;
- `fork memory`: `bytes` that they keep allocated;

and the `check`, which says what the run did. What a loop has no means for is `unsupported`, and a run that
raised has `failed`; both are texts. A run that takes longer than `limit` seconds is ended at its next model
call and is `over` it; so are forks that take longer.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tracemalloc
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields
from math import inf
from time import perf_counter
from typing import Any, NamedTuple, Protocol, TypeVar

_T = TypeVar("_T")

MESSAGE_LENGTH = 500
RESULT_LENGTH = 450
GO = "go"
DONE = "done"
REMINDER = "remember"
TOOL = "look"
TOOL_DOES = "Look something up."


class UnsupportedError(Exception):
    """The loop has no means for what is asked."""


class OverLimitError(Exception):
    """The run takes longer than it may."""


@dataclass
class Watch:
    """Ends a run that takes too long, by raising where it calls its model or is forked."""

    limit: float
    over: bool = False
    begun: float = 0.0

    def start(self) -> None:
        """A run begins."""
        self.begun = perf_counter()

    def look(self, now: float) -> None:
        """Raises OverLimitError if the run takes too long; whatever its loop makes of that, `over` stays."""
        if now - self.begun > self.limit:
            self.over = True
            raise OverLimitError(f"over {self.limit:g} s")


@dataclass(frozen=True)
class Task:
    """The run that is asked for.

    `keep` wants every step's state kept, by the loop's own means; `handler` a handler around each model call
    that passes on what it is given.
    """

    history: int
    steps: int
    override: bool = False
    keep: bool = False
    handler: bool = False
    variant: str = ""
    watch: Watch = field(default_factory=lambda: Watch(inf))

    def messages(self) -> list[tuple[str, str]]:
        """Roles and texts of what the run begins with: the history, by turns, and what is asked last."""
        roles = ("user", "assistant")
        texts = (f"message {index} ".ljust(MESSAGE_LENGTH, "x") for index in range(self.history))
        return [*((roles[index % 2], text) for index, text in enumerate(texts)), ("user", GO)]


@dataclass
class Script:
    """What the model and the tool say, to every loop the same; each step but the last calls the tool once."""

    task: Task
    calls: int = 0
    looks: int = 0
    prompt: int = 0
    first: float = 0.0
    last: float = 0.0

    def __post_init__(self) -> None:
        self.task.watch.start()

    def call(self, prompt: int) -> int | None:
        """The model is called with so many messages: the number to look up, None to say that it is done."""
        self.last = perf_counter()
        if self.calls == 0:
            self.first = self.last
        self.task.watch.look(self.last)
        self.calls += 1
        self.prompt = prompt
        return self.calls if self.calls < self.task.steps else None

    def look(self, number: int) -> str:
        """The tool is called."""
        self.looks += 1
        return f"found {number} ".ljust(RESULT_LENGTH, "x")

    def check(self, text: str) -> dict[str, Any]:
        """What the run did, given the text that it ended with."""
        return {"calls": self.calls, "looks": self.looks, "prompt": self.prompt, "text": text}


class Outcome(NamedTuple):
    """What a run ended with, and what its caller has of it."""

    text: str
    kept: object = None


Run = Callable[[], Awaitable[Outcome]]


class Forks(NamedTuple):
    """A way to fork a run at its middle with one more message, and how many messages a fork goes on from."""

    fork: Callable[[int], object]
    length: Callable[[Any], int]


class Peer(Protocol):
    """A loop: everything that happens before the clock starts is in `prepared`."""

    def prepared(self, task: Task, script: Script) -> Run:
        """The run of a new agent. Raises UnsupportedError."""
        ...

    async def forks(self, task: Task, script: Script) -> Forks:
        """A run that was run, to be forked. Raises UnsupportedError."""
        ...


def serve(peer: Peer) -> None:
    """Answer requests until there are no more; what packages print goes to standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr

    async def filter_lines() -> None:
        for line in sys.stdin.buffer:
            request = json.loads(line)
            answers.write(json.dumps({"id": request["id"], **await answered(peer, request)}) + "\n")
            answers.flush()

    asyncio.run(filter_lines())


async def answered(peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request, without its `id`."""
    given = {each.name: request[each.name] for each in fields(Task) if each.name in request}
    task = Task(**given, watch=Watch(request["limit"]))
    try:
        answer = await _measured(peer, task, request)
    except UnsupportedError as error:
        return {"unsupported": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever a loop raises is its answer
        answer = {"failed": f"{type(error).__name__}: {error}"[:500]}
    return {"over": task.watch.limit} if task.watch.over else answer


async def _measured(peer: Peer, task: Task, request: dict[str, Any]) -> dict[str, Any]:
    match request["measure"]:
        case "time":
            return await _times(peer, task, request["runs"])
        case "memory":
            return await _memory(peer, task)
        case "forks":
            return await _fork_times(peer, task, request["forks"])
        case _:
            return await _fork_memory(peer, task, request["forks"])


# ---------------------------------------------------------------- times


@dataclass
class _Times:
    seconds: list[float] = field(default_factory=list)
    between: list[float] = field(default_factory=list)


async def _times(peer: Peer, task: Task, runs: int) -> dict[str, Any]:
    times = _Times()
    checks = [await _time(peer, task, times) for _ in range(runs)]
    return {"seconds": times.seconds, "between": times.between, "check": _same(checks)}


async def _time(peer: Peer, task: Task, times: _Times) -> dict[str, Any]:
    script = Script(task)
    run = peer.prepared(task, script)
    # What runs before it left behind is not its to clear away; what it makes itself is.
    gc.collect()
    begun = perf_counter()
    outcome = await run()
    times.seconds.append(perf_counter() - begun)
    times.between.append(script.last - script.first)
    return script.check(outcome.text)


def _same(checks: list[dict[str, Any]]) -> dict[str, Any]:
    first, *others = checks
    for other in others:
        if other != first:
            raise ValueError(f"one run did {first}, another {other}")
    return first


# ---------------------------------------------------------------- memory


async def _memory(peer: Peer, task: Task) -> dict[str, Any]:
    await _settled(peer, task)
    script = Script(task)
    run = peer.prepared(task, script)
    outcome, size = await _allocated(run)
    return {"bytes": size, "check": script.check(outcome.text)}


async def _settled(peer: Peer, task: Task) -> None:
    # What is imported and cached at the first run is no run's.
    small = Task(history=2, steps=3, override=task.override, keep=task.keep, variant=task.variant)
    await peer.prepared(small, Script(small))()


async def _allocated(make: Callable[[], Awaitable[_T]]) -> tuple[_T, int]:
    gc.collect()
    tracemalloc.start()
    try:
        made = await make()
        gc.collect()
        return made, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


# ---------------------------------------------------------------- forks


async def _fork_times(peer: Peer, task: Task, count: int) -> dict[str, Any]:
    script = Script(task)
    forks = await peer.forks(task, script)
    forks.fork(0)
    gc.collect()
    begun = perf_counter()
    made = _forked(forks, task.watch, count)
    seconds = perf_counter() - begun
    return {"seconds": [seconds], "check": _fork_check(script, forks, made)}


async def _fork_memory(peer: Peer, task: Task, count: int) -> dict[str, Any]:
    script = Script(task)
    forks = await peer.forks(task, script)
    forks.fork(0)

    async def all_of_them() -> list[object]:
        return _forked(forks, task.watch, count)

    made, size = await _allocated(all_of_them)
    return {"bytes": size, "check": _fork_check(script, forks, made)}


def _forked(forks: Forks, watch: Watch, count: int) -> list[object]:
    watch.start()
    made = []
    for number in range(count):
        watch.look(perf_counter())
        made.append(forks.fork(number))
    return made


def _fork_check(script: Script, forks: Forks, made: list[object]) -> dict[str, Any]:
    return {**script.check(DONE), "forked": sorted({forks.length(fork) for fork in made})}
