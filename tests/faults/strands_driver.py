"""A driver of programs under a profile of Strands with one fault: `python -m faults.strands_driver NAME`."""

from __future__ import annotations

import json
import sys

from agentcore.oracle.strands.family import FAMILY
from agentcore.oracle.strands.reference import Recording
from faults.strands_faults import IN_PROFILE


def serve(fault: str) -> None:
    profile = IN_PROFILE[fault].profile()
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(Recording(profile, FAMILY.parse(line)).trace()) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
