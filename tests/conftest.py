"""Hypothesis profiles, chosen by the environment variable HYPOTHESIS_PROFILE.

`quick`, the default, is the same examples each time and few of them; `thorough` draws new ones by a seed
and prints the blob that repeats a failure (`@reproduce_failure`); `campaign` is that for hours.
"""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections import defaultdict
from typing import Any, Final

import pytest
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

_TRACERS: list[Any] = []


def pytest_sessionstart() -> None:
    """Has no garbage looked for while tests are collected: what that makes is kept."""
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Looks for garbage from here on, but not among what collecting made."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves samples of what is marked `sample`, and measures coverage in quick tests alone.

    It would double the time of the others, which repeat by the hundred what quick tests do once.
    """
    for item in items:
        if item.get_closest_marker("live") or item.get_closest_marker("slow"):
            item.add_marker("no_cover")
    # What somebody names on the command line is run.
    if not WHOLE and not any("[" in name for name in config.args):
        left = {*_beyond_samples(items, config.getoption("hypothesis_seed", None))}
        if left:
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
            items[:] = [item for item in items if item.nodeid not in left]


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


def pytest_runtest_setup() -> None:
    """Notes what measures coverage, or a debugger."""
    if not _TRACERS and sys.gettrace() is not None:
        _TRACERS.append(sys.gettrace())


def pytest_runtest_teardown() -> None:
    """Lets it go on: a tracer that fails once, as at the end of the stack in deep values, is taken away."""
    if _TRACERS and sys.gettrace() is None:
        sys.settrace(_TRACERS[0])
