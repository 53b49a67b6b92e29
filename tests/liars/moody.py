"""A driver that is the reference but at programs with a feature: `moody.py FEATURE=DEED ...`.

Deeds are `crash`, `hang`, `junk`, `wrong` (another caller), `error` (another error), `unsupported`, and
`hostile`: what it says then is made to harm the one who shows it. A FEATURE alone is said to be unsupported
at the start.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.reference import trace
from agentcore.kit.program import Answer, Crashed, Hung, Malformed, Outcome, Unsupported
from agentcore.oracle.drivers.protocol import Implementation, answers

Json = dict[str, Any]

HOSTILE = "<script>alert(1)</script> ]]> \x1b[2J\x00 [red]x[/red] \ud800 \u202e $a$ {{ 7 * 7 }}"
HUGE = "x" * 10_000_000


class Moods:
    """What the words of the command line say."""

    def __init__(self, words: Sequence[str]) -> None:
        self.deeds = dict(word.split("=") for word in words if "=" in word)
        lacking = tuple(word for word in words if "=" not in word)
        self.implementation = Implementation(
            name="moody", version="1", formats=("ai-sdk",), unsupported=lacking
        )

    def deed(self, program: Json) -> str | None:
        features = FAMILY.features(program)
        return next((deed for feature, deed in self.deeds.items() if feature in features), None)


def answer(program: Json, deed: str | None) -> Json:
    found = trace(program)
    match deed:
        case "unsupported":
            return {"unsupported": "not this"}
        case "wrong":
            found["caller"] = "none"
        case "error":
            found["error"] = None if found["error"] else {"name": "AI_Odd", "message": "odd"}
        case "hostile":
            found["caller"] = [HUGE, HOSTILE, {HOSTILE: HUGE}]
    return {"trace": found}


class InMemory:
    """What `agentcore.oracle.drivers.driver.Driver` is for this driver, without a process."""

    def __init__(self, argv: Sequence[str], *, time_limit: float, trace_fields: Sequence[str]) -> None:
        assert trace_fields
        self._moods = Moods(argv[3:])
        self._time_limit = time_limit
        self._pending: deque[Json] = deque()
        self.implementation: Implementation | None = None

    @property
    def pending(self) -> int:
        return len(self._pending)

    def start(self) -> None:
        self.implementation = self._moods.implementation

    def submit(self, program: Json) -> None:
        self._pending.append(json.loads(json.dumps(program)))

    def receive(self, agreed: object = None) -> Outcome:  # noqa: ARG002 - nothing is kept of a moody driver
        program = self._pending.popleft()
        deed = self._moods.deed(program)
        match deed:
            case "crash":
                return Crashed("the process ended with exit code 3", HOSTILE)
            case "hang":
                return Hung(self._time_limit, "")
            case "junk":
                return Malformed("a line that is not JSON", f"not JSON {HOSTILE}", "")
            case "unsupported":
                return Unsupported("not this")
        return Answer(json.loads(json.dumps(answer(program, deed)["trace"])))

    def run(self, program: Json) -> Outcome:
        assert not self._pending
        self.submit(program)
        return self.receive()

    def close(self) -> None:
        self._pending.clear()


def serve(moods: Moods) -> None:
    for line in answers(sys.stdin.buffer, moods.implementation, partial(_done, moods)):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def _done(moods: Moods, program: Json) -> Json:
    deed = moods.deed(program)
    match deed:
        case "crash":
            sys.stderr.buffer.write(HOSTILE.encode("utf-8", "replace"))
            sys.stderr.flush()
            os._exit(3)
        case "hang":
            time.sleep(600)
        case "junk":
            sys.stdout.buffer.write(f"not JSON {HOSTILE}\n".encode("utf-8", "replace"))
            sys.stdout.flush()
    return answer(program, deed)


if __name__ == "__main__":
    serve(Moods(sys.argv[1:]))
