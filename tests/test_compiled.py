"""The modules that an optional build compiles (pyproject.toml); `nox -s compiled` runs the tests on them."""

from __future__ import annotations

import tomllib
from pathlib import Path, PurePath

ROOT = Path(__file__).parents[1]


def test_each_pattern_of_the_build_is_one_module() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    hook = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["cython"]
    assert hook["enable-by-default"] is False
    modules = [path.relative_to(ROOT) for path in (ROOT / "agentcore").rglob("*.py")]
    for pattern in hook["options"]["files"]["targets"]:
        assert len([path for path in modules if PurePath(path).match(pattern)]) == 1, pattern
