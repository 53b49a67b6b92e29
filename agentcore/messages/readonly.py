"""The refusal of writes into values: the place, the writer, and what to return instead.

Every sequence, mapping and set that leaves the core refuses the mutators of Python's `list`, `dict` and `set`
(`MUTATORS`), and so do the methods by which the libraries underneath return a changed copy: whoever calls
`append` expects an append, and a call that does nothing is the fault this package exists for (rule
step.nothing-written).

A value does not know where it stands: the same message is in many chains. Whoever passes values to a person's
code says so (`agentcore.machine.hooks.handing`), and a refused write is looked for in what was passed, by
identity. That costs only where a write is refused.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from contextvars import ContextVar
from types import FrameType, MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, cast

import attrs

from agentcore.errors import ImmutableWriteError
from agentcore.messages.brief import json_path

__all__ = ["CURRENT", "MUTATORS", "Handing", "HookKind", "read_only", "refused_write", "refused_write_in"]

_C = TypeVar("_C", bound=type)
_Keys: TypeAlias = tuple[str | int, ...]

Kind: TypeAlias = Literal["list", "dict", "set"]
HookKind: TypeAlias = Literal["processor", "observer", "middleware", "tool", "model"]
"""The way in which code can replace a value that it got; a refusal advises accordingly."""


# ---------------------------------------------------------------- the table

_FRESH_LIST: Final = "[*{v}[:index], item, *{v}[index + 1:]]"
_SHORTER_LIST: Final = "[*{v}[:index], *{v}[index + 1:]]"
_SHORTER_DICT: Final = "{{key: value for key, value in {v}.items() if key != gone}}"
_FRESH_DICT: Final = "{{**{v}, key: value}}"
# Attributes: somebody who sets one has taken the value for an object of a class.
_ATTRIBUTES: Final = ("__setattr__", "__delattr__")

MUTATORS: Final[Mapping[Kind, Mapping[str, str]]] = MappingProxyType(
    {
        "list": {
            "append": "[*{v}, item]",
            "extend": "[*{v}, *items]",
            "insert": "[*{v}[:index], item, *{v}[index:]]",
            "remove": "[each for each in {v} if each != item]",
            "pop": "{v}[:-1]",
            "clear": "[]",
            "sort": "sorted({v})",
            "reverse": "{v}[::-1]",
            "__setitem__": _FRESH_LIST,
            "__delitem__": _SHORTER_LIST,
            "__iadd__": "[*{v}, *items]",
            "__imul__": "[*{v}, *{v}]",
            # Of pyrsistent's vectors, where they return a changed copy.
            "set": _FRESH_LIST,
            "mset": _FRESH_LIST,
            "delete": _SHORTER_LIST,
            "transform": _FRESH_LIST,
            "evolver": "list({v})",
            **dict.fromkeys(_ATTRIBUTES, "list({v})"),
        },
        "dict": {
            "__setitem__": _FRESH_DICT,
            "__delitem__": _SHORTER_DICT,
            "setdefault": _FRESH_DICT,
            "update": "{{**{v}, **others}}",
            "pop": _SHORTER_DICT,
            "popitem": _SHORTER_DICT,
            "clear": "{{}}",
            "__ior__": "{{**{v}, **others}}",
            # Of immutabledict, where they return a changed copy.
            "set": _FRESH_DICT,
            "delete": _SHORTER_DICT,
            "discard": _SHORTER_DICT,
            **dict.fromkeys(_ATTRIBUTES, _FRESH_DICT),
        },
        "set": {
            "add": "{{*{v}, item}}",
            "update": "{v} | others",
            "discard": "{v} - {{item}}",
            "remove": "{v} - {{item}}",
            "pop": "{v} - {{item}}",
            "clear": "set()",
            "difference_update": "{v} - others",
            "intersection_update": "{v} & others",
            "symmetric_difference_update": "{v} ^ others",
            "__iand__": "{v} & others",
            "__ior__": "{v} | others",
            "__isub__": "{v} - others",
            "__ixor__": "{v} ^ others",
            **dict.fromkeys(_ATTRIBUTES, "set({v})"),
        },
    }
)
"""The replacement that a refusal advises for each mutator; `{v}` stands for the name of the value."""


def read_only(kind: Kind) -> Callable[[_C], _C]:
    """Make the class refuse every mutator of its kind; a decorator.

    The methods are put there at run time, so that a type checker finds no such method and reports the call.
    """

    def decorate(cls: _C) -> _C:
        for name, instead in MUTATORS[kind].items():
            setattr(cls, name, _refusing(kind, name, instead))
        return cls

    return decorate


def _refusing(kind: Kind, name: str, instead: str) -> Callable[..., Any]:
    has_key = name in ("__setitem__", "__delitem__", *_ATTRIBUTES)

    def refuse(self: Any, *args: object, **_: object) -> Any:
        key = args[0] if has_key and args and isinstance(args[0], (str, int)) else None
        keys, now = _place(self)
        what = f"this {kind} cannot change, so {_SAID.get(name, f'`{name}`')} is refused"
        ending = "" if now is None else _ending(now, keys)
        reason = f"{what}; make a new one, such as {instead.format(v=_name_of(keys))}{ending}"
        raise _error(keys, key, reason, now)

    refuse.__name__ = name
    refuse.__qualname__ = f"{kind}.{name}"
    refuse.__doc__ = "Raises ImmutableWriteError: the value cannot change."
    return refuse


_SAID: Final[Mapping[str, str]] = MappingProxyType(
    {
        "__setitem__": "assigning an item",
        "__delitem__": "deleting an item",
        "__setattr__": "assigning an attribute",
        "__delattr__": "deleting an attribute",
        "__iadd__": "`+=`",
        "__imul__": "`*=`",
        "__ior__": "`|=`",
        "__iand__": "`&=`",
        "__isub__": "`-=`",
        "__ixor__": "`^=`",
    }
)


def _name_of(keys: _Keys) -> str:
    """The end of a place, as code would have it: `messages[0]`, `content`, `input`."""
    indices = ""
    for key in reversed(keys):
        if isinstance(key, str) and key.isidentifier():
            return key + indices
        indices = f"[{key!r}]{indices}"
    return "value"


# ---------------------------------------------------------------- what was passed to whom


class Handing(NamedTuple):
    """The running call of a person's code: the hook's name, its step (None before all), and the value."""

    hook: str
    kind: HookKind
    step_number: int | None
    given: object


CURRENT: Final[ContextVar[Handing | None]] = ContextVar("agentcore_handing", default=None)
"""Set by `agentcore.machine.hooks.handing`; None outside a person's code."""


