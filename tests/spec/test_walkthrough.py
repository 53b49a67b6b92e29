from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentcore.frameworks.ai_sdk.program import FEATURES
from agentcore.oracle.drivers.driver import Driver
from spec.walkthrough import follow, steps

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of someone who has followed the walk-through."""
    folder = tmp_path_factory.mktemp("walkthrough")
    assert [*follow(folder)] == []
    return folder


def test_the_walk_through_ends_in_the_smallest_program_that_writes(followed: Path) -> None:
    found = json.loads((followed / "disagreement.json").read_text("utf-8"))
    [[write]] = found.pop("hooks")["prepareStep"]
    [[call]] = found.pop("script")
    assert write == {"append": ["messages"], "with": {"role": "user", "content": "y"}}
    assert (call["type"], call["input"]) == ("tool-call", {})
    assert found["messages"] == [{"role": "user", "content": "y"}]
    assert [*found["tools"].values()] == [{"output": {}}]


def test_the_faulty_driver_is_a_hundred_lines_and_the_skeleton() -> None:
    written = "".join(block.text for block in steps() if block.words[0] == "python").splitlines()
    assert 80 <= sum(bool(line.strip()) for line in written) <= 120


def test_the_features_that_the_walk_through_leaves_out_are_features(followed: Path) -> None:
    with Driver(["python", str(followed / "driver.py")]) as driver:
        assert driver.start() is None
        assert driver.implementation is not None
    assert {*driver.implementation.unsupported} <= {*FEATURES}
