"""Copies of whole graphs of objects, made without running code of their classes, and the way back.

What a hook is given as a value is the copy; what it returns comes back with the originals for all copies that
are unchanged. Runs under the interpreter of whoever's hook is checked: standard library only.
"""

from __future__ import annotations

import array
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple, Protocol

from agentcore.guard.reading import Contents, Reader, Unread, plan_of
from agentcore.guard.snapshot import Found, Record, Snapshot, compared, values_of

__all__ = ["Data", "Exchange", "Freezer", "Hidden", "Outlet", "hide", "take_back"]


class Data(Reader):
    """Reads objects like the guard, but looks into none of `kept`."""

    def __init__(self, kept: Collection[int] = ()) -> None:
        super().__init__((), kept)


class Freezer(Protocol):
    """Makes copies that refuse writes."""

    def frozen_class(self, cls: type) -> type:
        """Returns the class of the copies of instances of a class."""
        ...

    def own_class(self, cls: type) -> type:
        """Returns the class that copies of this one stand for."""
        ...

    def mark(self, made: Any) -> None:
        """Makes a copy refuse writes from now on."""
        ...

    def allow(self, made: Any) -> None:
        """Lets a copy be written again."""
        ...


class Outlet(NamedTuple):
    """An object whose own slots a hook may assign, its copy, and what both held when they were last alike."""

    original: Any
    copy: Any
    outer: dict[Any, Any]
    inner: dict[Any, Any]

    @classmethod
    def of(cls, original: Any, copy: Any) -> Outlet:
        """Returns the outlet of an object and a copy that are alike."""
        return cls(original, copy, _slots_of(original), _slots_of(copy))


class _Pair(NamedTuple):
    """An object, its counterpart on the other side, and what both held when they were paired."""

    record: Record
    other: Record


class Exchange:
    """One pairing of the framework's objects with the hook's, kept over all calls of a run.

    An object that crosses to the other side is its counterpart there as long as neither of the two changed
    (rules live.copies-in, live.identity-out); else it is copied anew.
    """

    def __init__(self, freezer: Freezer | None = None, most: int | None = None) -> None:
        """Begins without pairs.

        Args:
            freezer: makes the hook's copies refuse writes.
            most: how many pairs are kept; beyond that all are forgotten.
        """
        self._inner: dict[int, _Pair] = {}
        self._outer: dict[int, _Pair] = {}
        self._freezer = freezer
        self._most = most

    def enter(self, value: Any, kept: Collection[int] = ()) -> Any:
        """Returns what the hook gets for a value of the framework."""
        if self._most is not None and len(self._inner) > self._most:
            # Both sides at once: an object that is known on one side only would come back as a copy.
            self._inner.clear()
            self._outer.clear()
        freezer = self._freezer
        made_of = _same_class if freezer is None else freezer.frozen_class
        crossing = _Crossing(value, Data(kept), self._inner, self._outer, made_of)
        if freezer is not None:
            for each in crossing.copies:
                freezer.mark(each)
        return crossing.made

    def leave(self, value: Any, kept: Collection[int] = ()) -> Any:
        """Returns what the framework gets for a value of the hook."""
        made_of = _same_class if self._freezer is None else self._freezer.own_class
        return _Crossing(value, Data(kept), self._outer, self._inner, made_of).made

    def share(self, given: Snapshot) -> None:
        """Notes that the hook has the framework's own objects: those it leaves unchanged stay themselves."""
        for number, record in given.records.items():
            self._inner[number] = self._outer[number] = _Pair(record, record)

    def outlets(self, values: Iterable[Any]) -> list[Outlet]:
        """Returns those of the framework's objects that have entered, whose own slots a hook may assign."""
        pairs = [(each, self._inner[id(each)].other.value) for each in values if id(each) in self._inner]
        return [Outlet.of(each, copy) for each, copy in pairs]

    def assign(self, outlets: Iterable[Outlet], kept: Collection[int] = ()) -> list[Outlet]:
        """Does to the framework's objects what the hook assigned to slots of outlets (rule live.outlets)."""
        outlets = [*outlets]
        for original, copy, _, before in outlets:
            _assign(original, before, copy, lambda each: self.leave(each, kept))
        return [Outlet.of(original, copy) for original, copy, *_ in outlets]

    def refresh(self, outlets: Iterable[Outlet], kept: Collection[int] = ()) -> list[Outlet]:
        """Does to the hook's copies what the framework has assigned to slots of outlets since."""
        outlets = [*outlets]
        for original, copy, before, _ in outlets:
            _assign(copy, before, original, lambda each: self.enter(each, kept))
        return [Outlet.of(original, copy) for original, copy, *_ in outlets]


