"""A family as small as can be, to show that the oracle knows nothing of any format: numbers are added.

`toy-1` adds them up; `toy-2` does on its path `up` as it does, and takes them away on its path `down`. As a
program it is a driver: `python -m oracle.toy_family PROFILE [forgets]` forgets a 3 that comes after another.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from agentcore.kit.choices import Choices
from agentcore.kit.compare import ids_may_differ
from agentcore.kit.families import Comparison, Each, Family, Shrinking
from agentcore.kit.framework import Framework
from agentcore.kit.program import BadProgram, program_to_line

Json = dict[str, Any]
FIELDS: Final = ("id", "path", "numbers", "note")
PROFILES: Final = ("toy-1", "toy-2/up", "toy-2/down")


def check(program: Json) -> None:
    if unknown := {*program}.difference(FIELDS):
        raise BadProgram(f"has the unknown field {min(unknown)}", "$", program.get("id"))
    numbers = program.get("numbers")
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise BadProgram("numbers are a list of whole numbers", "$.numbers", program.get("id"))


def to_line(program: Mapping[str, Any]) -> str:
    return program_to_line(program, FIELDS)


def trace(program: Json, profile: str, *, forgets: bool = False) -> Json:
    sign = -1 if profile.endswith("/down") else 1
    total = 0
    sums: list[Json] = []
    for number in program["numbers"]:
        if not (forgets and number == 3 and sums):
            total += sign * number
        sums.append({"read": number, "sum": total})
    return {"id": program["id"], "by": profile, "end": total, "sums": sums}


def program(choices: Choices, program_id: str, profile: str) -> Json:
    path = profile.partition("/")[2]
    numbers = [choices.integer(0, 9) for _ in range(choices.integer(1, 6))]
    return {"id": program_id, **({"path": path} if path else {}), "numbers": numbers, "note": "none"}


def bys_may_differ(trace: Json) -> Json:
    """`by` names what ran the program."""
    return {key: value for key, value in trace.items() if key != "by"}


def _only_last(smallest: Callable[[], Json]) -> Iterator[Json]:
    yield {**smallest(), "numbers": smallest()["numbers"][-1:]}


def refusal(program_id: Any, name: str, message: str) -> Json:
    return {"id": program_id, "driverError": f"{name}: {message}"}


FAMILY: Final = Family(
    name="toy",
    profiles=PROFILES,
    check=check,
    to_line=to_line,
    trace=trace,
    program=program,
    comparison=Comparison(
        permitted={"id": ids_may_differ, "by": bys_may_differ}, order=(Each("sums", ("read", "sum")), "end")
    ),
    shrinking=Shrinking(
        required=("id", "path", "numbers"),
        names=("id", "path"),
        measure=lambda program: (len(program["numbers"]),),
        edits=(_only_last,),
    ),
    feature_names=("numbers", "no numbers"),
    features=lambda program: {"numbers" if program["numbers"] else "no numbers"},
    smallest=lambda text: {"id": "lint", "numbers": [], "note": text},
    refusal=refusal,
    trace_fields=("sums", "end"),
)


FRAMEWORK: Final = Framework(
    name="toy",
    title="Toy",
    profiles=dict.fromkeys(PROFILES, "adds numbers up"),
    family="oracle.toy_family:FAMILY",
)
ENTRY: Final = {"toy": "oracle.toy_family:FRAMEWORK"}


def driver(profile: str, *fault: str) -> tuple[str, ...]:
    """The command line of the driver, for where the folder of the tests is on PYTHONPATH."""
    return (sys.executable, "-m", "oracle.toy_family", profile, *fault)


def serve(profile: str, fault: str | None = None) -> None:
    for line in sys.stdin:
        answer = trace(json.loads(line), profile, forgets=fault == "forgets")
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(*sys.argv[1:])
