"""Messages handed out as a framework would, with as much of them new as a copy depth says.

Tests of isolation ask for the fixture `handed_out`, and `agentcore grade` runs them under each depth: a test
that passes under one in which objects are shared cannot tell that depth from isolation.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

__all__ = ["DEPTHS", "ISOLATION", "Depth", "HandOut", "Shared", "shared"]

Depth: TypeAlias = Literal["share", "list", "message", "content", "part", "deep"]

ISOLATION: Final[Depth] = "deep"
DEPTHS: Final[tuple[Depth, ...]] = ("share", "list", "message", "content", "part", ISOLATION)
"""How much of the tree from the list down to what a part holds is new; nothing is shared in the last one."""

_CONTENT: Final = ("content", "parts", "contents")
_PLAIN: Final = (str, bytes, int, float, bool, type(None))


@dataclass(frozen=True)
class Shared:
    """An object that the one who hands out and the one who is given still share.

    Attributes:
        place: the way to it, as code: `[0]["content"]`; empty for the list of messages itself.
        write: code that writes to it, with `{}` for the name of the list.
    """

    place: str
    write: str


@dataclass
class HandOut:
    """What the fixture `handed_out` is: a function that hands messages out under one depth.

    Attributes:
        depth: the depth.
        calls: how often it was called.
        shared: the outermost objects that the messages of all calls share with what was handed out.
        on_call: called after each call.
    """

    depth: Depth = ISOLATION
    calls: int = 0
    shared: list[Shared] = field(default_factory=list)
    on_call: Callable[[HandOut], None] = lambda _: None

    def __call__(self, messages: Sequence[Any]) -> Any:
        """Returns the messages as a framework of this depth gives them to a hook.

        Args:
            messages: a list of messages: dicts, or objects with `content`, `parts` or `contents`.
        """
        self.calls += 1
        given = _copied(messages, DEPTHS.index(self.depth))
        self.shared += shared(messages, given)
        self.on_call(self)
        return given


def _copied(value: Any, levels: int) -> Any:
    """Copies the list if there is a level, the messages if there are two, and so on; all for the deepest."""
    if levels >= len(DEPTHS) - 1:
        return copy.deepcopy(value)
    if levels == 0:
        return value
    return type(value)([_copied_message(each, levels - 1) for each in value])


def _copied_message(message: Any, levels: int) -> Any:
    if levels == 0 or isinstance(message, _PLAIN):
        return message
    made = copy.copy(message)
    for name, content in _contents(message):
        if levels > 1 and isinstance(content, list):
            parts = [each if levels == 2 else copy.copy(each) for each in content]  # noqa: PLR2004 - as above
            _put(made, name, parts)
    return made


def _contents(message: Any) -> Iterator[tuple[str, Any]]:
    for name in _CONTENT:
        if isinstance(message, dict):
            if name in message:
                yield name, message[name]
        elif hasattr(message, name):
            yield name, getattr(message, name)


def _put(message: Any, name: str, value: Any) -> None:
    if isinstance(message, dict):
        message[name] = value
    else:
        object.__setattr__(message, name, value)


def shared(one: Any, other: Any) -> list[Shared]:
    """Returns the outermost objects that two values have in common at the same places.

    Args:
        one: a value.
        other: a copy of it.
    """
    found: list[Shared] = []
    level: list[tuple[str, Any, Any]] = [("", one, other)]
    while level:
        below: list[tuple[str, Any, Any]] = []
        for place, mine, theirs in level:
            if mine is theirs:
                if (write := _write_to(mine)) is not None:
                    found.append(Shared(place, f"{{}}{place}{write}"))
                continue
            below += _slots(place, mine, theirs)
        level = below
    return found


def _write_to(value: Any) -> str | None:
    """Returns code that writes to an object; None if nobody can."""
    if isinstance(value, list):
        return '.append("changed")'
    if isinstance(value, dict):
        return '["changed"] = True'
    if isinstance(value, (*_PLAIN, tuple, frozenset)) or not hasattr(value, "__dict__"):
        return None
    return f".{next(iter(vars(value)), 'changed')} = None"


def _slots(place: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        for index, (mine, theirs) in enumerate(zip(one, other, strict=False)):
            yield f"{place}[{index}]", mine, theirs
    elif isinstance(one, dict) and isinstance(other, dict):
        for key, mine in one.items():
            if key in other:
                yield f"{place}[{key!r}]".replace("'", '"'), mine, other[key]
    elif not isinstance(one, _PLAIN) and hasattr(one, "__dict__"):
        for name, mine in vars(one).items():
            if name in vars(other):
                yield f"{place}.{name}", mine, vars(other)[name]
