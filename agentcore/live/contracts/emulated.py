"""The contract of a profile: the probe of the real packages, run on the objects of an emulation's heap."""

from __future__ import annotations

import operator
import platform
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

import attrs

from agentcore.guard.reading import Contents, Unread
from agentcore.heap.cells import DateCell, MeasuredCell, PatternCell, UrlCell
from agentcore.heap.views import ArrayView, ObjectView, View
from agentcore.kit.emulate import Emulated, Point
from agentcore.kit.framework import FRAMEWORKS, load_contracts
from agentcore.live import probe
from agentcore.live.adapter import AdapterBase, Attached, Boundary, Given
from agentcore.live.contracts.measure import RULES, Measurement
from agentcore.live.contracts.table import Answer, Row, answers_at, answers_of, missing
from agentcore.live.conversations import fresh
from agentcore.live.copies import Data
from agentcore.live.places import Objects
from agentcore.live.session import Reply, Session

__all__ = ["Comparison", "compared", "emulations", "measure_profile", "not_emulated"]


def emulations() -> list[Emulated]:
    """Returns the emulations of all frameworks that offer their boundaries."""
    return [each for name in FRAMEWORKS for each in load_contracts(name)]


def measure_profile(
    emulated: Emulated, release: str, at: str | None = None, path: str | None = None
) -> Measurement:
    """Returns what the probe sees of the profiles of a release.

    Args:
        emulated: the emulation.
        release: one of its releases.
        at: the only boundary; None for all.
        path: the only path; None for all.
    """
    heap = _Heap()
    adapter = _Adapter(emulated, release, heap)
    objects = Objects(
        heap.reader,
        heap.copied,
        dicts=(dict, ObjectView),
        lists=(list, tuple, ArrayView),
        text=_text,
        # What is written becomes new cells.
        written=operator.eq,
    )
    job = {"rules": RULES, "at": at, "path": path}
    found = probe.measured(adapter, job, lambda: None, objects)
    about = {"format": 1, "framework": emulated.framework, "package": "agentcore", "version": release}
    runtime = f"Python {platform.python_version()}"
    return {**about, "lock": None, "probe": "emulated", "runtime": runtime, **found}


def not_emulated(emulated: Emulated, published: Mapping[str, Any], release: str) -> set[str]:
    """Returns the boundaries that are published of a release, and that its profiles do not have.

    Args:
        emulated: the emulation.
        published: what `contracts.json` has of the framework.
        release: one of the emulation's.
    """
    points = emulated.points(release, _output_of)
    known = {
        section["boundary"]
        for section in published["contracts"]
        for group in section["groups"]
        if answers_at(group["statements"], release) not in ([], [{"result": "unknown"}])
    }
    return known - points.keys()


@attrs.frozen(kw_only=True)
class Comparison:
    """The table of a profile beside that of the package.

    `equal` is the number of rows that are the same. `differing` has the answers of the package and of the
    profile where they differ. `unexpressed` are rows that the emulation cannot express, with the reason.
    `unneeded` are reasons that no differing row has. `unmeasured` are boundaries, after their paths, that the
    package answers at and the profile does not, with the reason.
    """

    equal: int
    differing: Mapping[Row, tuple[Answer, Answer]]
    unexpressed: Mapping[Row, str]
    unneeded: Collection[str]
    unmeasured: Mapping[tuple[str, str], str]


def compared(emulated: Emulated, release: str, package: Measurement, profile: Measurement) -> Comparison:
    """Compares the table of a profile with that of the package whose release it names."""
    real = answers_of(package)
    ours = {_named(emulated, row): answer for row, answer in answers_of(profile).items()}
    paths = {*emulated.releases[release]}
    own = {(row.path, row.boundary) for row in ours}
    rows = {row for row in real.keys() | ours.keys() if (row.path, row.boundary) in own and row.path in paths}
    pairs = {row: (_held(real.get(row, ()), emulated), _held(ours.get(row, ()), emulated)) for row in rows}
    differing = {row: pair for row, pair in pairs.items() if pair[0] != pair[1]}
    reasons = {row: _reason(emulated, release, row) for row in differing}
    own_reasons = {each for each in emulated.unexpressed if fnmatchcase(release, each.partition(" ")[0])}
    used = {pattern for pattern, _ in reasons.values()}
    return Comparison(
        equal=len(pairs) - len(differing),
        differing={row: pair for row, pair in differing.items() if not reasons[row][0]},
        unexpressed={row: why for row, (pattern, why) in reasons.items() if pattern},
        unneeded=own_reasons - used,
        unmeasured={of: why for of, why in missing(profile).items() if of not in missing(package)},
    )


def _named(emulated: Emulated, row: Row) -> Row:
    """Returns a row of a profile with the root that the package has for it."""
    return row._replace(root=emulated.roots.get(row.root, row.root))


def _held(answer: Answer, emulated: Emulated) -> Answer:
    """Returns an answer without the holders that the emulation does not have."""
    return tuple(
        sorted(
            {(result, tuple(each for each in seen if each not in emulated.unheld)) for result, seen in answer}
        )
    )


def _reason(emulated: Emulated, release: str, row: Row) -> tuple[str, str]:
    """Returns the first pattern that a row matches, and the reason; empty texts if there is none."""
    text = f"{release} {row.path} {row.boundary} {row.root} {row.owner}.{row.role}.{row.place}.{row.act}"
    found = (each for each in emulated.unexpressed.items() if fnmatchcase(text, each[0]))
    return next(found, ("", ""))


