"""What `isolate` costs: a hook in it, beside the hook alone and beside a deep copy of what the hook gets.

    python -m benchmarks.isolate [--rounds 15]

Prints, for each number of messages, the median of one call in microseconds, and the ratios. The hook returns
a new message for the last tool result only, as a clean hook does, so most copies cross unchanged.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any, Final

import click

from agentcore.live import isolate

__all__ = ["costs", "main"]

LOOP: Final = "agentcore.skeletons.live_adapter:ADAPTER"
SIZES: Final = (10, 100, 1000)
_LEAST: Final = 0.002


def shorten(messages: list[Any]) -> list[Any]:
    """Returns a list with a new last tool result."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index]["role"] == "tool":
            return [*messages[:index], {**messages[index], "content": "short"}, *messages[index + 1 :]]
    return messages


def conversation(size: int) -> list[Any]:
    """Makes messages of a loop: a user's, an answer with a call, and its result, by turns."""
    made: list[Any] = []
    for index in range(size):
        match index % 3:
            case 0:
                made.append({"role": "user", "content": [{"type": "text", "text": f"question {index}"}]})
            case 1:
                call = {"id": f"c{index}", "tool": "search", "input": {"query": "x"}}
                made.append({"role": "assistant", "content": [], "calls": [call]})
            case _:
                rows = [{"title": "a", "rows": [1, 2, 3]}, {"title": "b", "rows": []}]
                made.append({"role": "tool", "id": f"c{index - 1}", "content": rows})
    return made


def costs(size: int, rounds: int) -> dict[str, float]:
    """Measures one call of each, by turns.

    Args:
        size: how many messages the hook gets.
        rounds: how many values each median is of.

    Returns:
        The medians in seconds: `alone`; `copied`, with a deep copy before it; `first`, the first call of an
        isolated hook; and `later`, a call that gets the same messages and one more.
    """
    messages = conversation(size)
    # Between the rounds a step adds a message, as a loop does.
    step = {"role": "user", "content": [{"type": "text", "text": "go on"}]}
    taken: dict[str, list[float]] = {"alone": [], "copied": [], "first": [], "later": []}
    for _ in range(rounds):
        taken["alone"].append(_seconds(lambda: shorten(messages)))
        taken["copied"].append(_seconds(lambda: shorten(copy.deepcopy(messages))))
        hook = isolate(shorten, framework=LOOP, at="before_model")
        taken["first"].append(_once(lambda hook=hook: hook(messages)))  # type: ignore[misc]
        taken["later"].append(_once(lambda hook=hook: hook([*messages, {**step}])))  # type: ignore[misc]
    return {name: median(each) for name, each in taken.items()}


def _once(call: Callable[[], object]) -> float:
    begun = perf_counter()
    call()
    return perf_counter() - begun


def _seconds(call: Callable[[], object]) -> float:
    """The time of one call, of as many as are long enough for the clock."""
    loops, taken = 1, _once(call)
    while taken < _LEAST:
        loops *= 4
        taken = _once(lambda loops=loops: [call() for _ in range(loops)])  # type: ignore[misc]
    return taken / loops


@click.command()
@click.option("--rounds", type=click.IntRange(min=1), default=15, show_default=True)
def main(rounds: int) -> None:
    """Measure what `isolate` costs, and print a table."""
    click.echo("messages   alone us  deepcopy us  first us  later us  later/alone  later/deepcopy")
    for size in SIZES:
        found = costs(size, rounds)
        alone, copied, first, later = (found[name] * 1e6 for name in ("alone", "copied", "first", "later"))
        click.echo(
            f"{size:8}  {alone:9.1f}  {copied:11.1f}  {first:8.1f}  {later:8.1f}"
            f"  {later / alone:11.0f}  {later / copied:14.2f}"
        )


if __name__ == "__main__":
    main()
