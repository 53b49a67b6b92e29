"""Programs under a profile of Strands with one fault, answered as a driver does."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from agentcore.frameworks.strands.family import FAMILY
from agentcore.frameworks.strands.reference import trace_under
from agentcore.oracle.drivers.driver import Answer, Driver, Outcome
from faults.strands_faults import IN_PROFILE


class FaultyDriver(Driver):
    """A driver without a process: most of the time of a test that starts Python goes into starting it."""

    def __init__(self, fault: str) -> None:
        super().__init__(())
        self.profile = IN_PROFILE[fault].profile()
        self.lines: deque[str] = deque()

    @property
    def pending(self) -> int:
        return len(self.lines)

    def start(self) -> None:
        return None

    def submit(self, program: Mapping[str, Any]) -> None:
        self.lines.append(FAMILY.to_line(dict(program)))

    def receive(self, agreed: Callable[[bytes, bytes], bool] | None = None) -> Outcome:  # noqa: ARG002
        program = FAMILY.parse(self.lines.popleft())
        return Answer(json.loads(json.dumps(trace_under(self.profile, program))))

    def close(self) -> None:
        self.lines.clear()
