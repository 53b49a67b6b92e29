"""The drivers of real packages keep the driver protocol."""

from __future__ import annotations

from typing import Final

import pytest

from agentcore.oracle.drivers.driver import Driver
from agentcore.oracle.drivers.lint import CHECKS, Broken, lint
from oracle.driver_commands import installed

pytestmark = pytest.mark.live

# Those that start no other process: a package takes long to load.
_RULES: Final = [
    rule
    for rule in CHECKS
    if rule.value.partition(".")[2]
    in ("start", "seq", "in-order", "bad-program", "bad-request", "blank-lines", "any-text", "any-number")
]
# One for each way in which drivers read lines and run programs.
_TARGETS: Final = {
    "ai-sdk@6.0.134": ("ai", "6.0.134", "ai-sdk", ()),
    "mastra@1.71.0": ("@mastra/core", "1.71.0", "mastra", ()),
    "strands-py@1.62.0": ("strands-agents", "1.62.0", "strands", ("hook modelDelta", "hook contentBlock")),
}


@pytest.fixture(params=_TARGETS)
def target(request: pytest.FixtureRequest) -> tuple[str, tuple[str, ...]]:
    return request.param, installed(request.param)


def test_the_driver_of_a_real_package_keeps_the_protocol(target: tuple[str, tuple[str, ...]]) -> None:
    name, argv = target
    verdicts = [*lint(argv, rules=_RULES)]
    assert [each for each in verdicts if isinstance(each, Broken)] == []
    assert len(verdicts) == len(_RULES) == 8
    with Driver(argv) as driver:
        assert driver.start() is None
        told = driver.implementation
    assert told is not None
    assert (told.name, told.version, *told.formats, told.unsupported) == _TARGETS[name]
