"""Turns of JavaScript's job queue, which decide in what order tools that run at once get on.

What the loop does is written as generators. They yield the events that it streams and, where a function of
the package would await something, a turn. As long as nothing else is on its way, turns go by unseen; while
tools race each other, each of them and the loop itself take them by turns.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator
from enum import Enum
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from agentcore.heap.heap import Ref

T = TypeVar("T")


class Turn(Enum):
    """A turn of the job queue: awaiting a value that is there lets all others that are ready go first."""

    TURN = "turn"


TURN: Final = Turn.TURN


@attrs.frozen
class Wait:
    """A tool waits so many moments, however many turns pass meanwhile."""

    moments: int


@attrs.frozen
class Event:
    """An event of the loop on its way to the caller; `of` has its fields if hooks get it."""

    name: str
    of: Ref


class Closed(BaseException):
    """The generator is left where it stands: a hook threw at an event that came from it."""


@attrs.frozen
class Step:
    """The place where a generator stopped: an event, its end, an error, a turn, or a wait of moments."""

    event: Event | None = None
    value: Any = None
    error: Exception | None = None
    waits: bool = False
    moments: int = 0


def advanced(steps: Steps[Any]) -> Step:
    """Resumes a generator once, and returns where it stops next."""
    try:
        item = next(steps)
    except StopIteration as end:
        return Step(value=end.value)
    except Exception as error:  # noqa: BLE001 - whoever takes the step raises it
        return Step(error=error)
    moments = item.moments if isinstance(item, Wait) else 0
    return Step(event=item if isinstance(item, Event) else None, waits=item is TURN, moments=moments)


class Promise:
    """Comes to a value some time; whoever waits for it goes on a turn later."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._waiting: list[Callable[[], None]] = []
        self.settled = False
        self.value: Any = None

    def settle(self, value: Any) -> None:
        """Comes to a value, the first time that it is called."""
        if not self.settled:
            self.settled, self.value = True, value
            self._jobs.queue.extend(self._waiting)
            self._waiting.clear()

    def then(self, job: Callable[[], None]) -> None:
        """Has a job run when there is a value."""
        (self._jobs.queue if self.settled else self._waiting).append(job)

    def mapped(self, change: Callable[[Any], Any]) -> Promise:
        """A promise that comes to what is made of this one's value."""
        promise = Promise(self._jobs)
        self.then(lambda: promise.settle(change(self.value)))
        return promise

    @classmethod
    def first(cls, jobs: Jobs, promises: list[Promise]) -> Promise:
        """A promise that comes to the value of the first of these."""
        race = cls(jobs)
        for promise in promises:
            promise.then(partial(_pass_on, promise, race))
        return race


def _pass_on(promise: Promise, race: Promise) -> None:
    race.settle(promise.value)


Item: TypeAlias = Event | Turn | Wait | Promise
Steps: TypeAlias = Generator[Item, None, T]


class Clock:
    """A virtual clock: moments pass when nothing else can go on."""

    def __init__(self) -> None:
        self._now = 0
        self._count = 0
        self._waiting: list[tuple[int, int, Any]] = []

    def wait(self, moments: int, waiting: Any) -> None:
        """Has something wait. What waits equally long goes on in the order in which it began to."""
        self._count += 1
        heapq.heappush(self._waiting, (self._now + moments, self._count, waiting))

    def next(self) -> Any:
        """Returns the next waiter to resume, alone; None if nothing waits."""
        if not self._waiting:
            return None
        self._now, _, waiting = heapq.heappop(self._waiting)
        return waiting


class Jobs:
    """The job queue. Turns are `counted` only where there is a race that they can decide."""

    def __init__(self, *, counted: bool) -> None:
        self.queue: deque[Callable[[], None]] = deque()
        self.counted = counted
        self.clock = Clock()

    def run(self, main: Steps[T]) -> T:
        """Runs the loop to its end, with whatever it has started; raises what it raises."""
        ended: list[T] = []

        def resume() -> None:
            while True:
                try:
                    item = next(main)
                except StopIteration as end:
                    ended.append(end.value)
                    return
                if isinstance(item, Promise):
                    item.then(resume)
                    return
                if isinstance(item, Wait):
                    self.clock.wait(item.moments, resume)
                    return
                if self.queue:
                    self.queue.append(resume)
                    return

        self.queue.clear()
        resume()
        while not ended:
            (self.queue.popleft() if self.queue else self.clock.next())()
        return ended[0]

    def pause(self, turns: int = 1) -> Steps[None]:
        """Lets so many turns pass."""
        if self.counted:
            for _ in range(turns):
                yield TURN

    def passing(self, inner: Steps[T], layers: int = 1) -> Steps[T]:
        """Passes on what a generator yields and returns, each through so many enclosing functions."""
        if not self.counted:
            return (yield from inner)

        def let(item: Item) -> Steps[bool]:
            yield from self.pause(layers if isinstance(item, Event) else 0)
            return True

        try:
            value = yield from relayed(inner, let=let)
        except Exception:
            yield from self.pause(layers)
            raise
        yield from self.pause(layers)
        return value


def _nothing() -> None:
    pass


def relayed(
    inner: Steps[T],
    *,
    resumed: Callable[[], None] = _nothing,
    came: Callable[[], None] = _nothing,
    let: Callable[[Item], Steps[bool]] | None = None,
) -> Steps[T]:
    """Passes on what a generator yields and returns.

    `resumed` is called whenever the generator goes on, `came` whenever something comes from it. `let` says of
    each item whether it is passed on.
    """
    resume: Callable[[], Item] = partial(next, inner)
    while True:
        resumed()
        try:
            item = resume()
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            came()
        resume = partial(next, inner)
        try:
            if let is None or (yield from let(item)):
                yield item
        except Closed as closed:
            resume = partial(inner.throw, closed)


class Process:
    """A generator that runs beside the loop, from event to event."""

    def __init__(self, jobs: Jobs, steps: Steps[Any]) -> None:
        self._jobs = jobs
        self._steps = steps
        self.step = Promise(jobs)

    def advance(self) -> Promise:
        """Goes on at once, to the first turn; the promise is for where it gets."""
        self.step = Promise(self._jobs)
        self._resume()
        return self.step

    def _resume(self) -> None:
        step = advanced(self._steps)
        if step.waits:
            self._jobs.queue.append(self._resume)
        elif step.moments:
            self._jobs.clock.wait(step.moments, self._resume)
        else:
            self.step.settle(step)
