"""Draws which folder of the package imports which: `python -m tools.architecture [--check]`.

A room is a folder of `agentcore`, those of the oracle each for itself; what lies directly in the package is a
room too, whose name is the package's. The picture in ARCHITECTURE.md is written anew from the import
statements that run when a module is imported, so those inside functions are left out; so are arrows that
others imply, and rooms that import each other are drawn as one.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import networkx as nx

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "ARCHITECTURE.md"
PACKAGE: Final = "agentcore"
# Each folder of it is a room.
_PARTED: Final = "oracle"
_COMMANDS: Final = {"__main__"}
_PICTURE: Final = re.compile(r"(<!-- made by tools/architecture.py -->\n).*?(<!-- end -->)", re.DOTALL)

Graph = Mapping[str, set[str]]


def room_of(module: str) -> str:
    """The room of a module by its name within the package, such as `heap.views` or `heap.__init__`."""
    first, *rest = module.split(".")
    if not rest or module == f"{_PARTED}.__init__":
        return "cli" if first in _COMMANDS else PACKAGE
    second = rest[0]
    return f"{first}/{second}" if first == _PARTED and len(rest) > 1 else first


def modules(package: Path) -> Mapping[str, Path]:
    """The modules of a package by their names within it; a package's own module is `folder.__init__`."""
    files = sorted(package.rglob("*.py"))
    return {".".join(file.relative_to(package).with_suffix("").parts): file for file in files}


def imported(source: str, known: Iterable[str]) -> Iterator[str]:
    """The modules of the package, by their names within it, that a source imports from."""
    names = {*known}
    for node in _run_at_import(ast.parse(source)):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            wanted = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in wanted:
            top, _, rest = name.partition(".")
            if top == PACKAGE:
                yield module_named(rest, names)


def _run_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those inside functions."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from _run_at_import(node)


def module_named(name: str, known: Iterable[str]) -> str:
    """The module that a dotted name leads to: itself, a package's own one, or what the last part is in."""
    names = {*known}
    while name:
        for each in (name, f"{name}.__init__"):
            if each in names:
                return each
        name = name.rpartition(".")[0]
    return "__init__"


def graph(package: Path = ROOT / PACKAGE) -> Graph:
    """Which room imports from which others."""
    known = modules(package)
    found: dict[str, set[str]] = {room_of(name): set() for name in known}
    for name, file in known.items():
        room = room_of(name)
        targets = {room_of(each) for each in imported(file.read_text("utf-8"), known)}
        found[room] |= targets - {room}
    return found


def circles(rooms: Graph) -> list[list[str]]:
    """The rooms that import each other, in groups."""
    parts = nx.strongly_connected_components(_directed(rooms))
    return sorted(sorted(part) for part in parts if len(part) > 1)


def floors(rooms: Graph) -> int:
    """How many rooms stand above one another where most do, circles counted as one."""
    return int(nx.dag_longest_path_length(nx.condensation(_directed(rooms)))) + 1


def _directed(rooms: Graph) -> Any:
    arrows = [(room, target) for room, targets in sorted(rooms.items()) for target in sorted(targets)]
    directed = nx.DiGraph(arrows)
    directed.add_nodes_from(rooms)
    return directed


def picture(rooms: Graph) -> str:
    """A flowchart of the rooms, from those that nothing imports to those that import nothing."""
    directed = _directed(rooms)
    parts = [sorted(part) for part in nx.strongly_connected_components(directed)]
    part_of = {room: part[0] for part in parts for room in part}
    whole = nx.DiGraph((part_of[a], part_of[b]) for a, b in directed.edges if part_of[a] != part_of[b])
    whole.add_nodes_from(part_of.values())
    reduced = nx.transitive_reduction(whole)
    boxes = [f'  {_box(part[0])}["{"<br>".join(part)}"]' for part in sorted(parts)]
    arrows = [f"  {_box(a)} --> {_box(b)}" for a, b in sorted(reduced.edges)]
    return "\n".join(("```mermaid", "flowchart TD", *boxes, *arrows, "```", ""))


def _box(room: str) -> str:
    return re.sub(r"\W", "_", room)


def with_picture(text: str, rooms: Graph) -> str:
    """The page with its picture made anew.

    Raises:
        ValueError: if the page has no place for one.
    """
    if not _PICTURE.search(text):
        raise ValueError("the page lacks the comments that the picture stands between")
    return _PICTURE.sub(lambda match: f"{match[1]}\n{picture(rooms)}\n{match[2]}", text)


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the picture; with --check returns 1 if it is out of date."""
    parser = argparse.ArgumentParser(prog="python -m tools.architecture")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args(argv)
    text = PAGE.read_text("utf-8")
    new = with_picture(text, graph())
    if not arguments.check:
        PAGE.write_text(new, encoding="utf-8")
    elif new != text:
        print("the picture of ARCHITECTURE.md is out of date; run: python -m tools.architecture")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
