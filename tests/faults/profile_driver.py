"""A driver of programs under a profile, with a fault if one is named: `python -m faults.profile_driver`.

With `--protocol` behind it, it speaks the driver protocol, else it is a filter.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.reference import Recording, trace
from agentcore.oracle.drivers.protocol import Implementation, answers
from faults.profile_faults import PROFILE_FAULTS


def faulty_trace(program: dict[str, Any], fault: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        json.dumps(Recording(PROFILE_FAULTS[fault].profile(), program).trace())
    )
    return found


def serve(fault: str | None = None, *, protocol: bool = False) -> None:
    def traced(program: dict[str, Any]) -> dict[str, Any]:
        return trace(program) if fault is None else faulty_trace(program, fault)

    own = Implementation(name="faulty", version="1", formats=("ai-sdk",))
    spoken = answers(sys.stdin.buffer, own, lambda program: {"trace": traced(program)})
    plain = (traced(FAMILY.parse(line)) for line in sys.stdin.buffer)
    for answer in spoken if protocol else plain:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(*(word for word in sys.argv[1:] if word != "--protocol"), protocol="--protocol" in sys.argv)
