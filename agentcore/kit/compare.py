"""Compares two traces and finds the first difference: rules oracle.agreement, oracle.first-difference.

Two traces agree when they are equal as JSON: types told apart, object keys in any order, `1.0` being `1`.
A family's `Comparison` states what may differ all the same, one small function per permission, each of
which can be switched off.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias

import attrs

from agentcore.kit.safe_text import bounded
from agentcore.messages.brief import Trail, brief, keys_of

__all__ = [
    "MISSING",
    "Comparison",
    "Difference",
    "Each",
    "Missing",
    "Observation",
    "Trace",
    "alike",
    "differences",
    "ids_may_differ",
    "observations",
    "places",
    "render",
]

Trace: TypeAlias = dict[str, Any]


@attrs.frozen
class Each:
    """In the order of a trace: a list of objects, one after the other, the fields of each in this order."""

    field: str
    fields: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Comparison:
    """The settings by which two traces of a family are compared.

    `permitted` are named functions, each of which takes out of a trace one thing that may differ, for the
    reason in its docstring. `order` is that in which fields are compared, so that the first difference is the
    first of the run; fields that it does not name come last.
    """

    permitted: Mapping[str, Callable[[Trace], Trace]]
    order: tuple[str | Each, ...]


class Missing:
    """A marker for a place where one trace has nothing at all."""

    def __repr__(self) -> str:
        return "nothing"

    def __reduce__(self) -> str:
        return "MISSING"  # there is one, in each process


MISSING: Final = Missing()
_INDEX: Final = re.compile(r"\[\d+\]")


def ids_may_differ(trace: Trace) -> Trace:
    """`id` names the program, and is no part of the run."""
    return {key: value for key, value in trace.items() if key != "id"}


# --- comparison ---------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Difference:
    """The first difference between two traces.

    `path` is where, as deep as it can be said, with what each trace has there (MISSING: nothing);
    `observation` is the path of the observation that it is in (`$.steps[1].prompt`), with all of what each
    trace has there.
    """

    __repr__ = brief

    path: str
    expected: Any
    actual: Any
    observation: str
    expected_observation: Any
    actual_observation: Any

    @property
    def kind(self) -> str:
        """The observation whatever its place in a list: `$.steps[].prompt`."""
        return _INDEX.sub("[]", self.observation)


def differences(
    expected: Trace, actual: Trace, comparison: Comparison, *, strict_about: Collection[str] = ()
) -> Difference | None:
    """The first difference in the order of the run, or None if the traces agree.

    `strict_about` names permissions that are switched off. Raises KeyError for a name
    that `comparison.permitted` does not have.
    """
    off = {comparison.permitted[name] for name in strict_about}
    for permit in comparison.permitted.values():
        if permit not in off:
            expected, actual = permit(expected), permit(actual)
    # Nearly all traces agree: the quick comparison spares them the walk.
    if alike(expected, actual):
        return None
    for path, mine, theirs in _fields("$", expected, actual, comparison.order):
        found = _first(mine, theirs)
        if found is not None:
            trail, here, there = found
            return Difference(
                path=path + "".join(map(_step, keys_of(trail))),
                expected=here,
                actual=there,
                observation=path,
                expected_observation=mine,
                actual_observation=theirs,
            )
    return None


@attrs.frozen
class Observation:
    """The values of two traces at one observation, MISSING for nothing; `path` has the indexes of lists."""

    __repr__ = brief

    path: str
    expected: Any
    actual: Any

    @property
    def differs(self) -> bool:
        """True if the two values are not the same JSON."""
        return not alike(self.expected, self.actual) and _first(self.expected, self.actual) is not None


def observations(expected: Trace, actual: Trace, comparison: Comparison) -> Iterator[Observation]:
    """Yields the observations of two traces in the order of the run, without what may differ."""
    for permit in comparison.permitted.values():
        expected, actual = permit(expected), permit(actual)
    for path, mine, theirs in _fields("$", expected, actual, comparison.order):
        yield Observation(path, mine, theirs)


def alike(mine: Any, theirs: Any) -> bool:
    """A quick check of equality: True is certain; False may be wrong, as for 1 and 1.0.

    A shortcut: Python compares whole traces in a tenth of the time that a walk takes, but for it True is 1.
    """
    try:
        return bool(mine == theirs) and _of_the_same_types([mine], [theirs])
    except RecursionError:
        return False


def _of_the_same_types(mine: Any, theirs: Any) -> bool:
    """True if two equal containers have booleans at the same places; Python takes True for 1."""
    for key, value in mine.items() if type(mine) is dict else enumerate(mine):
        kind = type(value)
        # Nothing else is equal to a text or to null.
        if kind is str or value is None:
            continue
        other = theirs[key]
        if kind is not type(other):
            return False
        if (kind is dict or kind is list) and value and not _of_the_same_types(value, other):
            return False
    return True


def places(expected: Trace, actual: Trace, comparison: Comparison) -> tuple[str, ...]:
    """All that differs, in the order of the run: observations and one level of fields in them.

    Whatever the place in a list, such as `$.steps[].prompt`, `$.steps[].onStepFinish.messages` and
    `$.final.steps`; nothing if the traces agree.
    """
    for permit in comparison.permitted.values():
        expected, actual = permit(expected), permit(actual)
    if alike(expected, actual):
        return ()
    found = (
        where
        for path, mine, theirs in _fields("$", expected, actual, comparison.order)
        if not alike(mine, theirs)
        for where in _fields_that_differ(path, mine, theirs)
    )
    return tuple(dict.fromkeys(_INDEX.sub("[]", where) for where in found))


def _fields_that_differ(path: str, mine: Any, theirs: Any) -> Iterator[str]:
    if not isinstance(mine, dict) or not isinstance(theirs, dict):
        if _first(mine, theirs) is not None:
            yield path
        return
    for key in {**mine, **theirs}:
        if _first(mine.get(key, MISSING), theirs.get(key, MISSING)) is not None:
            yield f"{path}{_step(key)}"


_Pair: TypeAlias = tuple[str, Any, Any]


def _fields(path: str, expected: Trace, actual: Trace, order: tuple[str | Each, ...]) -> Iterator[_Pair]:
    """Yields the observations of both traces in the order of the run."""
    named = {entry.field if isinstance(entry, Each) else entry: entry for entry in order}
    for key in {**named, **expected, **actual}:
        entry = named.get(key)
        mine, theirs = expected.get(key, MISSING), actual.get(key, MISSING)
        if isinstance(entry, Each):
            yield from _entries(f"{path}.{key}", mine, theirs, entry.fields)
        else:
            yield f"{path}.{key}", mine, theirs


def _entries(path: str, expected: Any, actual: Any, fields: tuple[str, ...]) -> Iterator[_Pair]:
    if not isinstance(expected, list) or not isinstance(actual, list):
        yield path, expected, actual
        return
    for index in range(max(len(expected), len(actual))):
        mine, theirs = _at(expected, index), _at(actual, index)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            yield from _fields(f"{path}[{index}]", mine, theirs, fields)
        else:
            yield f"{path}[{index}]", mine, theirs


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else MISSING


def _first(expected: Any, actual: Any) -> tuple[Trail, Any, Any] | None:
    """The first place where the values differ, keys in the order of the expected value."""
    stack: list[tuple[Trail, Any, Any]] = [(None, expected, actual)]
    below: list[tuple[Trail, Any, Any]]
    while stack:
        trail, mine, theirs = stack.pop()
        if isinstance(mine, dict) and isinstance(theirs, dict):
            keys = {**mine, **theirs}
            below = [((trail, key), mine.get(key, MISSING), theirs.get(key, MISSING)) for key in keys]
        elif isinstance(mine, list) and isinstance(theirs, list):
            indexes = range(max(len(mine), len(theirs)))
            below = [((trail, index), _at(mine, index), _at(theirs, index)) for index in indexes]
        elif _same_scalar(mine, theirs):
            below = []
        else:
            return trail, mine, theirs
        # Reversed, so that the first key is on top: what is returned is the first difference in the trace's
        # order.
        stack.extend(reversed(below))
    return None


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key)}]"


def _same_scalar(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, bool) or isinstance(theirs, bool):
        return mine is theirs
    numbers = isinstance(mine, (int, float)) and isinstance(theirs, (int, float))
    if numbers:
        # A number of JSON is the nearest 64-bit float, however many digits one language or another writes.
        return mine == theirs or _as_float(mine) == _as_float(theirs)
    return type(mine) is type(theirs) and not isinstance(mine, (dict, list)) and bool(mine == theirs)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


# --- for people ---------------------------------------------------------------------------------------------

_WIDTH: Final = 160
_INPUT_LINES: Final = 2_000
_TEXT: Final = 1_000
_LEVELS: Final = 100


def render(
    difference: Difference, *, max_lines: int = 60, names: tuple[str, str] = ("expected", "actual")
) -> str:
    """The observation that differs as a unified diff of indented JSON, cut after so many lines.

    `names` are those of the two sides.
    """
    mine, theirs = _pretty(difference.expected_observation), _pretty(difference.actual_observation)
    diff = list(difflib.unified_diff(mine, theirs, *names, lineterm="", n=3))
    if len(diff) > max_lines:
        diff = [*diff[:max_lines], f"... {len(diff) - max_lines} more lines"]
    head = f"first difference: {difference.path}"
    return "\n".join(_cut(line) for line in [head, *(diff or _long_lines(difference))])


def _pretty(value: Any) -> list[str]:
    if isinstance(value, Missing):
        return []
    # difflib takes quadratic time, so what it is given is bounded too.
    return json.dumps(_clipped(value), indent=2, sort_keys=True).splitlines()[:_INPUT_LINES]


def _clipped(value: Any, levels: int = _LEVELS) -> Any:
    """What can be shown of a value; it does not say how much was cut, which would be one more difference."""
    if isinstance(value, str):
        return value[:_TEXT]
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return "..."
    if isinstance(value, list):
        return [_clipped(item, levels - 1) for item in value[:_INPUT_LINES]]
    fields = islice(value.items(), _INPUT_LINES)
    return {key[:_TEXT]: _clipped(item, levels - 1) for key, item in fields}


def _long_lines(difference: Difference) -> list[str]:
    """For a difference behind the bound; of two texts, what is around the first character that differs."""
    mine, theirs = difference.expected, difference.actual
    if isinstance(mine, str) and isinstance(theirs, str):
        pairs = enumerate(zip(mine, theirs, strict=False))
        same = next((index for index, (one, other) in pairs if one != other), min(len(mine), len(theirs)))
        start = max(0, same - _WIDTH // 4)
        before = f"(after {start} characters) " if start else ""
        return [f"{sign}{before}{_text_of(text[start:])}" for sign, text in (("-", mine), ("+", theirs))]
    return [f"-{_text_of(mine)}", f"+{_text_of(theirs)}"]


def _text_of(value: Any) -> str:
    return "(nothing)" if isinstance(value, Missing) else json.dumps(bounded(value, length=_TEXT))


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]}... ({len(line)} characters)"
