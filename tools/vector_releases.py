"""Finds since when the vectors of the newest ai@6 hold: `python -m tools.vector_releases`.

Each program of `spec/vectors/ai-sdk` with traces of `ai-sdk-6.0.326` runs on releases between 6.0.134, where
its traces are others, and 6.0.326, each installed as a target is. The middle one is tried until at most GAP
releases are left between the last with other traces and the first with these. The findings go to
tools/data/vector-releases.json, and the page of versions shows them (tests/spec/versions.py).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from agentcore.kit.compare import differences
from agentcore.kit.families import family_of
from agentcore.oracle.drivers.driver import Answer, Driver
from agentcore.oracle.drivers.packages import command
from agentcore.oracle.spec.vectors import Vector, load

ROOT: Final = Path(__file__).parent.parent
VECTORS: Final = ROOT / "spec" / "vectors" / "ai-sdk"
DATA: Final = Path(__file__).parent / "data" / "vector-releases.json"
PROFILE: Final = "ai-sdk-6.0.326"
FIRST: Final = 134
LAST: Final = 326
GAP: Final = 20


def patches() -> tuple[int, ...]:
    """The patches of 6.0 from the first to the last that npm has."""
    npm = ("npm", "view", "ai", "versions", "--json")
    listed = subprocess.run(npm, check=True, capture_output=True, text=True)  # noqa: S603 - fixed arguments
    numbers = (each.removeprefix("6.0.") for each in json.loads(listed.stdout) if each.startswith("6.0."))
    return tuple(sorted(int(each) for each in numbers if each.isdecimal() and FIRST <= int(each) <= LAST))


def as_recorded(patch: int, vectors: Collection[Vector]) -> Iterator[Vector]:
    """Those of some vectors whose programs have the recorded traces on a release."""
    family = family_of(PROFILE)
    with Driver(command(f"ai-sdk@6.0.{patch}"), trace_fields=family.trace_fields) as driver:
        for vector in vectors:
            for run in vector.runs:
                driver.submit(vector.on(run))
            answers = {run: driver.receive() for run in vector.runs}
            if all(
                isinstance(answer, Answer)
                and differences(
                    {**vector.traces[run], "package": ""}, {**answer.trace, "package": ""}, family.comparison
                )
                is None
                for run, answer in answers.items()
            ):
                yield vector


def search(known: Sequence[int], vectors: Sequence[Vector]) -> Iterator[tuple[Vector, int, int]]:
    """Each vector with the last release where its traces are others, and the first where they are these."""
    if not vectors:
        return
    if len(known) - 2 <= GAP:
        yield from ((vector, known[0], known[-1]) for vector in vectors)
        return
    middle = len(known) // 2
    new = [*as_recorded(known[middle], vectors)]
    print(f"6.0.{known[middle]}: {len(new)} of {len(vectors)}", flush=True)
    yield from search(known[: middle + 1], new)
    yield from search(known[middle:], [vector for vector in vectors if vector not in new])


def measured() -> Mapping[str, str]:
    """What was found: for each vector by its path, since when its traces are what they are."""
    found: Mapping[str, str] = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {}
    return found


def main() -> int:
    """Searches all vectors and writes what was found."""
    found = {
        vector.file.relative_to(VECTORS).as_posix(): f"after 6.0.{before}, by 6.0.{since}"
        for vector, before, since in search(patches(), [*load(VECTORS, PROFILE)])
    }
    DATA.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
