"""Hypothesis profiles, chosen by the environment variable HYPOTHESIS_PROFILE.

`quick`, the default, is the same examples each time and few of them; `thorough` draws new ones by a seed
and prints the blob that repeats a failure (`@reproduce_failure`); `campaign` is that for hours.
"""

from __future__ import annotations

import gc
import os
import zlib
from collections import defaultdict
from collections.abc import Generator, Iterator
from typing import Any, Final

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, settings

settings.register_profile("quick", derandomize=True, max_examples=50, deadline=None, database=None)
settings.register_profile(
    "thorough",
    max_examples=60,
    deadline=None,
    print_blob=True,
    # Messages are large draws, and slow ones when coverage is measured.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("campaign", parent=settings.get_profile("thorough"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Each case of each test runs; otherwise only a sample of the cases of tests that are marked so.
WHOLE: Final = "AGENTCORE_WHOLE" in os.environ

# Those that take longest of what would come last: begun first, so that no worker is left alone with one.
LONGEST: Final = ("tests/test_site.py", "tests/test_notebooks.py", "tests/spec/test_guide.py")

MANY: Final = 20
MEASURED: Final = pytest.StashKey[set[pytest.Item]]()
_MEASURING: list[Coverage] = []


def pytest_sessionstart() -> None:
    """Has no garbage looked for while tests are collected: what that makes is kept."""
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Looks for garbage from here on, but not among what collecting made; stops coverage between tests."""
    gc.freeze()
    gc.enable()
    # A worker of xdist has two, one in the other. The inner one's results are kept; the outer one would go on
    # wherever that is stopped.
    while (measuring := Coverage.current()) is not None:
        measuring.stop()
        _MEASURING.append(measuring)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves samples of what is marked `sample`, picks what is measured, and has long tests begin first."""
    config.stash[MEASURED] = {*_measured(items)}
    # What somebody names on the command line is run.
    if not WHOLE and not any("[" in name for name in config.args):
        left = {*_beyond_samples(items, config.getoption("hypothesis_seed", None))}
        if left:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
            items[:] = [item for item in items if item.nodeid not in left]
    items.sort(key=lambda item: not (item.nodeid.startswith(LONGEST) and item.get_closest_marker("slow")))


def _measured(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yields the quick cases in which coverage is measured: of each test at most MANY, spread over its cases.

    Measuring doubles the time, and hundreds of cases of one test run nearly the same code. Tests whose cases
    differ in what they run are marked `measured`: all of theirs are.
    """
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not (item.get_closest_marker("live") or item.get_closest_marker("slow")):
            cases[item.nodeid.partition("[")[0]].append(item)
    for own in cases.values():
        picked = len(own) if own[0].get_closest_marker("measured") else min(len(own), MANY)
        yield from (own[index * len(own) // picked] for index in range(picked))


def _beyond_samples(items: list[pytest.Item], seed: object) -> list[str]:
    """Returns the cases that do not run: of a test marked `sample(n)` all but n, which the seed picks.

    Of cases marked `sample(n, group)` these are n of each group.
    """
    cases: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sample")
        if mark is not None:
            cases[mark.args[0], item.nodeid.partition("[")[0], *mark.args[1:]].append(item.nodeid)
    left: list[str] = []
    for (size, *_), names in cases.items():
        # By their names, so that every process of a run picks the same.
        left += sorted(names, key=lambda name: zlib.crc32(f"{seed} {name}".encode()))[size:]
    return left


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    """Measures coverage, where it is measured, in the cases that are chosen for it.

    It starts anew for each: Python removes a tracer that fails once, as at the end of the stack.
    """
    measuring = _MEASURING[0] if _MEASURING and item in item.config.stash[MEASURED] else None
    if measuring is not None:
        measuring.start()
    try:
        return (yield)
    finally:
        if measuring is not None:
            measuring.stop()
