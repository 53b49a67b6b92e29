"""What two traces of the AI SDK's format may differ in, and the order in which a run makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from agentcore.kit.compare import Trace, ids_may_differ
from agentcore.kit.families import Comparison, Each

__all__ = ["COMPARISON"]


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


def _with_error(trace: Trace, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Trace:
    error = trace.get("error")
    return {**trace, "error": change(error)} if isinstance(error, dict) else trace


def _is_ai_name(name: object) -> bool:
    return isinstance(name, str) and name.startswith("AI_")


_PERMITTED: Final[Mapping[str, Callable[[Trace], Trace]]] = MappingProxyType(
    {
        "id": ids_may_differ,
        "package": packages_may_differ,
        "error.message": error_messages_may_differ,
        "error.name": foreign_error_names_may_differ,
        "opErrors": op_error_texts_may_differ,
    }
)

COMPARISON: Final = Comparison(
    permitted=_PERMITTED,
    order=(
        "approvals",
        Each("steps", ("step", "prepareStep", "model", "prompt", "tools", "onStepFinish")),
        *("error", "hung", "opErrors", "final", "caller"),
    ),
)
