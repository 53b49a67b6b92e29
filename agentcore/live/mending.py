"""`isolate` makes a hook safe, `strict` makes it raise where it writes; both at run time, in the framework.

Both put the same exchange of copies around a hook that the value run of a check uses (rule live.two-runs).
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from agentcore.guard.reading import ATOMS
from agentcore.guard.snapshot import Snapshot
from agentcore.live.adapter import Boundary
from agentcore.live.adapters import adapter_named
from agentcore.live.copies import Data, Exchange, Freezer, Outlet
from agentcore.live.loading import Loaded
from agentcore.live.writes import writes

__all__ = ["ImmutableArgumentError", "isolate", "strict"]

_T = TypeVar("_T")


class ImmutableArgumentError(TypeError):
    """A hook that `strict` goes around wrote to what it was given; the traceback has the line."""


def isolate(hook: _T, *, framework: str, at: str) -> _T:
    """Makes a hook safe: it gets copies, and the originals come back for what it leaves unchanged.

    What the boundary lets a hook assign in place still counts (rule live.outlets). The same object has the
    same copy at the next call, as long as neither changed, so caches by identity work within a run.

    Args:
        hook: a function, sync or async, or an object with the boundary's method.
        framework: the name that `--in` takes.
        at: the boundary.

    Returns:
        The function, wrapped, with the same signature; or the object, with the method wrapped.
    """
    return cast("_T", _mended(hook, framework, at, None))


def strict(hook: _T, *, framework: str, at: str) -> _T:
    """Makes a hook raise ImmutableArgumentError at the line that writes; for development.

    The hook gets copies whose lists, dicts and objects refuse writes. A write that gets around that, by a
    descriptor or in C, raises after the call, with its place.

    Args:
        hook: a function, sync or async, or an object with the boundary's method.
        framework: the name that `--in` takes.
        at: the boundary.

    Returns:
        As `isolate`.
    """
    return cast("_T", _mended(hook, framework, at, _Refusing()))


def _mended(hook: Any, framework: str, at: str, freezer: Freezer | None) -> Any:
    adapter = adapter_named(framework)
    if at not in adapter.boundaries:
        raise ValueError(f"{framework} has no boundary {at}; it has {', '.join(adapter.boundaries)}")
    boundary = adapter.boundaries[at]
    for name in boundary.methods:
        own = getattr(type(hook), name, None)
        method = getattr(hook, name, None)
        base = any(getattr(each, name, None) is own for each in adapter.bases() if isinstance(hook, each))
        if callable(method) and not base and not inspect.isfunction(hook):
            loaded = Loaded(method, inspect.iscoroutinefunction(method), name, hook, name)
            return loaded.with_method(_Mended(method, boundary, freezer).function())
    return _Mended(hook, boundary, freezer).function()


class _Mended:
    """A hook that gets copies, over all its calls."""

    def __init__(self, hook: Callable[..., Any], boundary: Boundary, freezer: Freezer | None) -> None:
        self._hook = hook
        self._boundary = boundary
        self._freezer = freezer
        self._exchange = Exchange(freezer, most=_MOST)

    def function(self) -> Callable[..., Any]:
        """Returns the wrapper, with the hook's own signature."""
        hook = self._hook

        def call(*args: Any, **options: Any) -> Any:
            inner, *call = self._begin(args, options)
            returned = hook(*inner[0], **inner[1])
            return (
                self._awaited(returned, *call)
                if inspect.isawaitable(returned)
                else self._end(returned, *call)
            )

        async def call_async(*args: Any, **options: Any) -> Any:
            inner, *call = self._begin(args, options)
            return await self._awaited(hook(*inner[0], **inner[1]), *call)

        def call_each(*args: Any, **options: Any) -> Any:
            inner, *call = self._begin(args, options)
            for value in hook(*inner[0], **inner[1]):
                yield self._end(value, *call)
            self._end(None, *call)

        async def call_each_async(*args: Any, **options: Any) -> Any:
            inner, *call = self._begin(args, options)
            async for value in hook(*inner[0], **inner[1]):
                yield self._end(value, *call)
            self._end(None, *call)

        made: Callable[..., Any] = call_async if inspect.iscoroutinefunction(hook) else call
        if inspect.isgeneratorfunction(hook):
            made = call_each
        elif inspect.isasyncgenfunction(hook):
            made = call_each_async
        made.__annotations__ = {}  # a partial has none to put in place of these
        return functools.wraps(hook)(made)

    async def _awaited(self, returned: Any, *call: Any) -> Any:
        return self._end(await returned, *call)

    def _begin(self, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
        boundary = self._boundary
        names = boundary.names(args)
        given = {**dict(zip(names, args, strict=False)), **options}
        kept = self._kept_ids(given)
        data = {name: each for name, each in given.items() if name != boundary.handler}
        entered = {**self._exchange.enter(data, kept)} if data else {}
        before = Snapshot({**entered}, Data(kept)) if self._freezer is not None else None
        outlets = self._exchange.outlets(boundary.outlets(given))
        if boundary.handler in given:
            entered[boundary.handler] = self._handler(given, outlets, kept)
        if self._freezer is not None:
            for each in outlets:
                self._freezer.allow(each.copy)
        positional = [
            entered[names[index]] if index < len(names) else each for index, each in enumerate(args)
        ]
        return (positional, {name: entered[name] for name in options}), outlets, kept, before

    def _kept_ids(self, given: Mapping[str, Any]) -> frozenset[int]:
        return frozenset(id(each) for each in self._boundary.kept(given) if type(each) not in ATOMS)

    def _handler(
        self, given: Mapping[str, Any], outlets: list[Outlet], kept: frozenset[int]
    ) -> Callable[..., Any]:
        exchange, handler = self._exchange, given[str(self._boundary.handler)]

        async def awaited(returned: Any) -> Any:
            return back(await returned)

        def back(returned: Any) -> Any:
            outlets[:] = exchange.refresh(outlets, self._kept_ids(given))
            return exchange.enter(returned, kept)

        @functools.wraps(handler)
        def call(*args: Any, **options: Any) -> Any:
            out = [exchange.leave(each, kept) for each in args]
            outlets[:] = exchange.assign(outlets, kept)
            returned = handler(*out, **{name: exchange.leave(each, kept) for name, each in options.items()})
            return awaited(returned) if inspect.isawaitable(returned) else back(returned)

        return call

    def _end(
        self, returned: Any, outlets: Sequence[Outlet], kept: frozenset[int], before: Snapshot | None
    ) -> Any:
        if before is not None:
            allowed = {id(each.copy) for each in outlets}
            found = [
                each for each in writes(before, Data(kept), 0, 0, "argument") if each.number not in allowed
            ]
            if found:
                raise ImmutableArgumentError(
                    f"{found[0].place} was changed, {found[0].before} -> {found[0].after};"
                    " return new objects instead"
                )
        self._exchange.assign(outlets, kept)
        return self._exchange.leave(returned, kept)


# Pairs hold both objects: a hook of a service that runs for weeks would hold every message it ever got.
_MOST: Final = 20_000


# ---------------------------------------------------------------- refusing writes

_WRITERS: Final[dict[type, tuple[str, ...]]] = {
    list: (
        *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"),
        *("__setitem__", "__delitem__", "__iadd__", "__imul__"),
    ),
    dict: ("__setitem__", "__delitem__", "pop", "popitem", "clear", "update", "setdefault", "__ior__"),
    set: (
        *("add", "discard", "remove", "pop", "clear", "update", "difference_update", "intersection_update"),
        *("symmetric_difference_update", "__ior__", "__iand__", "__isub__", "__ixor__"),
    ),
    bytearray: ("__setitem__", "__delitem__", "append", "extend", "insert", "pop", "clear", "__iadd__"),
}
# By number: a copy that the hook makes of a frozen object has its class, and may be written.
_FROZEN: Final[dict[int, weakref.ref[Any]]] = {}


def _is_frozen(value: Any) -> bool:
    found = _FROZEN.get(id(value))
    return found is not None and found() is value


class _Refusing:
    """Makes copies of subclasses whose writers raise for the copies themselves."""

    def frozen_class(self, cls: type) -> type:
        """Returns the subclass; the class itself where it cannot be subclassed."""
        return _frozen_class(cls)

    def own_class(self, cls: type) -> type:
        """Returns the class that a subclass was made of."""
        return cast("type", vars(cls).get(_MARK, cls))

    def allow(self, made: Any) -> None:
        """Lets a copy be written: its own slots may be assigned at this boundary."""
        _FROZEN.pop(id(made), None)

    def mark(self, made: Any) -> None:
        """Makes a copy refuse writes from now on."""
        if _MARK in vars(type(made)):
            number = id(made)
            _FROZEN[number] = weakref.ref(made, lambda _: _FROZEN.pop(number, None))


_MARK: Final = "_frozen_class_of"


@functools.lru_cache(maxsize=1_000)
def _frozen_class(cls: type) -> type:
    body: dict[str, Any] = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__slots__": () if cls.__weakrefoffset__ else ("__weakref__",),
        _MARK: cls,
    }
    for base, names in _WRITERS.items():
        if issubclass(cls, base):
            body.update({name: _writer(getattr(cls, name)) for name in names})
    if cls.__dictoffset__ or any("__slots__" in vars(each) for each in cls.__mro__[:-1]):
        body.update(__setattr__=_writer(cls.__setattr__), __delattr__=_writer(cls.__delattr__))
    try:
        return type(cls)(cls.__name__, (cls,), body)
    except Exception:  # noqa: BLE001 - a metaclass may refuse, or a class be final; the comparison finds its writes
        return cls


def _writer(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def write(self: Any, *args: Any, **options: Any) -> Any:
        if _is_frozen(self):
            raise ImmutableArgumentError(
                f"a hook writes to a {type(self).__name__} that it was given; return a new one instead"
            )
        return own(self, *args, **options)

    return write
