"""What the parts of a stream pass on their way from a step to the observer, and who reads them.

The package's own streams, turn for turn: in which order an observer hears of parts, and tools are called, is
decided by nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import attrs

from agentcore.frameworks.ai_sdk.emulation.streams import (
    END,
    Body,
    Give,
    Promise,
    Readable,
    Transform,
    Turns,
    asynchronous,
    pass_on,
    through,
)
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile, Gate
from agentcore.heap.heap import Ref, Value

__all__ = ["Chunk", "Flow"]

_TEXT = ("text-start", "text-delta", "text-end")
_UNTIL_CLOSED = 3
"""The turns in which the stream of a step ends once the next one's is there."""


@attrs.define(eq=False)
class Chunk:
    """A part on its way: of a text its `id` and, of a delta, `text`; else the object in `ref`.

    `of` is the model's part that a text is of.
    """

    kind: str
    ref: Ref | None = None
    id: Value = None
    text: str = ""
    of: Ref | None = None
    invalid: bool = False


class Flow:
    """The stream of a run, into which those of its steps are put one after the other.

    There is none where it is not `heard`: where no hook can tell when a chunk comes.
    """

    def __init__(self, profile: AiSdkProfile, *, heard: bool) -> None:
        self.turns = Turns()
        self.profile = profile
        self.observe: Callable[[Chunk], Body]
        self._streams: deque[Readable] = deque()
        self._before: Readable | None = None
        self._added = Promise(self.turns)
        self._text_id: Value = None
        self.used_ids: set[tuple[str, Value]] = set()
        self.heard = heard
        if heard:
            self._build()

    def add(self, stream: Readable) -> None:
        """Puts in the stream of a step."""
        self._streams.append(stream)
        self._added.settle()
        before, self._before = self._before, stream
        if before is not None:
            self.turns.after(_UNTIL_CLOSED, lambda _: before.close())

    # ---------------------------------------------------------------- what parts pass

    def _build(self) -> None:
        turns = self.turns
        stream = self._again(self._stitched(), starts=3)
        for gate in self.profile.gates:
            if gate is Gate.TRANSFORM:
                stream = through(turns, stream, self._transform(self._pass))
            else:
                stream = self._again(stream, ahead=gate.value)
        stream = through(turns, stream, self._transform(self._parse_output))
        stream = through(turns, stream, self._transform(self._tell))
        branch = self._tee(stream)
        for _ in range(2):
            branch = through(turns, branch, pass_on(turns))
        turns.call(self._consume(branch))
        turns.run()

    def _transform(self, transform: Callable[[Chunk, Give], Body]) -> Transform:
        return Transform(self.turns, asynchronous(self.turns, transform))

    def _stitched(self) -> Readable:
        """The streams of the steps, one after the other."""

        def pull() -> Body:
            if not self._streams:
                self._added = Promise(self.turns)
                yield self._added
                yield self.turns.call(pull())
                return
            chunk = yield self._streams[0].read()
            if chunk is END:
                self._streams.popleft()
                yield self.turns.call(pull())
            else:
                stitched.enqueue(chunk)

        stitched = Readable(self.turns, asynchronous(self.turns, pull))
        return stitched

    def _again(self, source: Readable, *, ahead: int = 1, starts: int = 1) -> Readable:
        """A stream of what is read of another one."""

        def pull() -> Body:
            chunk = yield source.read()
            made.enqueue(chunk)

        made = Readable(self.turns, asynchronous(self.turns, pull), ahead=ahead, starts=starts)
        return made

    def _pass(self, chunk: Chunk, give: Give) -> Body:
        give(chunk)
        yield from ()

    def _parse_output(self, chunk: Chunk, give: Give) -> Body:
        """The deltas of one text are parsed as the output, which takes a turn."""
        if chunk.kind == "start-step" and not self.profile.output_of_run:
            self._text_id = None
        if chunk.kind in _TEXT:
            if self._text_id is None:
                self._text_id = chunk.id
            if chunk.kind == "text-delta" and chunk.id == self._text_id:
                yield None
        give(chunk)

    def _tell(self, chunk: Chunk, give: Give) -> Body:
        give(chunk)
        yield from self.observe(chunk)

    def _tee(self, source: Readable) -> Readable:
        """One of two streams of the same chunks; nobody reads the other."""
        reading = False

        def take(chunk: Chunk) -> None:
            def give(_: object) -> None:
                nonlocal reading
                reading = False
                for branch in branches:
                    branch.enqueue(chunk)

            self.turns.tasks.append((give, None))

        def pull() -> Body:
            nonlocal reading
            if not reading:
                reading = True
                source.request(take)
            yield from ()

        branches = [Readable(self.turns, lambda: self.turns.call(pull())) for _ in range(2)]
        return branches[0]

    def _consume(self, stream: Readable) -> Body:
        while (yield stream.read()) is not END:
            pass