_ENDINGS: Final[Mapping[HookKind, str]] = MappingProxyType(
    {
        "processor": ", and return it in {{{field}: ...}}: what {hook} returns is used, not what it writes",
        "observer": ", and return it from prepare_step: {hook} only looks on",
        "middleware": ", and pass it on in a context or result made by attrs.evolve",
        "tool": "; a tool changes the conversation by what it returns",
        "model": "; a model changes the conversation by its answer",
    }
)


def _ending(now: Handing, keys: _Keys) -> str:
    field = f'"{keys[0]}"' if keys else '"messages"'
    return _ENDINGS[now.kind].format(hook=now.hook, field=field)


def refused_write(target: object, key: str | int | None, reason: str) -> ImmutableWriteError:
    """Make the error of a write that was refused.

    Args:
        target: the value that was to change.
        key: the field, index or key that was to be written; None for the value as a whole.
        reason: what is wrong, and what to do.

    Returns:
        The error, with the place in what the running hook was given, that hook and its step. Outside of hooks
        the place begins at a local variable of the code that writes, else at the value itself.
    """
    keys, now = _place(target)
    return _error(keys, key, reason, now)


def _place(target: object) -> tuple[_Keys, Handing | None]:
    now, writer = CURRENT.get(), _writer()
    roots = [*(() if now is None else (now.given,)), *filter(_is_ours, writer.f_locals.values())]
    places = (_place_of(target, root, writer) for root in roots)
    return next((keys for keys in places if keys is not None), ()), now


