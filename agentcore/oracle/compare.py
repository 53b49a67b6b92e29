"""Whether two traces agree, and where they first do not.

Two traces agree when they are equal as JSON: types told apart, object keys in any order, `1.0` being `1`.
What may differ all the same is listed in `PERMITTED`, one small function per permission, each of which can be
switched off.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias

import attrs

__all__ = ["MISSING", "PERMITTED", "Difference", "Missing", "differences", "render"]

Trace: TypeAlias = dict[str, Any]


class Missing:
    """What stands where one trace has nothing at all."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = Missing()


# --- permitted differences: each function takes out of a trace what may differ ------------------------------


def ids_may_differ(trace: Trace) -> Trace:
    """`id` names the program, and is no part of the run."""
    return {key: value for key, value in trace.items() if key != "id"}


def packages_may_differ(trace: Trace) -> Trace:
    """`package` names what ran the program."""
    return {key: value for key, value in trace.items() if key != "package"}


def error_messages_may_differ(trace: Trace) -> Trace:
    """Error texts are every implementation's own."""
    return _with_error(trace, lambda error: {key: value for key, value in error.items() if key != "message"})


def foreign_error_names_may_differ(trace: Trace) -> Trace:
    """Names that begin with `AI_` are the package's; others are a language's and may differ."""
    return _with_error(
        trace, lambda error: error if _is_ai_name(error.get("name")) else {**error, "name": "Error"}
    )


def op_error_texts_may_differ(trace: Trace) -> Trace:
    """Of ops that led nowhere only the number counts, none being the same as no list."""
    failed = trace.get("opErrors", [])
    return {**trace, "opErrors": [None] * len(failed)} if isinstance(failed, list) else trace


PERMITTED: Final[Mapping[str, Callable[[Trace], Trace]]] = {
    "id": ids_may_differ,
    "package": packages_may_differ,
    "error.message": error_messages_may_differ,
    "error.name": foreign_error_names_may_differ,
    "opErrors": op_error_texts_may_differ,
}


