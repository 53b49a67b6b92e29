from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import platformdirs
import pytest

from agentcore.errors import AgentCoreError
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.packages import TARGETS, Target, TargetError, command, sources, target_of
from oracle.driver_commands import TESTS

NAME: Final = "ai-sdk@6.0.134"
AI_SDK: Final = Path(str(files("agentcore.frameworks.ai_sdk"))) / "package"
SHARED: Final = Path(str(files("agentcore.kit"))) / "drivers"


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
        assert (place / own).read_bytes() == (AI_SDK / "ai_sdk_6" / own).read_bytes()
    assert (place.parent / "ai_sdk.mjs").read_bytes() == (AI_SDK / "ai_sdk.mjs").read_bytes()
    for shared in ("lines.mjs", "ops.mjs", "writes.mjs"):
        assert (place.parent / shared).read_bytes() == (SHARED / shared).read_bytes()
    assert (place / "node_modules").is_dir()
    assert command(NAME) == (node, driver)
    assert tools.runs.read_text("utf-8") == f"{place} ci --ignore-scripts --no-audit --no-fund\n"


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("ai-sdk@6.0.1", "ai-sdk-6"),
        ("ai-sdk@6.0.135", "ai-sdk-6"),
        ("ai-sdk@6.0.325", "ai-sdk-6"),
        ("ai-sdk@6.1.0", "ai-sdk-6.0.326"),
        ("ai-sdk@7.1.2", "ai-sdk-7"),
        ("mastra@1.9.0", "mastra@1.0.4"),
    ],
)
def test_another_release_is_held_to_the_newest_known_one_below_it_or_the_oldest(
    name: str, profile: str
) -> None:
    found = target_of(name)
    assert found.profile == profile
    assert not found.pinned
    package, _, version = found.package.rpartition("@")
    assert f"@{version}" in name
    assert json.loads(text_of(found, "package.json"))["dependencies"][package] == version
    assert f"{found.folder}/package-lock.json" not in sources(found)


@pytest.mark.parametrize(
    "name",
    [
        "ai-sdk@5.0.0",
        "ai-sdk@8.0.0",
        "ai-sdk@six",
        "ai-sdk@6.0",
        "ai-sdk",
        "strands-py@2.0.0",
    ],
)
def test_a_release_of_an_unknown_major_version_is_an_error(name: str) -> None:
    with pytest.raises(TargetError, match=f"no target is named '{name}'; there are "):
        target_of(name)


def test_another_release_is_locked_once(tools: FakeTools, cache: Path) -> None:
    tools.add(
        "npm",
        f'echo "$1 $2" >> {tools.runs}\nif [ $1 = install ]; then touch package-lock.json; exit; fi\nexit 1',
    )
    for _ in range(2):
        with pytest.raises(TargetError, match=r"npm could not install ai@6\.0\.200"):
            command("ai-sdk@6.0.200")
    assert tools.runs.read_text("utf-8").split() == [
        *("install", "--package-lock-only"),
        *("ci", "--ignore-scripts") * 2,
    ]
    tools.add("npm", "mkdir node_modules")
    _, driver = command("ai-sdk@6.0.200")
    assert (Path(driver).parent / "package-lock.json").exists()
    assert [*cache.glob("*/complete")]


def test_two_that_need_a_package_at_once_have_it_installed_once(tools: FakeTools, cache: Path) -> None:
    tools.add("npm", f'echo "$PWD $*" >> {tools.runs}\nsleep 0.2\nmkdir node_modules')
    with ThreadPoolExecutor() as pool:
        found = {*pool.map(command, [NAME, NAME])}
    assert len(found) == 1
    assert len(tools.runs.read_text("utf-8").splitlines()) == 1
    assert len([*cache.glob("*/complete")]) == 1


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
    shutil.copytree(AI_SDK, changed / "package")
    shutil.copytree(SHARED, changed / "drivers")
    (changed / "drivers" / "ops.mjs").write_bytes(b"// another\n")
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


# ---------------------------------------------------------------- packages of Python

PYTHON_TARGET: Final = Target(
    profile="ai-sdk-6",
    package="a-package==1.0",
    source="sources",
    folder="python",
    files=("python/more.py",),
    installer="pip",
)