def _is_ours(value: object) -> bool:
    return attrs.has(type(value)) and type(value).__module__.startswith(_PACKAGE)


def _error(keys: _Keys, key: str | int | None, reason: str, now: Handing | None) -> ImmutableWriteError:
    path = json_path("$", *keys, *(() if key is None else (key,)))
    hook, step_number = (None, None) if now is None else (now.hook, now.step_number)
    return ImmutableWriteError(path, reason, hook=hook, step_number=step_number)


def refused_write_in(error: BaseException | None) -> ImmutableWriteError | None:
    """Find a refused write in an exception: itself, in its group, or what it was raised from or during."""
    pending = [error]
    seen: set[int] = set()
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        if isinstance(one, ImmutableWriteError):
            return one
        seen.add(id(one))
        pending += (one.__context__, one.__cause__)
        if isinstance(one, BaseExceptionGroup):
            pending += one.exceptions
    return None


# ---------------------------------------------------------------- places

# Looking stops there: by then it costs as much as a person waits for without noticing.
_MOST: Final = 200_000
_PACKAGE: Final = "agentcore."
_ATOMS: Final = (str, bytes, int, float, bool, type(None))


class _Found(NamedTuple):
    """A value on the way through what was given; `is_made` if a property makes another one each time."""

    keys: _Keys
    value: object
    is_made: bool = False

    def is_place_of(self, target: object) -> bool:
        same = self.is_made and type(self.value) is type(target) and self.value == target
        return self.value is target or same


def _place_of(target: object, root: object, writer: FrameType) -> _Keys | None:
    """The keys from the root to the target, the nearest, or None if it is not there.

    A message is in many chains, and an empty list stands in several fields at once. So the fields that the
    code names are looked through first, and all others only if the target is not among those.
    """
    named = frozenset((*writer.f_code.co_names, *writer.f_code.co_varnames, *writer.f_code.co_freevars))
    for names in (named, None):
        for found in _walk(root, names):
            if found.is_place_of(target):
                return found.keys
    return None


def _walk(root: object, names: frozenset[str] | None) -> Iterator[_Found]:
    queue = deque([_Found((), root)])
    opened: set[int] = set()
    kept: list[object] = []  # what properties made, whose ids are to stay theirs
    left = _MOST
    while queue and left:
        left -= 1
        found = queue.popleft()
        yield found
        if not isinstance(found.value, _ATOMS) and id(found.value) not in opened:
            opened.add(id(found.value))
            kept.append(found.value)
            queue.extend(_children(found, names))


def _children(found: _Found, names: frozenset[str] | None) -> Iterator[_Found]:
    keys, value = found.keys, found.value
    if isinstance(value, Mapping):
        yield from (_Found((*keys, str(key)), item) for key, item in value.items())
    elif isinstance(value, (Sequence, AbstractSet)):
        yield from (_Found((*keys, index), item) for index, item in enumerate(value))
    elif attrs.has(type(value)):
        fields = {each.name for each in attrs.fields(cast("Any", type(value)))}
        for name in (
            _public(type(value)) if names is None else filter(names.__contains__, _public(type(value)))
        ):
            with suppress(Exception):  # a property that has nothing to give yet is no place
                yield _Found((*keys, name), getattr(value, name), is_made=name not in fields)


def _public(cls: Any) -> list[str]:
    """The public fields of an attrs class, and the properties of one of this package."""
    fields = [each.name for each in attrs.fields(cls)]
    ours = vars(cls).items() if cls.__module__.startswith(_PACKAGE) else ()
    made = (name for name, each in ours if isinstance(each, property))
    return [name for name in (*fields, *made) if name[0] != "_"]


def _writer() -> FrameType:
    """The code that writes: the nearest frame that is none of this package's."""
    frame = sys._getframe(1)  # noqa: SLF001 - there is no public way to a caller's code without its source
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back
    return frame
