"""A driver of programs under a profile, with a fault if one is named: `python -m faults.profile_driver`."""

from __future__ import annotations

import json
import sys
from typing import Any

from agentcore.oracle.ai_sdk.family import FAMILY
from agentcore.oracle.ai_sdk.reference import Recording, trace
from faults.profile_faults import PROFILE_FAULTS


def faulty_trace(program: dict[str, Any], fault: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        json.dumps(Recording(PROFILE_FAULTS[fault].profile(), program).trace())
    )
    return found


def serve(fault: str | None = None) -> None:
    for line in sys.stdin.buffer:
        program = FAMILY.parse(line)
        answer = trace(program) if fault is None else faulty_trace(program, fault)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(*sys.argv[1:])