@pytest.fixture
def python_target(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A target of Python, its package a comment, whose Python notes how it was called; the notes."""
    folder = tmp_path / "sources" / "package" / "python"
    folder.mkdir(parents=True)
    for name, text in (
        ("driver.py", "import more, sys; print(more.TEXT, sys.prefix)"),
        ("more.py", "TEXT = 'driven'"),
        ("requirements.txt", "a-package==1.0\n"),
    ):
        (folder / name).write_text(text, "utf-8")
    notes = tmp_path / "notes"
    notes.touch()
    tool = FakeTools(folder)
    in_environment = f'#!/bin/sh\necho pip \\"\\$PWD\\" \\$* >> {notes}'
    tool.add(
        "python",
        f'echo venv "$PWD" $* >> {notes}\nmkdir -p venv/bin\n'
        f'printf "%b" "{in_environment}" > venv/bin/python\nchmod +x venv/bin/python',
    )
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setattr(targets, "files", lambda _: tmp_path / "sources")
    monkeypatch.setattr(targets, "TARGETS", {"python": PYTHON_TARGET})
    assert not cache.exists()
    return notes


def test_a_package_of_python_is_installed_once_into_an_environment_beside_its_driver(
    python_target: Path,
) -> None:
    python, *flags, driver = command("python")
    place = Path(driver).parent
    assert python == str(place / "venv" / "bin" / "python")
    assert flags == ["-E", "-s"]
    assert {file.name for file in place.iterdir()} == {"driver.py", "more.py", "requirements.txt", "venv"}
    assert command("python") == (python, *flags, driver)
    made, installed = python_target.read_text("utf-8").splitlines()
    assert made == f"venv {place} -m venv --clear venv"
    assert installed.startswith(f"pip {place} -m pip install --require-hashes --no-deps --only-binary :all: ")
    assert installed.endswith(" -r requirements.txt")


@pytest.mark.parametrize("step", ["venv", "pip"])
def test_a_package_of_python_that_cannot_be_installed_is_told_and_tried_again(
    step: str, python_target: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, fails = subprocess.run, True

    def run(argv: list[str], **settings: Any) -> Any:
        wrong = fails and argv[1:3] == ["-m", step]
        return real(["sh", "-c", "echo no wheel; exit 1"] if wrong else argv, **settings)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(TargetError, match=r"^pip could not install a-package==1\.0: no wheel$"):
        command("python")
    assert not [*cache.glob("*/complete")]
    fails = False
    command("python")
    assert [*cache.glob("*/complete")]
    assert python_target.read_text("utf-8").splitlines()[-1].startswith("pip ")


@pytest.mark.usefixtures("python_target")
def test_the_cache_may_be_named_from_where_the_command_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTCORE_CACHE", "here")
    python, *_, driver = command("python")
    assert Path(driver).is_relative_to(tmp_path / "here")
    assert Path(python).is_file()


@pytest.mark.slow
def test_an_environment_of_its_own_runs_the_driver_and_nothing_of_this_one_is_seen_there(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sources" / "package" / "python"
    folder.mkdir(parents=True)
    code = "import importlib.util, sys; print(importlib.util.find_spec('attrs'), sys.prefix)"
    (folder / "driver.py").write_text(code, "utf-8")
    (folder / "more.py").touch()
    # `pip` takes it, and has nothing to ask an index for.
    (folder / "requirements.txt").write_text("# nothing\n", "utf-8")
    monkeypatch.setattr(targets, "files", lambda _: tmp_path / "sources")
    monkeypatch.setattr(targets, "TARGETS", {"python": PYTHON_TARGET})
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    argv = command("python")
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", str(Path(argv[-1]).parent / "venv")]
    assert Path(argv[-1]).is_relative_to(cache)


# ---------------------------------------------------------------- what is pinned


def text_of(target: Target, name: str) -> str:
    return sources(target)[f"{target.folder}/{name}"].decode()


def lock(target: Target) -> dict[str, Any]:
    text = text_of(target, "package-lock.json")
    found: dict[str, Any] = json.loads(text)["packages"]
    return {name.rpartition("node_modules/")[2]: entry for name, entry in found.items() if name}


def every_target(installer: str) -> pytest.MarkDecorator:
    found = {name: target for name, target in TARGETS.items() if target.installer == installer}
    return pytest.mark.parametrize("target", found.values(), ids=found)


@pytest.mark.parametrize("source", sorted({target.source for target in TARGETS.values()}))
def test_each_file_of_a_driver_is_installed_with_some_package(source: str) -> None:
    own = [target for target in TARGETS.values() if target.source == source]
    named = {name for target in own for name in (*target.files, f"{target.folder}/driver.mjs")}
    named |= {f"{target.folder}/driver.py" for target in own if target.installer == "pip"}
    folder = Path(str(files(source) / "package"))
    there = [
        file
        for kind in ("mjs", "py")
        for file in folder.rglob(f"*.{kind}")
        if "node_modules" not in file.parts
    ]
    assert {file.relative_to(folder).as_posix() for file in there} - named == set()


@every_target("npm")
def test_a_lock_file_pins_everything_by_content_and_names_no_address_to_load_it_from(target: Target) -> None:
    assert lock(target)
    for entry in lock(target).values():
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry


@every_target("npm")
def test_the_package_that_a_target_names_is_the_one_it_pins(target: Target) -> None:
    wanted = json.loads(text_of(target, "package.json"))["dependencies"]
    name, _, version = target.package.rpartition("@")
    assert wanted[name] == version == lock(target)[name]["version"]


@every_target("npm")
def test_npm_is_told_to_write_no_addresses(target: Target) -> None:
    settings = text_of(target, ".npmrc").splitlines()
    assert "omit-lockfile-registry-resolved=true" in settings


@every_target("pip")
def test_requirements_pin_everything_and_the_package_that_a_target_names(target: Target) -> None:
    text = text_of(target, "requirements.txt")
    pins = [line.split() for line in text.replace("\\\n", " ").splitlines()]
    assert target.package in [pin for pin, *_ in pins]
    for pin, *hashes in pins:
        assert re.fullmatch(r"[\w.-]+==[\w.]+", pin)
        assert hashes
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in hashes)


ADDRESS: Final = re.compile(r"://|git\+|file:|--(extra-)?index-url|--find-links|^registry", re.MULTILINE)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_settings_of_an_installer_name_no_address(target: Target) -> None:
    own = {"npm": ("package.json", ".npmrc"), "pip": ("requirements.txt",)}
    for name in own[target.installer]:
        assert not ADDRESS.search(text_of(target, name))


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
    for target in TARGETS.values():
        folder = target.source.replace(".", "/")
        own = {f"{folder}/package/{name}" for name in sources(target).keys() - {*target.shared}}
        assert own | {f"agentcore/kit/drivers/{name}" for name in target.shared} <= names
    schemas = {file.relative_to(here).as_posix() for file in (here / "agentcore").rglob("*.schema.json")}
    assert len(schemas) >= 10
    assert schemas <= names
    assert {"agentcore/skeletons/driver.py", "agentcore/skeletons/driver.mjs"} <= names
    assert "agentcore/py.typed" in names
    assert not any("node_modules" in name for name in names)
