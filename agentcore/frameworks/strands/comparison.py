"""What two traces of the middleware format may differ in, and the order in which a run makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from agentcore.kit.compare import Trace, ids_may_differ
from agentcore.kit.families import Comparison, Each

__all__ = ["COMPARISON"]


def implementations_may_differ(trace: Trace) -> Trace:
    """`impl` and `version` name what ran the program."""
    return {key: value for key, value in trace.items() if key not in {"impl", "version"}}


def driver_error_texts_may_differ(trace: Trace) -> Trace:
    """Why there is no trace is told by one word before the first colon; the rest is every driver's own."""
    error = trace.get("driverError")
    return {**trace, "driverError": error.partition(":")[0]} if isinstance(error, str) else trace


_PERMITTED: Final[Mapping[str, Callable[[Trace], Trace]]] = MappingProxyType(
    {
        "id": ids_may_differ,
        "impl": implementations_may_differ,
        "driverError": driver_error_texts_may_differ,
    }
)

COMPARISON: Final = Comparison(
    permitted=_PERMITTED,
    order=(
        *("driverError", "log"),
        Each("calls", ("messages", "system", "toolSpecs", "toolChoice", "modelState")),
        Each("toolRuns", ("name", "toolUseId", "input", "invocationState")),
        *("observations", "identity", "pathErrors"),
        Each("results", ("error", "stopReason", "lastMessage", "structuredOutput", "invocationState")),
        *("agentMessages", "system", "toolSpecs", "modelState", "invocationState", "caller", "aliases"),
        "sdkInvocationKeys",
    ),
)
