"""Calls of a hook during one run: live, as a value, or with what it returns copied."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from agentcore.guard.reading import ATOMS
from agentcore.guard.snapshot import Found, Snapshot, slots
from agentcore.live.adapter import Attached, Boundary
from agentcore.live.copies import Data, Exchange, Hidden, Outlet, hide, take_back
from agentcore.live.late import Left
from agentcore.live.loading import Loaded
from agentcore.live.originals import Originals
from agentcore.live.shown import leaves, show
from agentcore.live.writes import Source, Write, group_of, writes

__all__ = ["Calls", "Mode", "Tap"]

_WATCHED: Final = 8


class Mode(Enum):
    """The way in which the hook takes part in a run."""

    LIVE = "it gets the framework's objects, and what it returns is used"
    VALUE = "it gets copies, and only what it returns counts"
    LANDED = "it gets the framework's objects, and what it returns is copied where it wrote that"


@dataclass
class Calls:
    """The record of the hook's calls in a run.

    Attributes:
        count: how many there were.
        writes: what the hook wrote, in the value run.
        raised: the exception that the hook raised, if any.
        added: the texts that the hook added, call by call, in the value run.
        adds_again: whether a later call found texts of an earlier one in its input, and added more.
        cut: turn, step and ids of the first call after which a tool's call or result stands alone that did
            not before.
        opaque: class names of what the hook put into the conversation and cannot be looked into.
        replaced: the name of a function that the check relies on and the hook replaced.
    """

    count: int = 0
    writes: list[Write] = field(default_factory=list)
    raised: BaseException | None = None
    added: list[set[str]] = field(default_factory=list)
    adds_again: bool = False
    cut: tuple[int, int, set[str]] | None = None
    opaque: set[str] = field(default_factory=set)
    replaced: str | None = None


@dataclass
class _Watch:
    """A snapshot of the hook's own objects, compared again at each later event of the run.

    `before` is the snapshot with which the call began whose arguments these are.
    """

    snapshot: Snapshot
    reader: Data
    turn: int
    step: int
    source: Source
    before: Snapshot | None = None


@dataclass
class _Entered:
    """One call between its begin and its end."""

    given: dict[str, Any]
    data: Collection[str]
    inner: dict[str, Any]
    kept: frozenset[int]
    before: Snapshot | None
    handles: Snapshot | None
    texts: Counter[str]
    turn: int
    step: int
    outlets: list[Outlet] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    alone: set[str] | None = None
    # The calls that went on at the same time.
    beside: list[_Entered] = field(default_factory=list)

    def before_beside(self) -> list[Snapshot]:
        return [each.before for each in self.beside if each.before is not None]


class Tap:
    """Stands between the framework and the hook in one run."""

    def __init__(  # noqa: PLR0913 - by name
        self,
        loaded: Loaded,
        boundary: Boundary,
        mode: Mode,
        where: Callable[[], tuple[int, int]],
        *,
        alone: Callable[[Any], set[str]] = lambda _: set(),
        only: int | None = None,
        report: Callable[[], None] = lambda: None,
        around: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda hook: hook,
        through: str | None = None,
    ) -> None:
        """Prepares a run.

        Args:
            loaded: the hook, freshly loaded.
            boundary: where it is attached.
            mode: how it takes part.
            where: returns turn and step.
            alone: returns the ids of calls without result, and of results without call, among messages.
            only: the number of the one call in which it takes part; in the others a passive hook does.
            report: called before each call of the hook, so that a watcher knows where the run is.
            around: goes around each call, for a tracer of lines.
            through: the one group of writes that lands in a landed run; none if it is empty, and all of them
                if it is None.
        """
        self.calls = Calls()
        self._loaded = loaded
        self._boundary = boundary
        self._mode = mode
        self._where = where
        self._alone = alone
        self._only = only
        self._through = through
        self._report = report
        self._hook = around(loaded.call)
        self._exchange = Exchange()
        self._watches: list[_Watch] = []
        self._open: list[_Entered] = []
        # What the framework shows in a landed run: held, so that no other object gets the number of one.
        self._met: list[Snapshot] = []
        self._written: list[Snapshot] = []
        # Errors of the framework's own that pass through an around hook.
        self._passing: list[BaseException] = []
        self._lock = threading.RLock()
        self._process = os.getpid()
        self.left = Left()
        self._originals = Originals()

    @property
    def is_landed(self) -> bool:
        """True in the mode in which writes reach the framework's objects, and results are copied."""
        return self._mode is Mode.LANDED

    def met(self, elsewhere: Snapshot | None) -> None:
        """Notes objects that the framework shows, in a call or elsewhere."""
        if elsewhere is not None:
            self._met.append(elsewhere)

    def wrote_shared(self) -> bool:
        """True if a call that wrote in a landed run got an object that is met elsewhere, too.

        A boundary may hand out deep copies and compare what is returned with them: then runs differ, and
        nobody was hurt.
        """
        return any(
            each.records.keys() & other.records.keys()
            for each in self._written
            for other in self._met
            if other is not each
        )

    # ------------------------------------------------------------ the wrapper

    def attached(self) -> Attached:
        """Returns the hook for the adapter: with the same signature, sync or async as it is."""
        loaded = self._loaded

        def call(*args: Any, **options: Any) -> Any:
            return self._sync(args, options)

        async def call_async(*args: Any, **options: Any) -> Any:
            return await self._async(args, options)

        def call_each(*args: Any, **options: Any) -> Any:
            yield from self._each(args, options)

        async def call_each_async(*args: Any, **options: Any) -> Any:
            async for value in self._each_async(args, options):
                yield value

        made: Callable[..., Any] = call_async if loaded.is_async else call
        # The framework looks at what kind of function it is.
        if inspect.isgeneratorfunction(loaded.call):
            made = call_each
        elif inspect.isasyncgenfunction(loaded.call):
            made = call_each_async
        made.__annotations__ = {}  # a partial has none to put in place of these
        functools.update_wrapper(made, loaded.call)
        return Attached(call=made, is_async=loaded.is_async, owner=loaded.with_method(made))

    def _sync(self, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
        skipped, entered = self._begin(args, options)
        if entered is None:
            return skipped
        try:
            with self.left.by_hook():
                returned = self._hook(*self._arguments(args, entered), **self._options(options, entered))
        except BaseException as error:
            self._failed(error, entered)
            raise
        if inspect.isawaitable(returned):
            # A plain function may return an awaitable; the framework awaits the result.
            return self._awaited(returned, entered)
        return self._end(entered, returned)

    async def _async(self, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
        await self.left.settle()
        skipped, entered = self._begin(args, options)
        if entered is None:
            return await skipped if inspect.isawaitable(skipped) else skipped
        return await self._awaited(
            self._hook(*self._arguments(args, entered), **self._options(options, entered)), entered
        )

    async def _awaited(self, returned: Any, entered: _Entered) -> Any:
        try:
            with self.left.by_hook():
                awaited = await returned if inspect.isawaitable(returned) else returned
        except BaseException as error:
            self._failed(error, entered)
            raise
        return self._end(entered, awaited)

    def _each(self, args: Sequence[Any], options: Mapping[str, Any]) -> Iterator[Any]:
        """A generator's call begins at the first value that is asked for, and ends with the last."""
        skipped, entered = self._begin(args, options)
        if entered is None:
            yield skipped
            return
        made: list[Any] = []
        try:
            made_by = self._hook(*self._arguments(args, entered), **self._options(options, entered))
            for value in self.left.each(made_by):
                made.append(value)
                yield self._passed_on(value, entered)
        except BaseException as error:
            self._failed(error, entered)
            raise
        finally:
            self._end(entered, made)

    async def _each_async(self, args: Sequence[Any], options: Mapping[str, Any]) -> AsyncIterator[Any]:
        skipped, entered = self._begin(args, options)
        if entered is None:
            yield skipped
            return
        made: list[Any] = []
        try:
            made_by = self._hook(*self._arguments(args, entered), **self._options(options, entered))
            async for value in self.left.each_async(made_by):
                made.append(value)
                yield self._passed_on(value, entered)
        except BaseException as error:
            self._failed(error, entered)
            raise
        finally:
            self._end(entered, made)

    def _passed_on(self, value: Any, entered: _Entered) -> Any:
        return value if self._mode is Mode.LIVE else self._out(value, entered.kept)

    def _restore(self) -> None:
        replaced = self._originals.restore()
        self.calls.replaced = self.calls.replaced or replaced

    def _failed(self, error: BaseException, entered: _Entered) -> None:
        self._restore()
        self._close(entered)
        self._require_same_process()
        if isinstance(error, MemoryError):
            traceback.clear_frames(error.__traceback__)  # they hold what filled the memory
        # The framework's own errors and its way to end a call are none of the hook's.
        passing = isinstance(error, asyncio.CancelledError | GeneratorExit) or any(
            error is each for each in self._passing
        )
        if not passing and self.calls.raised is None:
            self.calls.raised = error

    def _require_same_process(self) -> None:
        if os.getpid() != self._process:
            # A child that the hook forked goes no further; what it reports has its own process number.
            self._report()
            os._exit(70)

    def _arguments(self, args: Sequence[Any], entered: _Entered) -> list[Any]:
        names = self._boundary.names(args)
        return [
            entered.inner[names[index]] if index < len(names) else each for index, each in enumerate(args)
        ]

    def _options(self, options: Mapping[str, Any], entered: _Entered) -> dict[str, Any]:
        return {name: entered.inner[name] for name in options}

    # ------------------------------------------------------------ one call

    def _begin(self, args: Sequence[Any], options: Mapping[str, Any]) -> tuple[Any, _Entered | None]:
        with self._lock:
            boundary, number = self._boundary, self.calls.count
            self.calls.count += 1
            given = {**dict(zip(boundary.names(args), args, strict=False)), **options}
            if self._only is not None and number != self._only:
                return boundary.passive(given), None
            self._report()
            # Here and not at the start of the run: frameworks make event loops of their own, some one for
            # each turn.
            self.left.watch_tasks()
            self.look()
            turn, step = self._where()
            # After the model, the step's own prompt has been counted already.
            step -= boundary.after and step > 0
            kept = self._kept_ids(given)
            data = {name: each for name, each in given.items() if name != boundary.handler}
            if self._mode is Mode.VALUE:
                return None, self._opened(self._entered_as_value(given, data, kept, turn, step))
            before = Snapshot({**data}, Data(kept)) if self._mode is Mode.LANDED else None
            if before is not None:
                # A later call may write what this one returns unchanged: that has to be the framework's own.
                self._exchange.share(before)
            self.met(before)
            entered = _Entered(given, data, {**given}, kept, before, None, Counter(), turn, step)
            self._set_handler(entered)
            return None, self._opened(entered)

    def _entered_as_value(
        self, given: dict[str, Any], data: dict[str, Any], kept: frozenset[int], turn: int, step: int
    ) -> _Entered:
        boundary, reader = self._boundary, Data(kept)
        inner = self._exchange.enter(data, kept)
        # The wrapper's own dict, not the one that is paired: the handler is added to it.
        inner = {**inner}
        before = Snapshot({**inner}, reader)
        # What is no whole conversation is not looked at for what piles up.
        texts = Counter(leaves(show(inner, reader))) if boundary.whole else Counter[str]()
        entered = _Entered(given, data.keys(), inner, kept, before, None, texts, turn, step)
        self._watch_handles(entered)
        if boundary.messages_in is not None:
            entered.alone = self._alone(boundary.messages_in(given))
        entered.outlets += self._exchange.outlets(boundary.outlets(given))
        self._set_handler(entered)
        return entered

    def _watch_handles(self, entered: _Entered) -> None:
        handles = self._boundary.handles(entered.given)
        entered.handles = Snapshot({"handle": [*handles]}, Data()) if handles else None

    def _end_handles(self, entered: _Entered) -> None:
        if entered.handles is not None:
            self._note(writes(entered.handles, Data(), entered.turn, entered.step, "handle"))
            take_back(entered.handles, Data())

    def _call_on(self, entered: _Entered) -> None:
        """Ends the hook's part before the framework's: what it assigned is in force, and no write is."""
        if self._mode is Mode.VALUE:
            self._end_handles(entered)
            entered.outlets = self._exchange.assign(entered.outlets, entered.kept)

    def _come_back(self, entered: _Entered) -> None:
        """Begins the hook's part again, with what the framework has assigned and written meanwhile."""
        if self._mode is Mode.VALUE:
            entered.kept |= self._kept_ids(entered.given)
            entered.outlets = self._exchange.refresh(entered.outlets, entered.kept)
            self._watch_handles(entered)

    def _kept_ids(self, given: Mapping[str, Any]) -> frozenset[int]:
        return frozenset(id(each) for each in self._boundary.kept(given) if type(each) not in ATOMS)

    def _set_handler(self, entered: _Entered) -> None:
        name = self._boundary.handler
        if name is not None and name in entered.given:
            # Live too: the errors that pass through it have to be known.
            entered.inner[name] = self._handler(entered.given[name], entered)

    def _handler(self, handler: Callable[..., Any], entered: _Entered) -> Callable[..., Any]:
        """The framework's side of an around hook: what goes in comes from the hook, and back."""
        kept, reader = entered.kept, Data(entered.kept)

        def leave(value: Any) -> Any:
            if self._mode is Mode.LIVE:
                return value
            if self._mode is Mode.VALUE and self._boundary.whole:
                entered.passed |= Counter(leaves(show(value, reader)))
                self._look_for_cuts(entered, value)
            return self._out(value, kept)

        def enter(value: Any) -> Any:
            return self._exchange.enter(value, kept) if self._mode is Mode.VALUE else value

        async def awaited(value: Any, hidden: Hidden) -> Any:
            try:
                with self.left.by_hook(is_hook=False):
                    returned = await value
                return enter(returned)
            except BaseException as error:
                self._passing.append(error)
                raise
            finally:
                self._come_back(entered)
                hidden.show()

        @functools.wraps(handler)
        def call(*args: Any, **options: Any) -> Any:
            passed, named = [*map(leave, args)], {name: leave(each) for name, each in options.items()}
            self._call_on(entered)
            hidden = self._hide(entered)
            try:
                with self.left.by_hook(is_hook=False):
                    returned = handler(*passed, **named)
            except BaseException as error:
                self._passing.append(error)
                self._come_back(entered)
                hidden.show()
                raise
            if inspect.isawaitable(returned):
                return awaited(returned, hidden)
            self._come_back(entered)
            hidden.show()
            return enter(returned)

        return call

    def _out(self, value: Any, kept: frozenset[int]) -> Any:
        return self._exchange.leave(value, kept)

    def _opened(self, entered: _Entered) -> _Entered:
        for each in self._open:
            each.beside.append(entered)
        entered.beside += self._open
        self._open.append(entered)
        return entered

    def _close(self, entered: _Entered) -> None:
        with self._lock:
            self._open = [each for each in self._open if each is not entered]

    def _end(self, entered: _Entered, returned: Any) -> Any:
        self._restore()
        self._require_same_process()
        self._close(entered)
        with self._lock:
            if self._mode is Mode.LIVE:
                return returned
            if self._mode is Mode.LANDED:
                left = self._out(returned, entered.kept)
                reader, before = Data(entered.kept), entered.before
                if before and not all(each.unchanged(reader) for each in before.records.values()):
                    self._written.append(before)
                self._hide(entered)
                return left
            self._look_at(entered, returned)
            self._exchange.assign(entered.outlets, entered.kept)
            return self._out(returned, entered.kept)

    def _look_at(self, entered: _Entered, returned: Any) -> None:
        reader = Data(entered.kept)
        inner, unwritten = entered.before, True
        if inner is not None:
            outlets = {id(each.copy) for each in entered.outlets}
            beside = entered.before_beside()
            found = [*writes(inner, reader, entered.turn, entered.step, "argument", beside)]
            unwritten = not found
            self._refresh(entered)
            self._note(write for write in found if write.number not in outlets)
        self._end_handles(entered)
        own = Snapshot({"returned": returned}, reader)
        given = {name: entered.inner[name] for name in entered.data}
        if inner is None or not unwritten:
            inner = Snapshot(given, reader)
        known = inner.records.keys()
        self._watch(_Watch(inner, reader, entered.turn, entered.step, "argument", entered.before))
        self._watch(_Watch(_without(own, known), reader, entered.turn, entered.step, "returned"))
        self.calls.opaque |= {
            type(each).__name__
            for number, each in own.opaque.items()
            if number not in inner.opaque and id(each) not in entered.kept and not callable(each)
        }
        if self._boundary.handler is None:
            self._look_for_cuts(entered, returned)
        if not self._boundary.whole:
            return
        texts = entered.texts if unwritten else Counter(leaves(show(given, reader)))
        self._note_texts(entered, returned, reader, own, known, texts)

    def _look_for_cuts(self, entered: _Entered, made: Any) -> None:
        messages_out = self._boundary.messages_out
        if messages_out is None or entered.alone is None or self.calls.cut is not None:
            return
        try:
            new = self._alone(messages_out(made)) - entered.alone
        except Exception:  # noqa: BLE001 - what the hook returned need not have any shape; the framework says so
            return
        if new:
            self.calls.cut = entered.turn, entered.step, new

    def _note_texts(  # noqa: PLR0913, PLR0917 - what a call begins and ends with
        self,
        entered: _Entered,
        returned: Any,
        reader: Data,
        own: Snapshot,
        known: Collection[int],
        texts: Counter[str],
    ) -> None:
        """Notes which texts the hook adds, and whether it adds again while its input holds earlier ones."""
        before, made = entered.texts, Counter(texts)
        if self._boundary.delta:
            made |= before + _fresh_texts(own, known)
        elif self._boundary.handler is None:
            made |= Counter(leaves(show(returned, reader)))
        made |= entered.passed
        earlier = {text for each in self.calls.added for text in each}
        added = {text for text, count in made.items() if count > before[text]}
        # A redaction adds texts, too, and again at each call, but in the place of others.
        if added and made.total() > before.total() and any(before[text] for text in earlier):
            self.calls.adds_again = True
        self.calls.added.append(added)

    def _hide(self, entered: _Entered) -> Hidden:
        """Takes back the writes that do not land in this run."""
        before, through = entered.before, self._through
        if self._mode is not Mode.LANDED or before is None or through is None:
            return Hidden()
        assigned = {id(each) for each in self._boundary.outlets(entered.given)}
        beside = entered.before_beside()

        def stays(number: int, found: Found) -> bool:
            return number in assigned or group_of(before, number, found, beside) == through

        return hide(before, Data(entered.kept), stays)

    # ------------------------------------------------------------ what changes later

    def _watch(self, watch: _Watch) -> None:
        self._watches = [*self._watches[-_WATCHED:], watch]

    def look(self) -> None:
        """Looks for writes that were made after a call had returned (rule live.write-evidence)."""
        self.left.settle_threads()
        with self._lock:
            for index, watch in enumerate(self._watches):
                found = [*writes(watch.snapshot, watch.reader, watch.turn, watch.step, watch.source)]
                if found:
                    self._note(replace(each, late=True) for each in found)
                    self._watches[index] = _again(watch)

    def _refresh(self, entered: _Entered) -> None:
        """Keeps a call's writes from counting as late writes of one that ended while it went on."""
        beside = {id(each.before) for each in entered.beside}
        self._watches = [_again(each) if id(each.before) in beside else each for each in self._watches]

    def _note(self, found: Iterable[Write]) -> None:
        self.calls.writes += found


def _again(watch: _Watch) -> _Watch:
    return replace(watch, snapshot=Snapshot(watch.snapshot.root, watch.reader))


def _without(snapshot: Snapshot, known: Any) -> Snapshot:
    """Forgets the objects that another snapshot holds already."""
    for number in [*snapshot.records]:
        if number in known:
            del snapshot.records[number]
    return snapshot


def _fresh_texts(own: Snapshot, known: Collection[int]) -> Counter[str]:
    """The texts in the objects that the hook made itself."""
    found: Counter[str] = Counter()
    for number, record in own.records.items():
        if number not in known:
            found.update(each for _, each in slots(record.contents) if type(each) is str)
    return found
