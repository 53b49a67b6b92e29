"""What two traces of the processors' format may differ in, and the order in which they are compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from agentcore.kit.compare import Trace, ids_may_differ
from agentcore.kit.families import Comparison, Each

__all__ = ["COMPARISON"]

_MARK: Final = re.compile(r"#\d+")


def versions_may_differ(trace: Trace) -> Trace:
    """`version` names what ran the program."""
    return {key: value for key, value in trace.items() if key != "version"}


def error_texts_may_differ(trace: Trace) -> Trace:
    """An error is wrapped once or more on its way out, each time in other words, which are the package's own.

    The texts of a program stay: what a processor threw is still to be found in what its caller gets.
    """
    return _with_error(
        trace, lambda error: {**error, "message": sorted({*_MARK.findall(str(error.get("message")))})}
    )


def error_classes_may_differ(trace: Trace) -> Trace:
    """The same failure is a MastraError or a copy that lost its class, by how many executors it came through.

    With the class goes the name of the field that says its kind: `id` on the one, `code` on the other.
    """
    return _with_error(trace, _one_kind)


def error_causes_may_differ(trace: Trace) -> Trace:
    """A cause is kept by some of the wrappings and lost by others."""
    return _with_error(trace, lambda error: {key: value for key, value in error.items() if key != "cause"})


def logs_may_differ(trace: Trace) -> Trace:
    """What is logged is written for people: the same failure once, twice, or as another one's text."""
    return {key: value for key, value in trace.items() if key != "logged"}


def op_error_texts_may_differ(trace: Trace) -> Trace:
    """Of ops that could not be carried out only the number counts, none being the same as no list."""
    failed = trace.get("opErrors", [])
    return {**trace, "opErrors": [None] * len(failed)} if isinstance(failed, list) else trace


def _with_error(trace: Trace, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Trace:
    error = trace.get("error")
    return {**trace, "error": change(error)} if isinstance(error, dict) else trace


def _one_kind(error: dict[str, Any]) -> dict[str, Any]:
    kind = error.get("id", error.get("code"))
    rest = {key: value for key, value in error.items() if key not in ("name", "class", "id", "code")}
    return rest if kind is None else {**rest, "kind": kind}


_PERMITTED: Final[Mapping[str, Callable[[Trace], Trace]]] = MappingProxyType(
    {
        "id": ids_may_differ,
        "version": versions_may_differ,
        "error.message": error_texts_may_differ,
        "error.class": error_classes_may_differ,
        "error.cause": error_causes_may_differ,
        "logged": logs_may_differ,
        "opErrors": op_error_texts_may_differ,
    }
)

COMPARISON: Final = Comparison(
    permitted=_PERMITTED,
    order=(
        Each("received", ("processor", "step", "got", "returned", "threw")),
        Each("model", ("model", "method", "prompt", "tools", "toolChoice", "providerOptions", "settings")),
        Each("tools", ("name", "input")),
        *("events", "opErrors", "final", "error", "chunks", "list", "listSystem", "callerChanged"),
    ),
)