def _assign(to: Any, before: dict[Any, Any], of: Any, crossed: Callable[[Any], Any]) -> None:
    after = _slots_of(of)
    if before.keys() == after.keys() and all(before[name] is each for name, each in after.items()):
        return
    # A list is assigned as a whole: which element is which cannot be known once some were inserted.
    if isinstance(to, list):
        to[:] = [crossed(each) for each in of]
    elif isinstance(to, dict):
        made = {key: crossed(each) for key, each in of.items()}
        to.clear()
        to.update(made)
    else:
        for name, each in after.items():
            if name not in before or before[name] is not each:
                setattr(to, name, crossed(each))


def _slots_of(value: Any) -> dict[Any, Any]:
    if isinstance(value, list):
        return dict(enumerate(value))
    return dict(value) if isinstance(value, dict) else dict(vars(value))


def _same_class(cls: type) -> type:
    return cls


class _Crossing:
    """One value on its way to the other side."""

    def __init__(
        self,
        value: Any,
        reader: Data,
        there: dict[int, _Pair],
        back: dict[int, _Pair],
        made_of: Callable[[type], type],
    ) -> None:
        self._reader = reader
        self._made_of = made_of
        self.copies: list[Any] = []
        self._snapshot = Snapshot(value, reader)
        self._made: dict[int, Any] = {}
        self._pending: set[int] = set()
        self._keep_counterparts(there)
        fresh = [number for number in self._snapshot.records if number not in self._made]
        self.made = self._copied(value)
        for number in fresh:
            made = self._made.get(number)
            record = self._snapshot.records[number]
            if made is None or made is record.value:
                continue
            other = _record(made, reader)
            there[number] = _Pair(record, other)
            back[id(made)] = _Pair(other, record)
            self.copies.append(made)

    def _keep_counterparts(self, there: dict[int, _Pair]) -> None:
        records = self._snapshot.records
        stale = [number for number, record in records.items() if not self._stands(record, there)]
        seen = set(stale)
        if stale:
            holders = _holders(records)
            while stale:
                for holder in holders.get(stale.pop(), ()):
                    if holder not in seen:
                        seen.add(holder)
                        stale.append(holder)
        for number in records:
            if number not in seen:
                self._made[number] = there[number].other.value

    def _stands(self, record: Record, there: dict[int, _Pair]) -> bool:
        """True if an object may count as its counterpart: neither changed, and what they hold is paired."""
        pair = there.get(id(record.value))
        if pair is None or _changed(pair.record, self._reader) or _changed(pair.other, self._reader):
            return False
        others = set(map(id, values_of(pair.other.held)))
        records = self._snapshot.records
        for number in map(id, values_of(record.held)):
            held = there.get(number)
            if held is not None and number in records and id(held.other.value) not in others:
                return False
        return True

    def _copied(self, value: Any) -> Any:
        number = id(value)
        if number in self._made:
            return self._made[number]
        # In a cycle through something that can only be made whole, such as a tuple, the original has to
        # stand in: there is no empty one to fill later.
        record = self._snapshot.records.get(number)
        if record is None or number in self._pending or not record.contents.whole:
            return value
        self._pending.add(number)
        made = self._made[number] = self._shell(value, record.contents)
        if made is not value:
            self._fill(made, value, record.contents)
        self._pending.discard(number)
        return made

    def _shell(self, value: Any, contents: Contents) -> Any:
        """An empty object of the class; what cannot be filled later is made with all it holds."""
        cls = self._made_of(type(value))
        if cls is dict:
            return {}
        if cls is list:
            return []
        for base, make in _SHELLS.items():
            if issubclass(cls, base):
                return make(cls, value, contents, self._copied)
        try:
            return object.__new__(cls)
        except TypeError:
            return value  # made in C, by nothing that is known here

    def _fill(self, made: Any, value: Any, contents: Contents) -> None:
        for base, fill in _FILLS.items():
            if isinstance(made, base):
                fill(made, contents, self._copied)
                break
        plan = plan_of(type(value))
        if plan.dictionary is not None:
            target = plan.dictionary.__get__(made)
            for name, each in dict.items(plan.dictionary.__get__(value)):
                if name not in plan.computed:
                    target[name] = self._copied(each)
        for _, descriptor in plan.slots:
            try:
                held = descriptor.__get__(value)
            except AttributeError:
                continue
            try:
                descriptor.__set__(made, self._copied(held))
            except (AttributeError, TypeError):
                continue  # a field of C that is read-only is made with the object


