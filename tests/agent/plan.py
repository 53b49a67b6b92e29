"""The test plan of the processInputStep specification, by names of its items; tests say which they are of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

_F = TypeVar("_F", bound=Callable[..., object])

# Where the specification has its items: the unit tests, the integration tests, the edge cases.
PLAN: Final = {
    "PrepareStepProcessor": ("right arguments", "return value passed", "generic tools", "undefined return"),
    "ProcessorRunner": (
        "one modifies model",
        "one modifies toolChoice",
        "one modifies activeTools",
        "one modifies messages",
        "one modifies systemMessages",
        "several chain",
        "abort",
        "error stops the chain",
        "list mutations tracked",
        "rejects another list",
        "rejects messages with list",
        "rejects v1 models",
    ),
    "constructor inputProcessors": ("every generate", "every stream", "several chain", "step context"),
    "default prepareStep": (
        "every generate",
        "every stream",
        "modifies model",
        "modifies toolChoice",
        "modifies activeTools",
    ),
    "generate with inputProcessors": ("replace", "right arguments", "constructor's not called"),
    "generate with prepareStep": ("works", "overrides the default"),
    "stream with inputProcessors": ("replace", "right arguments", "constructor's not called"),
    "stream with prepareStep": ("works", "overrides the default"),
    "edge cases": (
        "stepNumber increments",
        "steps has previous results",
        "no processors",
        "returns nothing",
        "partial result",
    ),
}
COVERED: set[tuple[str, str]] = set()


def of_plan(section: str, *items: str) -> Callable[[_F], _F]:
    """A test of these items."""
    for item in items:
        assert item in PLAN[section], (section, item)
        COVERED.add((section, item))
    return lambda test: test
