from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import platformdirs
import pytest

from agentcore.errors import AgentCoreError
from agentcore.oracle import targets
from agentcore.oracle.targets import TARGETS, Target, TargetError, command, sources
from oracle.drivers import TESTS

NAME: Final = "ai-sdk@6.0.134"
SOURCES: Final = Path(str(files("agentcore.oracle.targets")))


class FakeTools:
    """A PATH with a node that does nothing, and an npm that notes where it was run and does as it is told."""

    def __init__(self, folder: Path, npm: str = "mkdir node_modules") -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.runs.touch()
        self.add("node", "")
        self.add("npm", f'echo "$PWD $*" >> {self.runs}\n{npm}')

    def add(self, name: str, script: str) -> None:
        file = self.folder / name
        file.write_text(f"#!/bin/sh\nPATH=/bin:/usr/bin\n{script}\n", "utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("AGENTCORE_CACHE", str(folder))
    return folder


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeTools:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return FakeTools(folder)


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(
        TargetError, match=r"no target is named 'ai-sdk@5'; there are ai-sdk@6\.0\.134"
    ) as caught:
        command("ai-sdk@5")
    assert isinstance(caught.value, AgentCoreError)


@pytest.mark.parametrize("missing", ["node", "npm"])
def test_a_missing_tool_is_an_error_that_says_what_to_install(
    missing: str, tools: FakeTools, cache: Path
) -> None:
    (tools.folder / missing).unlink()
    with pytest.raises(TargetError, match=f"^{missing} is not on the PATH; install Node.js 20 or newer"):
        command(NAME)
    assert not cache.exists()


def test_a_package_is_installed_once_beside_its_driver(tools: FakeTools, cache: Path) -> None:
    node, driver = command(NAME)
    assert node == str(tools.folder / "node")
    place = Path(driver).parent
    assert place.parent.parent == cache
    for own in ("driver.mjs", "package.json", "package-lock.json", ".npmrc"):
        assert (place / own).read_bytes() == (SOURCES / "ai_sdk_6" / own).read_bytes()
    for shared in ("ai_sdk.mjs", "lines.mjs", "ops.mjs"):
        assert (place.parent / shared).read_bytes() == (SOURCES / shared).read_bytes()
    assert (place / "node_modules").is_dir()
    assert command(NAME) == (node, driver)
    assert tools.runs.read_text("utf-8") == f"{place} ci --no-audit --no-fund\n"


def test_an_install_that_fails_is_an_error_with_what_npm_said_and_is_tried_again(
    tools: FakeTools, cache: Path
) -> None:
    tools.add("npm", "echo 'no network here' >&2; exit 1")
    with pytest.raises(TargetError, match=r"npm could not install ai@6\.0\.134: no network here"):
        command(NAME)
    assert not [*cache.glob("*/complete")]
    tools.add("npm", "mkdir node_modules")
    _, driver = command(NAME)
    assert (Path(driver).parent / "node_modules").is_dir()


def test_an_install_that_takes_too_long_is_an_error(
    tools: FakeTools, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.add("npm", "exec sleep 30")
    monkeypatch.setattr(targets, "_INSTALL_SECONDS", 0.1)
    with pytest.raises(TargetError, match=r"npm did not install ai@6\.0\.134 within 0\.1 seconds"):
        command(NAME)
    assert not [*cache.glob("*/complete")]


def test_another_driver_has_another_place(
    tools: FakeTools, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = tmp_path / "changed"
    for name in sources(TARGETS[NAME]):
        (changed / name).parent.mkdir(parents=True, exist_ok=True)
        (changed / name).write_bytes((SOURCES / name).read_bytes() + b"\n")
    _, before = command(NAME)
    monkeypatch.setattr(targets, "files", lambda _: changed)
    _, after = command(NAME)
    assert before != after
    assert len([*cache.iterdir()]) == 2
    assert len(tools.runs.read_text("utf-8").splitlines()) == 2


@pytest.mark.usefixtures("tools")
def test_the_users_cache_is_used_where_the_environment_names_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTCORE_CACHE", raising=False)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / "home" / name)
    _, driver = command(NAME)
    assert Path(driver).parent.parent.parent == tmp_path / "home" / "agentcore" / "targets"


def lock(target: Target) -> dict[str, Any]:
    text = (SOURCES / target.folder / "package-lock.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)["packages"]
    return {name.rpartition("node_modules/")[2]: entry for name, entry in found.items() if name}


def of(installer: str) -> pytest.MarkDecorator:
    named = {name: target for name, target in TARGETS.items() if target.installer == installer}
    return pytest.mark.parametrize("target", named.values(), ids=named)


@of("npm")
def test_a_lock_file_pins_everything_by_content_and_names_no_address_to_load_it_from(target: Target) -> None:
    assert lock(target)
    for entry in lock(target).values():
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry


@of("npm")
def test_the_package_that_a_target_names_is_the_one_it_pins(target: Target) -> None:
    wanted = json.loads((SOURCES / target.folder / "package.json").read_text("utf-8"))["dependencies"]
    name, _, version = target.package.rpartition("@")
    assert wanted[name] == version == lock(target)[name]["version"]


@of("npm")
def test_npm_is_told_to_write_no_addresses(target: Target) -> None:
    settings = (SOURCES / target.folder / ".npmrc").read_text("utf-8").splitlines()
    assert "omit-lockfile-registry-resolved=true" in settings


@of("pip")
def test_what_pip_installs_is_pinned_line_by_line_and_has_the_package_that_the_target_names(
    target: Target,
) -> None:
    lines = (SOURCES / target.folder / "requirements.txt").read_text("utf-8").splitlines()
    assert len(lines) == len({line.partition("==")[0] for line in lines})
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    assert target.package in lines


def test_the_wheel_has_the_drivers_and_the_schemas(tmp_path: Path) -> None:
    hatchling = pytest.importorskip("hatchling.build")
    assert hatchling
    here = TESTS.parent
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    made = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)],
        cwd=here,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": "315532800"},
    )
    with zipfile.ZipFile(tmp_path / made.stdout.split()[-1]) as wheel:
        names = {*wheel.namelist()}
    targets_folder = "agentcore/oracle/targets"
    for target in TARGETS.values():
        assert {f"{targets_folder}/{name}" for name in sources(target)} <= names
    schemas = {f"agentcore/schemas/{file.name}" for file in (here / "agentcore" / "schemas").iterdir()}
    assert len(schemas) >= 3
    assert schemas <= names
    assert "agentcore/py.typed" in names
    assert not any("node_modules" in name for name in names)
