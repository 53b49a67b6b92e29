"""Reports of campaigns, as files: one document (`check-report.schema.json`), and what is made of it.

What a program or a driver says is data here: bounded where the document is made, and escaped where it is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

__all__ = ["SUFFIXES", "write"]

Json: TypeAlias = dict[str, Any]

# By the module that writes it, so that none is imported for another.
_WRITERS: Final[Mapping[str, str]] = MappingProxyType({".html": "html", ".json": "document", ".xml": "junit"})

SUFFIXES: Final = tuple(_WRITERS)
"""Endings of the names of files that a report can be written to: HTML, JSON, and JUnit's XML."""


def write(document: Json, file: Path) -> None:
    """Writes the report of a campaign, in the format that the file's name ends in; makes its folder.

    Raises:
        ValueError: for another ending.
        OSError: where the file cannot be written.
    """
    if file.suffix not in _WRITERS:
        raise ValueError(f"{file} ends in none of {', '.join(SUFFIXES)}")
    text: Callable[[Json], str] = import_module(f"{__name__}.{_WRITERS[file.suffix]}").text
    written = text(document)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(written, encoding="utf-8")