# ---------------------------------------------------------------- the heap's objects


class _Heap:
    """Views by what they stand for: one view for one object of a run, so that it tells objects apart."""

    def __init__(self) -> None:
        self._desk: Any = None
        self._views: dict[int, View] = {}

    def same(self, value: Any) -> Any:
        """Returns the one view of an object; any other value as it is."""
        if not isinstance(value, View):
            return value
        if value.desk is not self._desk:
            self._desk, self._views = value.desk, {}
        return self._views.setdefault(value.ref.address, value)

    def reader(self, kept: frozenset[int]) -> Data:
        """Returns the reader of all objects but those with some numbers."""
        return _Reader(self, kept)

    def copied(self, value: Any, kept: frozenset[int]) -> Any:
        """Returns a deep copy in plain dicts and lists, in which these objects stay themselves."""
        made: dict[int, Any] = {}
        read = self.reader(kept)

        def copy_of(each: Any) -> Any:
            each = self.same(each)
            if id(each) in made:
                return made[id(each)]
            contents = read(each)
            if isinstance(contents, Unread):
                return each
            copy: Any = [] if contents.items is not None else {}
            made[id(each)] = copy
            if contents.items is not None:
                copy.extend(map(copy_of, contents.items))
            else:
                copy.update({key: copy_of(one) for key, one in (contents.entries or {}).items()})
            return copy

        return copy_of(value)


def _text(value: Any, _: Collection[str]) -> str:
    if isinstance(value, View):
        return repr(value.desk.plain(value.ref))
    if isinstance(value, dict):
        value = [*value.values()]
    return "".join(_text(each, ()) for each in value) if isinstance(value, list | tuple) else repr(value)


_ATOMS: Final = (DateCell, UrlCell, MeasuredCell, PatternCell)


class _Reader(Data):
    """Reads views as the dicts and lists that they are used as, and nothing else but dicts and lists."""

    def __init__(self, heap: _Heap, kept: frozenset[int]) -> None:
        super().__init__(kept)
        self._heap = heap

    def __call__(self, value: Any) -> Contents | Unread:
        if isinstance(value, View) and id(value) not in self.kept:
            # A date is no object of fields to who uses it.
            return (
                Unread.ATOM
                if isinstance(value.store.cells[value.ref.address], _ATOMS)
                else self._contents(value)
            )
        if not isinstance(value, dict | list | tuple):
            return Unread.ATOM
        return self._contents(value) if id(value) not in self.kept else Unread.OPAQUE

    def _contents(self, value: Any) -> Contents:
        same = self._heap.same
        if isinstance(value, list | tuple | ArrayView):
            return Contents(items=[same(each) for each in value])
        return Contents(entries={key: same(value[key]) for key in value})


# ---------------------------------------------------------------- the adapter


class _Adapter(AdapterBase):
    """An emulation, run as a framework is."""

    def __init__(self, emulated: Emulated, release: str, heap: _Heap) -> None:
        self.name = emulated.framework
        self._emulated, self._heap = emulated, heap
        self._profiles = emulated.releases[release]
        self.paths = tuple(self._profiles)
        self.boundaries = {
            at: _boundary(point, heap) for at, point in emulated.points(release, _output_of).items()
        }

    def begin(self, session: Session, hook: Attached | None, at: str, path: str) -> Callable[[Any], Any]:
        assert hook is not None  # noqa: S101 - the probe always has one
        call, same = hook.call, self._heap.same

        def called(*args: Any) -> Any:
            return call(*map(same, args))

        turn = self._emulated.begin(self._profiles[path], session, called, at, path)

        def turned(given: list[Any]) -> Reply:
            reply = turn(given)
            return Reply(reply.messages, reply.result)

        return turned

    def user(self, parts: Any) -> Any:
        return self._emulated.user(parts)

    def answer(self, parts: Any) -> Any:
        return self._emulated.answer(parts)

    def results(self, calls: Any) -> Any:
        return self._emulated.results(calls)

    def result(self, call: Any) -> Any:
        return self._emulated.results([call])

    def entry(self, message: Any) -> Any:  # noqa: ARG002 - the adapter's interface
        """Raises TypeError: rules about prompts need the real package."""
        raise TypeError("a profile has no prompt entries; rules about prompts need the real package")


def _output_of(number: str) -> Any:
    return fresh(_CALLS[number])


def _calls() -> Iterator[tuple[str, Any]]:
    for turn in RULES["conversation"]["turns"]:
        for message in [*turn["messages"], *turn["answers"]]:
            yield from ((each["id"], each["output"]) for each in message["parts"] if each["type"] == "call")


_CALLS: Final = dict(_calls())


def _boundary(point: Point, heap: _Heap) -> Boundary:
    def find_kept(given: Given) -> Sequence[Any]:
        first = given[point.parameters[0]]
        own = [source[name] for source in (first, given) for name in point.stay if name in source]
        return [heap.same(each) for each in own]

    return Boundary(
        point.parameters,
        after=point.after,
        kept=find_kept,
        passive=point.passive,
        offers=point.offers,
        reaches=point.reaches,
        handler=point.goes_on,
        paths=point.paths,
    )