def _with_error(trace: Trace, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Trace:
    error = trace.get("error")
    return {**trace, "error": change(error)} if isinstance(error, dict) else trace


def _is_ai_name(name: object) -> bool:
    return isinstance(name, str) and name.startswith("AI_")


# --- comparison ---------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Difference:
    """The first difference between two traces.

    `path` is where, as deep as it can be said, with what each trace has there (MISSING: nothing);
    `observation` is the path of the observation that it is in (`$.steps[1].prompt`), with all of what each
    trace has there.
    """

    path: str
    expected: Any
    actual: Any
    observation: str
    expected_observation: Any
    actual_observation: Any


def differences(expected: Trace, actual: Trace, *, strict_about: Collection[str] = ()) -> Difference | None:
    """The first difference in the order of the run, or None if the traces agree.

    `strict_about` names keys of PERMITTED that are switched off. Raises KeyError for other names.
    """
    off = {PERMITTED[name] for name in strict_about}
    for permit in PERMITTED.values():
        if permit not in off:
            expected, actual = permit(expected), permit(actual)
    if _text(expected) == _text(actual):
        return None
    for path, mine, theirs in _observations(expected, actual):
        found = _first(path, mine, theirs)
        if found is not None:
            where, here, there = found
            return Difference(
                path=where,
                expected=here,
                actual=there,
                observation=path,
                expected_observation=mine,
                actual_observation=theirs,
            )
    return None


def _text(trace: Trace) -> str:
    # A shortcut only: equal texts are equal values, but 1.0 and 1 are too.
    return json.dumps(trace, sort_keys=True)


_STEP_ORDER: Final = ("step", "prepareStep", "model", "prompt", "tools", "onStepFinish")
_AFTER_STEPS: Final = ("error", "hung", "opErrors", "final", "caller")
_Pair: TypeAlias = tuple[str, Any, Any]


def _observations(expected: Trace, actual: Trace) -> Iterator[_Pair]:
    """What both traces saw, pair by pair, in the order in which a reader would follow the run."""
    yield "$.approvals", expected.get("approvals", MISSING), actual.get("approvals", MISSING)
    yield from _steps(expected.get("steps", MISSING), actual.get("steps", MISSING))
    known = {"approvals", "steps", *_AFTER_STEPS}
    others = [key for key in {**expected, **actual} if key not in known]
    for key in (*_AFTER_STEPS, *others):
        yield f"$.{key}", expected.get(key, MISSING), actual.get(key, MISSING)


def _steps(expected: Any, actual: Any) -> Iterator[_Pair]:
    if not isinstance(expected, list) or not isinstance(actual, list):
        yield "$.steps", expected, actual
        return
    for index in range(max(len(expected), len(actual))):
        mine, theirs = _at(expected, index), _at(actual, index)
        path = f"$.steps[{index}]"
        if not isinstance(mine, dict) or not isinstance(theirs, dict):
            yield path, mine, theirs
            continue
        others = [key for key in {**mine, **theirs} if key not in _STEP_ORDER]
        for key in (*_STEP_ORDER, *others):
            yield f"{path}.{key}", mine.get(key, MISSING), theirs.get(key, MISSING)


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else MISSING


def _first(path: str, expected: Any, actual: Any) -> _Pair | None:
    """The first place below the path where the values differ, keys in the order of the expected value."""
    stack: list[_Pair] = [(path, expected, actual)]
    while stack:
        where, mine, theirs = stack.pop()
        if isinstance(mine, dict) and isinstance(theirs, dict):
            keys = {**mine, **theirs}
            below = [
                (f"{where}{_key(key)}", mine.get(key, MISSING), theirs.get(key, MISSING)) for key in keys
            ]
        elif isinstance(mine, list) and isinstance(theirs, list):
            indexes = range(max(len(mine), len(theirs)))
            below = [(f"{where}[{index}]", _at(mine, index), _at(theirs, index)) for index in indexes]
        elif _same_scalar(mine, theirs):
            below = []
        else:
            return where, mine, theirs
        stack.extend(reversed(below))
    return None


def _key(key: str) -> str:
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key)}]"


def _same_scalar(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, bool) or isinstance(theirs, bool):
        return mine is theirs
    numbers = isinstance(mine, (int, float)) and isinstance(theirs, (int, float))
    return (
        (numbers or type(mine) is type(theirs))
        and not isinstance(mine, (dict, list))
        and bool(mine == theirs)
    )


# --- for people ---------------------------------------------------------------------------------------------

_WIDTH: Final = 160
_INPUT_LINES: Final = 2_000


def render(difference: Difference, *, max_lines: int = 60) -> str:
    """The observation that differs as a unified diff of indented JSON, cut after so many lines."""
    mine, theirs = _pretty(difference.expected_observation), _pretty(difference.actual_observation)
    diff = list(difflib.unified_diff(mine, theirs, "expected", "actual", lineterm="", n=3))
    if len(diff) > max_lines:
        diff = [*diff[:max_lines], f"... {len(diff) - max_lines} more lines"]
    head = f"first difference: {difference.path}"
    return "\n".join([head, *(_cut(line) for line in diff or _long_lines(difference))])


def _pretty(value: Any) -> list[str]:
    if isinstance(value, Missing):
        return []
    # difflib takes quadratic time, so what it is given is bounded too.
    return json.dumps(value, indent=2, sort_keys=True).splitlines()[:_INPUT_LINES]


def _long_lines(difference: Difference) -> list[str]:
    """For a difference behind the bound."""
    return [f"-{_shown(difference.expected)}", f"+{_shown(difference.actual)}"]


def _shown(value: Any) -> str:
    return "(nothing)" if isinstance(value, Missing) else json.dumps(value)


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]}... ({len(line)} characters)"
