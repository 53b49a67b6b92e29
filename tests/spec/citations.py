"""What cites which requirement: the vectors, and the examples of the specification."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Final

from agentcore.oracle.spec.examples import Example, examples
from agentcore.oracle.spec.vectors import Vector
from spec import recorded
from spec.requirements import SPEC, families

EXAMPLES: Final[tuple[Example, ...]] = tuple(
    example for file in sorted(SPEC.rglob("*.md")) for example in examples(file)
)
VECTORS: Final[tuple[Vector, ...]] = tuple(
    vector for vector in recorded.ALL if vector.family.name in families()
)


def shown_by(file: Path) -> AbstractSet[str]:
    """The requirements that a file of vectors shows, in any of its versions."""
    return _shown().get(file, frozenset())


@cache
def _shown() -> Mapping[Path, AbstractSet[str]]:
    found: dict[Path, set[str]] = {}
    for vector in VECTORS:
        found.setdefault(vector.file, set()).update(vector.requirements)
    return found


def named(example: Example) -> str:
    """A short name for a test: `chains.md-3`."""
    return f"{example.place.file.name}-{example.place.number}"


@cache
def cited() -> Mapping[str, list[str]]:
    """The places that cite each name."""
    found: dict[str, list[str]] = {}
    for vector in VECTORS:
        for name in vector.requirements:
            found.setdefault(name, []).append(str(vector.file))
    for example in EXAMPLES:
        for name in example.cites:
            found.setdefault(name, []).append(str(example.place))
    return found
