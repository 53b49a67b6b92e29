"""Two versions of a toy that adds numbers up, as data: what a comparison finds of them is known beforehand.

As a program it is a driver: `python -m oracle.toy_versions VERSION`, which says that it cannot add a 9, and
ends at a 4 if the version is `broken`.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import attrs

from agentcore.kit.compare import ids_may_differ
from agentcore.kit.families import Comparison, Each, Emulation, Family
from agentcore.kit.framework import Framework, decision
from oracle import toy_family
from oracle.toy_family import bys_may_differ

Json = dict[str, Any]


@attrs.frozen(kw_only=True)
class ToyProfile:
    """A way to add numbers up."""

    name: str
    package: str

    forgets: bool = attrs.field(
        metadata=decision("Whether a 3 that comes after another number is left out.", heading="Sums")
    )
    doubles: bool = attrs.field(metadata=decision("Whether a 7 counts twice."))
    shouts: bool = attrs.field(metadata=decision("Whether what counts twice is marked."))
    hidden: bool = attrs.field(metadata=decision("Whether nobody sees a thing."))
    skips: bool = attrs.field(metadata=decision("Whether an 8 is left out."))
    misses: bool = attrs.field(metadata=decision("Whether an 8 is left out, too."))


FIRST: Final = ToyProfile(
    name="sum@1",
    package="sum@1",
    **dict.fromkeys(("forgets", "doubles", "shouts", "hidden", "skips", "misses"), False),
)
SECOND: Final = ToyProfile(
    name="sum@2",
    package="sum@2",
    **dict.fromkeys(("forgets", "doubles", "shouts", "hidden", "skips", "misses"), True),
)
PROFILES: Final = {"sum@1": FIRST, "sum@2": SECOND}


def trace_under(profile: ToyProfile, program: Json) -> Json:
    total = 0
    sums: list[Json] = []
    for number in program["numbers"]:
        doubled = profile.doubles and number == 7
        skipped = number == 8 and (profile.skips or profile.misses)
        if not skipped and not (profile.forgets and number == 3 and sums):
            total += 2 * number if doubled else number
        marked = {"mark": "!"} if doubled and profile.shouts else {}
        sums.append({"read": number, "sum": total, **marked})
    return {"id": program["id"], "by": profile.name, "end": total, "sums": sums}


def trace(program: Json, profile: str) -> Json:
    return trace_under(PROFILES[profile], program)


def features(program: Json) -> set[str]:
    return {"note" for _ in program.get("note", ())} | {f"{len(program['numbers'])} numbers"}


FAMILY: Final[Family] = attrs.evolve(
    toy_family.FAMILY,
    name="sum",
    profiles=tuple(PROFILES),
    trace=trace,
    comparison=Comparison(
        permitted={"id": ids_may_differ, "by": bys_may_differ},
        order=(Each("sums", ("read", "mark", "sum")), "end"),
    ),
    features=features,
    emulation=Emulation(profiles=PROFILES, trace=trace_under),
)


FRAMEWORK: Final = Framework(
    name="sum",
    title="Sum",
    profiles=dict.fromkeys(PROFILES, "adds numbers up"),
    family="oracle.toy_versions:FAMILY",
)
ENTRY: Final = {"sum": "oracle.toy_versions:FRAMEWORK"}


def driver(version: str) -> tuple[str, ...]:
    """The command line of the driver, for where the folder of the tests is on PYTHONPATH."""
    return (sys.executable, "-m", "oracle.toy_versions", version)


def serve(version: str) -> None:
    for line in sys.stdin:
        program = json.loads(line)
        if version == "broken" and 4 in program["numbers"]:
            sys.exit("no fours")
        answer = trace(program, version if version in PROFILES else "sum@2")
        if version == "late":
            answer["end"] += 1
        if 9 in program["numbers"]:
            answer = {"id": program["id"], "unsupported": "nines"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
