"""Modules import only from rooms below; those of the core do no I/O, read no clock and draw no randomness."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

import pytest

from tools import architecture

MODULES: Final = architecture.modules(architecture.ROOT / architecture.PACKAGE)

# From the lowest to the highest. A room imports from itself and from those below it.
ROOMS: Final = (
    "agentcore",
    "requirements",
    "messages",
    "machine",
    "records",
    "conversations",
    "guard",
    "heap",
    "kit",
    "agent",
    "frameworks",
    "oracle/drivers",
    "oracle/spec",
    "oracle/comparison",
    "oracle/campaign",
    "oracle/reports",
    "live",
    "testing",
    "skeletons",
    "cli",
)
CORE: Final = ("requirements", "messages", "machine", "records")
# What reads files is at the edge of its room.
READS_FILES: Final = ("records.saved",)

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
    "gc",  # paused while a run is loaded; no value depends on it
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
    "lazy_loader",
    "attrs",
    "cattrs",
    "ada_url",
    "immutabledict",
    "pyrsistent",
}
IMPURE_NAMES: Final = {"open", "print", "eval", "exec", "__import__", "breakpoint"}
# It makes functions of the names of fields, as attrs makes constructors.
MAKES_FUNCTIONS: Final = {"messages.values": ["names exec"]}
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


def import_faults(tree: ast.AST, room: str) -> Iterator[str]:
    """What a module of a room imports that is no room below, or not known to be pure."""
    for name in imports(tree):
        top, _, rest = name.partition(".")
        if top == "agentcore":
            other = architecture.room_of(architecture.module_named(rest, MODULES))
            if other not in ROOMS[: ROOMS.index(room) + 1]:
                yield f"imports {name}, whose room is not below {room}"
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


def faults(source: str, room: str) -> list[str]:
    tree = ast.parse(source)
    return [*import_faults(tree, room), *name_faults(tree)]


def core_modules() -> list[str]:
    return [name for name in MODULES if architecture.room_of(name) in CORE and name not in READS_FILES]


@pytest.mark.parametrize("module", core_modules())
def test_a_core_module_is_pure(module: str) -> None:
    found = faults(MODULES[module].read_text("utf-8"), architecture.room_of(module))
    assert found == MAKES_FUNCTIONS.get(module, [])


def test_every_room_is_in_the_order() -> None:
    assert {architecture.room_of(name) for name in MODULES} == {*ROOMS}
    assert set(READS_FILES) <= {*MODULES}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_its_room_and_those_below(module: str) -> None:
    room = architecture.room_of(module)
    below = ROOMS[: ROOMS.index(room) + 1]
    tree = ast.parse(MODULES[module].read_text("utf-8"))
    wanted = {name for name in imports(tree) if name.split(".")[0] == "agentcore"}
    rooms = {name: architecture.room_of(architecture.module_named(name[10:], MODULES)) for name in wanted}
    assert {name: other for name, other in rooms.items() if other not in below} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "import os.path as p",
        "from time import time",
        "def f():\n    import random",
        "from pathlib import Path",
        "import agentcore.cli",
        "from agentcore import machine",
        "from agentcore.machine.run import Run",
        "from agentcore.machine import run",
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
    assert len(faults(source, "messages")) == 1


def test_the_checks_above_let_pass_what_is_allowed() -> None:
    lines = (
        "import sys",
        "from agentcore.messages.values import freeze",
        "from agentcore.messages import values",
        "sys.float_info.max",
    )
    assert faults("\n".join(lines), "messages") == []


def test_an_agent_waits_for_no_library_that_it_may_never_use() -> None:
    source = (
        "import sys\n"
        "from agentcore import Agent, ScriptedModel\n"
        "late = {'pydantic', 'cattrs', 'tenacity', 'docstring_parser', 'opentelemetry', 'sqlalchemy'}\n"
        "assert not late & {*sys.modules}, late & {*sys.modules}\n"
        "assert Agent(ScriptedModel([[{'type': 'text', 'text': 'ok'}]])).generate_sync('hi').text == 'ok'\n"
    )
    subprocess.run([sys.executable, "-c", source], check=True)


def test_the_package_imports_nothing_of_its_own_before_a_name_is_asked_for() -> None:
    source = (
        "import sys, agentcore\n"
        "ours = {name for name in sys.modules if name.startswith('agentcore')}\n"
        "assert ours == {'agentcore', 'agentcore.aliases'}\n"
        "assert 'attrs' not in sys.modules\n"
        "assert all(hasattr(agentcore, name) and name in dir(agentcore) for name in agentcore.__all__)\n"
        "assert not hasattr(agentcore, 'nothing')\n"
    )
    subprocess.run([sys.executable, "-c", source], check=True)
