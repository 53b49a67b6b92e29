"""The compliance suite on the frameworks of this distribution, with few programs: other tests run many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from agentcore.kit.framework import FRAMEWORKS, entries
from agentcore.testing.framework_suite import FrameworkSuite


class Own(FrameworkSuite):
    """What is alike for all of them."""

    programs: ClassVar[int] = 8
    exceptions: ClassVar[Mapping[str, str]] = {
        "test_a_field_of_a_profile_decides_something": "tests/spec/test_each_vector.py: a vector for each",
    }
    # Replaced by nothing, which pytest does not collect.
    test_a_field_of_a_profile_decides_something = None  # type: ignore[assignment]

    def _packages(self) -> list[Any]:
        names = super()._packages()
        # Of a sample each driver has one release.
        marks = {name: [pytest.mark.live, pytest.mark.sample(1, name.partition("@")[0])] for name in names}
        return [pytest.param(name, marks=marks[name]) for name in names]


class TestAiSdk(Own):
    framework: ClassVar[str] = "ai-sdk"


class TestMastra(Own):
    framework: ClassVar[str] = "mastra"


class TestStoreBoundary(Own):
    framework: ClassVar[str] = "store-boundary"


class TestStrands(Own):
    framework: ClassVar[str] = "strands"


def test_none_is_left_out() -> None:
    own = {entry.name for entry in entries() if entry.provider.startswith("agentcore-reference ")}
    assert {kind.framework for kind in Own.__subclasses__()} == own <= {*FRAMEWORKS}
