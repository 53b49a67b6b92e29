"""Distributions of others that provide frameworks, as pip would have installed them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from agentcore.kit import framework


@contextmanager
def installed(entry_points: Mapping[str, str], name: str = "toys") -> Iterator[Path]:
    """Has a distribution with entry points for frameworks on the path, as long as the block lasts."""
    with TemporaryDirectory() as folder:
        put_metadata(Path(folder), entry_points, name)
        sys.path.insert(0, folder)
        framework.entries.cache_clear()
        try:
            yield Path(folder)
        finally:
            sys.path.remove(folder)
            framework.entries.cache_clear()


def put_metadata(folder: Path, entry_points: Mapping[str, str], name: str) -> None:
    """Writes what pip would write about a distribution."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    lines = [f"[{framework.GROUP}]", *(f"{key} = {value}" for key, value in entry_points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines), "utf-8")
