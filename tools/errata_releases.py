"""Finds since which release the errata about the AI SDK hold: `python -m tools.errata_releases`.

Each program of the two pages of spec/errata about it runs on some releases of the package, which are
installed and kept as targets are. A statement is true of a release unless the values in a block `claimed`
are others there; the blocks of `ai-sdk-6` are held against releases of 6, those of `ai-sdk-7` against
releases of 7. The findings go to tools/data/errata-releases.json, and the tables of spec/errata.md show
them (tests/spec/errata.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from agentcore.oracle.drivers.driver import Answer, Driver
from agentcore.oracle.drivers.packages import command
from agentcore.oracle.spec.examples import Example, Expectation, examples, value_at

ROOT: Final = Path(__file__).parent.parent
ERRATA: Final = tuple(
    ROOT / "spec/errata" / name for name in ("message-reference-model.md", "prepare-step-semantics.md")
)
DATA: Final = Path(__file__).parent / "data" / "errata-releases.json"
RELEASES: Final = (
    *(f"6.0.{patch}" for patch in (134, 140, 170, 200, 230, 260, 290, 310, 326)),
    *("7.0.0", "7.0.173"),
)


def claimed(release: str, example: Example) -> Iterator[Expectation]:
    """What an example says was claimed, for the version that a release belongs to."""
    version = f"ai-sdk-{release.partition('.')[0]}/"
    yield from (each for each in example.expectations if each.claimed and each.profile.startswith(version))


def holds(expectation: Expectation, trace: Mapping[str, Any]) -> bool:
    """Whether a trace has all that was claimed."""
    return all(value_at(trace, path) == value for path, value in expectation.values.items())


def found_on(release: str) -> Mapping[str, Mapping[str, bool]]:
    """For each statement that an example is about, and each path of it: whether what was claimed is so."""
    found: dict[str, Mapping[str, bool]] = {}
    with Driver(command(f"ai-sdk@{release}")) as driver:
        for file in ERRATA:
            titles = by_example(file)
            for example in examples(file):
                paths: dict[str, bool] = {}
                for each in claimed(release, example):
                    driver.submit(example.on(each.profile))
                    outcome = driver.receive()
                    so = isinstance(outcome, Answer) and holds(each, outcome.trace)
                    paths[each.profile.partition("/")[2]] = so
                if paths:
                    found[titles[example.place.number]] = paths
    return found


def measured() -> Mapping[str, Mapping[str, Mapping[str, bool]]]:
    """What was found: by release, statement and path."""
    found: Mapping[str, Mapping[str, Mapping[str, bool]]] = json.loads(DATA.read_text("utf-8"))
    return found


def main() -> int:
    """Measures all releases and writes what was found."""
    found = {}
    for release in RELEASES:
        found[release] = found_on(release)
        print(f"{release}: {sum(all(paths.values()) for paths in found[release].values())} hold", flush=True)
    DATA.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def by_example(file: Path) -> Mapping[int, str]:
    """The heading that each example stands under, by the number of the example."""
    lines = file.read_text("utf-8").splitlines()
    found = {}
    for example in examples(file):
        above = (line for line in reversed(lines[: example.place.lines[0]]) if line.startswith("## "))
        found[example.place.number] = next(above).removeprefix("## ")
    return found


if __name__ == "__main__":
    sys.exit(main())
