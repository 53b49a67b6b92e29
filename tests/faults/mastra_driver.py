"""A driver of programs on Mastra's loop, with a fault if one is named: `python -m faults.mastra_driver`."""

from __future__ import annotations

import json
import sys

from agentcore.frameworks.mastra.family import FAMILY
from faults.mastra_faults import FAULTS


def serve(fault: str | None = None) -> None:
    if fault is not None:
        FAULTS[fault]()
    for line in sys.stdin.buffer:
        answer = FAMILY.trace(FAMILY.parse(line), "mastra@1.71.0")
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(*sys.argv[1:])
