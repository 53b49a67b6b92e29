"""Private parts of pyrsistent are used in one module, and the version that has them is bounded."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

import agentcore

PACKAGE: Final = Path(agentcore.__file__).parent
PROJECT: Final = PACKAGE.parent / "pyproject.toml"
ALLOWED: Final = "messages/vectors.py"
# Knows the class by its name, for it also runs where the package is not installed, beside a person's hook.
NAMING: Final = "guard/reading.py"


def private_uses(source: str) -> Iterator[str]:
    """The private modules and names of pyrsistent that a source imports, or names in a text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (
                alias.name for alias in node.names if alias.name.startswith(("pyrsistent._", "pvectorc"))
            )
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pyrsistent":
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name for name in names if "._" in name)
        elif isinstance(node, ast.Constant) and str(node.value).startswith("pyrsistent._"):
            yield str(node.value)


@pytest.mark.slow
def test_one_module_uses_private_parts_of_pyrsistent() -> None:
    users = {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        if [*private_uses(file.read_text("utf-8"))]
    }
    assert users == {ALLOWED, NAMING}
    assert "import pyrsistent" not in (PACKAGE / NAMING).read_text("utf-8")


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("from pyrsistent._pvector import PythonPVector", 1),
        ("import pyrsistent._pvector", 1),
        ("from pyrsistent import _pvector", 1),
        ("import pvectorc", 1),
        ("NAME = 'pyrsistent._pvector'", 1),
        ("from pyrsistent import PVector, pvector\nNAME = 'pyrsistent'", 0),
    ],
)
def test_private_uses_are_found(source: str, count: int) -> None:
    assert len([*private_uses(source)]) == count


def test_the_version_of_pyrsistent_is_bounded_and_the_installed_one_is_inside() -> None:
    needed = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["dependencies"]
    (requirement,) = (each for each in needed if each.startswith("pyrsistent"))
    assert requirement == "pyrsistent>=0.20,<0.21"
    assert version("pyrsistent").startswith("0.20.")