def _record(value: Any, reader: Reader) -> Record:
    cls = type(value)
    held = value.copy() if cls is dict or cls is list else reader(value)
    return Record(value, cls, held if not isinstance(held, Unread) else Contents())


def _changed(record: Record, reader: Reader) -> bool:
    return not record.unchanged(reader) and any(True for _ in compared(record, reader))


def _holders(records: dict[int, Record]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for number, record in records.items():
        for each in map(id, values_of(record.held)):
            if each in records:
                found.setdefault(each, []).append(number)
    return found


_Copied = Callable[[Any], Any]
_Shell = Callable[[type, Any, Contents, _Copied], Any]


def _items(contents: Contents, value: Any) -> Iterator[Any]:
    # A named tuple is read as fields.
    return iter(contents.items if contents.items is not None else tuple.__iter__(value))


_SHELLS: Final[dict[type, _Shell]] = {
    OrderedDict: lambda cls, *_: OrderedDict.__new__(cls),
    dict: lambda cls, *_: dict.__new__(cls),
    list: lambda cls, *_: list.__new__(cls),
    tuple: lambda cls, value, held, copied: tuple.__new__(
        cls, [copied(each) for each in _items(held, value)]
    ),
    set: lambda cls, *_: set.__new__(cls),
    frozenset: lambda cls, _, held, copied: frozenset.__new__(
        cls, [copied(each) for each in held.members or ()]
    ),
    deque: lambda cls, value, *_: _deque(cls, value),
    bytearray: lambda cls, *_: bytearray.__new__(cls),
    array.array: lambda _, value, *__: value[:],
    types.MappingProxyType: lambda _, __, held, copied: types.MappingProxyType(
        copied(next(iter((held.fields or {}).values())))
    ),
    BaseException: lambda cls, _, held, copied: cls.__new__(
        cls, *[copied(each) for each in held.items or ()]
    ),
}


def _deque(cls: type, value: Any) -> Any:
    made: Any = deque.__new__(cls)
    deque.__init__(made, (), deque.maxlen.__get__(value))
    return made


_FILLS: Final[dict[type, Callable[[Any, Contents, _Copied], None]]] = {
    OrderedDict: lambda made, held, copied: OrderedDict.update(
        made, [(copied(key), copied(each)) for key, each in (held.entries or {}).items()]
    ),
    dict: lambda made, held, copied: dict.update(
        made, [(copied(key), copied(each)) for key, each in (held.entries or {}).items()]
    ),
    list: lambda made, held, copied: list.extend(made, [copied(each) for each in held.items or ()]),
    set: lambda made, held, copied: set.update(made, [copied(each) for each in held.members or ()]),
    deque: lambda made, held, copied: deque.extend(made, [copied(each) for each in held.items or ()]),
    bytearray: lambda made, held, _: bytearray.extend(made, held.data or b""),
}


# ---------------------------------------------------------------- taking writes back


class Hidden:
    """Writes that were taken back for a while: the objects, and what the hook had made of them."""

    def __init__(self, made: Sequence[Record] = ()) -> None:
        self._made = made

    def show(self) -> None:
        """Does the writes again."""
        for record in self._made:
            _restore(record.value, record.contents)


def hide(snapshot: Snapshot, reader: Reader, stays: Callable[[int, Found], bool]) -> Hidden:
    """Takes writes back, and returns them.

    Args:
        snapshot: what the objects held.
        reader: reads what they hold now.
        stays: says of an object's number and a place of it that holds something else that it stays so.
    """
    made = []
    for number, record in snapshot.records.items():
        if not record.unchanged(reader):
            now = reader.again(record.value)
            changes = [*compared(record, reader)]
            kept = [found for found in changes if stays(number, found)]
            if len(kept) == len(changes):
                continue  # what is assigned to it meanwhile stays, too
            if not isinstance(now, Unread):
                made.append(Record(record.value, record.cls, now))
            _restore(record.value, _with(record.contents, now, kept))
    return Hidden(made)


def take_back(snapshot: Snapshot, reader: Reader) -> None:
    """Makes every object of a snapshot hold again what it held, as far as Python lets one write there."""
    hide(snapshot, reader, lambda _, __: False)


def _with(held: Contents, now: Contents | Unread, kept: Sequence[Found]) -> Contents:
    """Returns what was held before, with these places as they are now; a list has no places of its own."""
    if isinstance(now, Unread) or not kept:
        return held
    kinds = {found.step and found.step.kind for found in kept}
    names = {
        found.step.key for found in kept if found.step is not None and found.step.kind in ("key", "field")
    }
    return Contents(
        items=now.items if "item" in kinds else held.items,
        entries=now.entries if None in kinds else _mixed(held.entries, now.entries, names),
        members=now.members if "member" in kinds else held.members,
        fields=_mixed(held.fields, now.fields, names),
        data=now.data if None in kinds else held.data,
    )


def _mixed(
    held: dict[Any, Any] | None, now: dict[Any, Any] | None, names: AbstractSet[Any]
) -> dict[Any, Any] | None:
    if held is None or now is None:
        return held
    kept = {name: value for name, value in held.items() if name not in names}
    return {**kept, **{name: value for name, value in now.items() if name in names}}


def _restore(value: Any, held: Contents) -> None:  # noqa: C901 - a table of containers
    if held.entries is not None and isinstance(value, dict):
        dict.clear(value)
        dict.update(value, held.entries)
    elif held.items is not None and isinstance(value, list):
        list.__setitem__(value, slice(None), held.items)
    elif held.items is not None and isinstance(value, deque):
        deque.clear(value)
        deque.extend(value, held.items)
    elif held.members is not None and isinstance(value, set):
        set.clear(value)
        set.update(value, held.members)
    elif held.data is not None and isinstance(value, bytearray):
        value[:] = held.data
    plan = plan_of(type(value))
    fields = dict(held.fields or {})
    if plan.dictionary is not None:
        own = plan.dictionary.__get__(value)
        named = {name for name, _ in plan.slots}
        for name in [*own]:
            if name not in fields and name not in plan.computed:
                del own[name]
        own.update({name: each for name, each in fields.items() if name not in named})
    for name, descriptor in plan.slots:
        if name in fields:
            try:
                descriptor.__set__(value, fields[name])
            except (AttributeError, TypeError):
                continue
