"""Hypothesis profiles, chosen by the environment variable HYPOTHESIS_PROFILE.

`quick`, the default, is the same examples each time and few of them; `thorough` draws new ones by a seed
and prints the blob that repeats a failure (`@reproduce_failure`); `campaign` is that for hours.
"""

from __future__ import annotations

import os
import sys
from typing import Any

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

_TRACERS: list[Any] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Measures no coverage in what runs real packages: that would double its time, and shows little here."""
    for item in items:
        if item.get_closest_marker("live"):
            item.add_marker("no_cover")


def pytest_runtest_setup() -> None:
    """Notes what measures coverage, or a debugger."""
    if not _TRACERS and sys.gettrace() is not None:
        _TRACERS.append(sys.gettrace())


def pytest_runtest_teardown() -> None:
    """Lets it go on: a tracer that fails once, as at the end of the stack in deep values, is taken away."""
    if _TRACERS and sys.gettrace() is None:
        sys.settrace(_TRACERS[0])
