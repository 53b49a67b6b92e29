"""Core modules do no I/O, read no clock, draw no randomness, and import only what stands above them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import agentcore

PACKAGE: Final = Path(agentcore.__file__).parent

CORE: Final = (
    "errors",
    "brief",
    "paths",
    "readonly",
    "vectors",
    "values",
    "converters",
    "usage",
    "messages",
    "codec",
    "wire",
    "tokens",
    "differences",
    "rules",
    "media",
    "content",
    "rounds",
    "prompt",
    "chains",
    "message_trim",
    "message_repair",
    "hooks",
    "interrupts",
    "message_list",
    "processors",
    "preparing",
    "effects",
    "state",
    "calls",
    "step",
    "pending",
    "run",
    "history",
    "outcome_json",
    "run_json",
    "origins",
    "account",
)
# Modules of the package that may do all of it.
SHELL: Final = {
    "__init__",
    "__main__",
    "agent",
    "demo",
    "events",
    "middleware",
    "observe",
    "output",
    "result",
    "saved",
    "schema",
    "stop",
}

# What cannot do I/O. `sys` and `json` can by some of their names, which are refused below.
PURE: Final = {
    "__future__",
    "base64",
    "collections",
    "difflib",
    "enum",
    "contextlib",
    "contextvars",  # which hook is running, for errors of refused writes only
    "functools",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "sys",
    "threading",  # what one comparison has seen is of its thread
    "types",
    "typing",
    "typing_extensions",
    "attrs",
    "cattrs",
    "ada_url",
    "immutabledict",
    "pyrsistent",
}
IMPURE_NAMES: Final = {"open", "print", "eval", "exec", "__import__", "breakpoint"}
# Of tool calls, unless it is called.
INPUT: Final = "input"
# The last one to see whose code has written, where a write is refused.
PURE_IN_SYS: Final = {"float_info", "maxsize", "_getframe"}
JSON_FILES: Final = {"json.dump", "json.load"}


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            if module in ("agentcore", "sys"):
                yield from (f"{module}.{alias.name}" for alias in node.names)
            else:
                yield module


def import_faults(tree: ast.AST, above: tuple[str, ...]) -> Iterator[str]:
    for name in imports(tree):
        top, _, rest = name.partition(".")
        if top == "agentcore":
            if rest not in above:
                yield f"imports {name}, which does not stand above it"
        elif top not in PURE:
            yield f"imports {name}, which is not known to be pure"
        elif top == "sys" and rest and rest not in PURE_IN_SYS:
            yield f"takes {name}"


def name_faults(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in IMPURE_NAMES:
            yield f"names {node.id}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == INPUT:
            yield "calls input"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            whole = f"{node.value.id}.{node.attr}"
            if (node.value.id == "sys" and node.attr not in PURE_IN_SYS) or whole in (
                "json.dump",
                "json.load",
            ):
                yield f"takes {whole}"


def faults(source: str, above: tuple[str, ...] = ()) -> list[str]:
    tree = ast.parse(source)
    return [*import_faults(tree, above), *name_faults(tree)]


@pytest.mark.parametrize("module", CORE)
def test_a_core_module_is_pure_and_imports_only_what_stands_above_it(module: str) -> None:
    source = (PACKAGE / f"{module}.py").read_text(encoding="utf-8")
    assert faults(source, CORE[: CORE.index(module)]) == []


def test_every_module_is_in_the_order_or_known_to_be_outside_of_the_core() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} - set(CORE) - SHELL == set()


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "import os.path as p",
        "from time import time",
        "def f():\n    import random",
        "from pathlib import Path",
        "import agentcore.cli",
        "from agentcore import step",
        "from agentcore.run import Run",
        "from . import values",
        "from .values import freeze",
        "import sys\nsys.stdout.write('x')",
        "from sys import stdout",
        "import json\njson.load(f)",
        "open('x')",
        "print('x')",
        "__import__('os')",
        "f = print",
        "input()",
    ],
)
def test_the_checks_above_find_what_is_not_allowed(source: str) -> None:
    assert len(faults(source, ("values",))) == 1


def test_the_checks_above_let_pass_what_is_allowed() -> None:
    source = (
        "import sys\nfrom agentcore.values import freeze\nfrom agentcore import values\nsys.float_info.max"
    )
    assert faults(source, ("values",)) == []


def test_the_package_imports_nothing_of_its_own_before_a_name_is_asked_for() -> None:
    source = (
        "import sys, agentcore\n"
        "assert {name for name in sys.modules if name.startswith('agentcore')} == {'agentcore'}\n"
        "assert 'attrs' not in sys.modules\n"
        "assert all(hasattr(agentcore, name) and name in dir(agentcore) for name in agentcore.__all__)\n"
        "assert not hasattr(agentcore, 'nothing')\n"
    )
    subprocess.run([sys.executable, "-c", source], check=True)
