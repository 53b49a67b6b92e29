"""A queue of microtasks, promises on it, and web streams as Node's have them, turn for turn.

What an order of events needs of them: nothing is cancelled, and no promise is rejected.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Final, TypeAlias

END: Final = object()
"""What is read of a stream that has ended."""

Task: TypeAlias = Callable[[Any], object]
Give: TypeAlias = Callable[[Any], None]
Body: TypeAlias = "Generator[Promise | None, Any, Any]"
"""The body of an async function: it yields what it awaits, None for a value that is there."""


class Turns:
    """The queue of microtasks."""

    def __init__(self) -> None:
        self.tasks: deque[tuple[Task, Any]] = deque()

    def run(self) -> None:
        """Runs until nothing is left to do."""
        tasks = self.tasks
        while tasks:
            task, value = tasks.popleft()
            task(value)

    def after(self, turns: int, task: Task) -> None:
        """Runs a task so many turns from now."""
        if turns:
            self.tasks.append((lambda _: self.after(turns - 1, task), None))
        else:
            task(None)

    def call(self, body: Body) -> Promise:
        """Calls an async function; returns the promise of what it returns."""
        done = Promise(self)

        def resume(value: Any) -> None:
            try:
                awaited = body.send(value)
            except StopIteration as stop:
                done.settle(stop.value)
                return
            if awaited is None:
                self.tasks.append((resume, None))
            else:
                awaited.then(resume)

        resume(None)
        return done

    def adopt(self, outer: Promise, promise: Promise) -> None:
        """Settles the promise of an async function, or of `then`, whose result is a promise."""
        self.tasks.append((lambda _: promise.then(outer.settle), None))

    def settled(self) -> Promise:
        """A promise that is settled."""
        promise = Promise(self)
        promise.settle()
        return promise


class Promise:
    """A promise; what waits for it is run a turn after it is settled."""

    __slots__ = ("_turns", "_waiting", "is_settled", "value")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._waiting: list[Task] = []
        self.is_settled = False
        self.value: Any = None

    def then(self, task: Task) -> None:
        """Has a task run with the value."""
        if self.is_settled:
            self._turns.tasks.append((task, self.value))
        else:
            self._waiting.append(task)

    def settle(self, value: Any = None) -> None:
        """Settles the promise, once."""
        if not self.is_settled:
            self.is_settled, self.value = True, value
            self._turns.tasks.extend((task, value) for task in self._waiting)
            self._waiting.clear()


class Readable:
    """A readable stream: `pull` is asked for more until `ahead` chunks wait; `starts` says in how many turns.

    One that never starts does not pull.
    """

    def __init__(
        self,
        turns: Turns,
        pull: Callable[[], Promise] | None = None,
        *,
        ahead: int = 1,
        starts: int | None = 1,
    ) -> None:
        self._turns = turns
        self._pull = pull
        self._ahead = ahead
        self._queue: deque[Any] = deque()
        self._requests: deque[Task] = deque()
        self._started = self._pulling = self._pull_again = self._closing = False
        self.closed = Promise(turns)
        if starts is not None:
            turns.after(starts, self._start)

    def _start(self, _: object) -> None:
        self._started = True
        self._pull_if_wanted()

    def enqueue(self, chunk: Any) -> None:
        """Adds a chunk."""
        if self._requests:
            self._requests.popleft()(chunk)
        else:
            self._queue.append(chunk)
        self._pull_if_wanted()

    def close(self) -> None:
        """Ends the stream behind what is in it."""
        self._closing = True
        if not self._queue:
            self._close()

    def _close(self) -> None:
        self.closed.settle()
        while self._requests:
            self._requests.popleft()(END)

    def request(self, take: Task) -> None:
        """Has `take` called with the next chunk, now if there is one."""
        if self._queue:
            chunk = self._queue.popleft()
            if self._closing and not self._queue:
                self._close()
            else:
                self._pull_if_wanted()
            take(chunk)
        elif self.closed.is_settled:
            take(END)
        else:
            self._requests.append(take)
            self._pull_if_wanted()

    def read(self) -> Promise:
        """The promise of the next chunk."""
        chunk = Promise(self._turns)
        self.request(chunk.settle)
        return chunk

    def wants(self) -> bool:
        """Whether more chunks are asked for."""
        waits = bool(self._requests) or self._ahead > len(self._queue)
        return self._started and not self._closing and waits

    def _pull_if_wanted(self) -> None:
        if self._pull is None or not self.wants():
            return
        if self._pulling:
            self._pull_again = True
            return
        self._pulling = True
        self._pull().then(self._pulled)

    def _pulled(self, _: object) -> None:
        self._pulling = False
        if self._pull_again:
            self._pull_again = False
            self._pull_if_wanted()


class Writable:
    """A writable stream that takes one chunk at a time: `write` says when it is through with one."""

    def __init__(
        self, turns: Turns, write: Callable[[Any], Promise], close: Callable[[], object], *, starts: int = 1
    ) -> None:
        self._turns = turns
        self._write = write
        self._close = close
        self._queue: deque[tuple[Any, Promise]] = deque()
        self._started = self._busy = self._closing = False
        self.ready = turns.settled()
        turns.after(starts, self._start)

    def _start(self, _: object) -> None:
        self._started = True
        self._advance()

    def write(self, chunk: Any) -> Promise:
        """Adds a chunk; returns the promise that it is written."""
        written = Promise(self._turns)
        self._queue.append((chunk, written))
        self._set_ready()
        self._advance()
        return written

    def close(self) -> None:
        """Ends the stream."""
        self._closing = True
        self.ready.settle()
        self._queue.append((END, Promise(self._turns)))
        self._advance()

    def _set_ready(self) -> None:
        if not self._queue:
            self.ready.settle()
        elif self.ready.is_settled:
            self.ready = Promise(self._turns)

    def _advance(self) -> None:
        if not self._started or self._busy or not self._queue:
            return
        self._busy = True
        chunk, _ = self._queue[0]
        if chunk is END:
            self._close()
        else:
            self._write(chunk).then(self._wrote)

    def _wrote(self, _: object) -> None:
        self._busy = False
        self._queue.popleft()[1].settle()
        if not self._closing:
            self._set_ready()
        self._advance()


class Transform:
    """A transform stream: `transform` is given a chunk and what to call with each that comes out.

    A chunk is taken only while someone waits for what comes out. `flush` is what happens at the end, if it is
    more than that the stream ends.
    """

    def __init__(
        self,
        turns: Turns,
        transform: Callable[[Any, Give], Promise],
        flush: Callable[[], Promise] | None = None,
    ) -> None:
        self._turns = turns
        self._transform = transform
        self._flush = turns.settled if flush is None else flush
        self._held = True
        self._change = Promise(turns)
        self.writable = Writable(turns, self._write, self._close, starts=3)
        self.readable = Readable(turns, self._pull, ahead=0, starts=3)

    def _give(self, chunk: Any) -> None:
        self.readable.enqueue(chunk)
        if not self.readable.wants() and not self._held:
            self._hold(held=True)

    def _hold(self, *, held: bool) -> None:
        self._held = held
        before, self._change = self._change, Promise(self._turns)
        before.settle()

    def _pull(self) -> Promise:
        self._hold(held=False)
        return self._change

    def _write(self, chunk: Any) -> Promise:
        if not self._held:
            return self._turns.call(self._perform(chunk))
        written = Promise(self._turns)

        def perform(_: object) -> None:
            self._turns.adopt(written, self._turns.call(self._perform(chunk)))

        self._change.then(perform)
        return written

    def _perform(self, chunk: Any) -> Body:
        yield self._transform(chunk, self._give)

    def _close(self) -> None:
        self._flush().then(lambda _: self.readable.close())


def asynchronous(turns: Turns, function: Callable[..., Body]) -> Callable[..., Promise]:
    """An async function as a stream calls it: within one of its own."""

    def call(*given: Any) -> Promise:
        outer = Promise(turns)
        turns.adopt(outer, turns.call(function(*given)))
        return outer

    return call


def pass_on(turns: Turns) -> Transform:
    """A transform that passes on what it is given."""

    def transform(chunk: Any, give: Give) -> Promise:
        give(chunk)
        return turns.settled()

    return Transform(turns, transform)


def pipe(turns: Turns, source: Readable, target: Writable) -> None:
    """Writes what is read of a stream to another one."""
    last = turns.settled()

    def step() -> Body:
        yield target.ready
        ended = Promise(turns)

        def take(chunk: Any) -> None:
            nonlocal last
            if chunk is not END:
                last = target.write(chunk)
            ended.settle(chunk is END)

        source.request(take)
        yield None  # the result is a promise
        return (yield ended)

    def run() -> Body:
        while not (yield turns.call(step())):
            pass

    def finish() -> Body:
        write = None
        while write is not last:
            write = last
            yield write
        target.close()

    turns.call(run())
    source.closed.then(lambda _: turns.call(finish()))


def through(turns: Turns, source: Readable, transform: Transform) -> Readable:
    """Pipes a stream through a transform; returns what comes out."""
    pipe(turns, source, transform.writable)
    return transform.readable
