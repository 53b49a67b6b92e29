"""Installs the real packages that frameworks name: each a small driver and the pinned package it drives."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Final

import attrs
import platformdirs
from filelock import FileLock

from agentcore.errors import AgentCoreError
from agentcore.kit.framework import PACKAGES, Package


class TargetError(AgentCoreError):
    """A target could not be set up; the message says what is missing or what the installer said."""


Target = Package
TARGETS: Final = PACKAGES
"""Targets by the name that `agentcore check --target` takes."""

_OWN: Final = MappingProxyType(
    {
        "npm": ("driver.mjs", "package.json", "package-lock.json", ".npmrc"),
        "pip": ("driver.py", "requirements.txt"),
    }
)
_INSTALL_SECONDS: Final = 300
# An installation is the pinned files and nothing else: no package runs code of its own while it is installed
# (scripts of npm packages, source distributions of Python), and what is not pinned is not installed.
_QUIETLY: Final = ("--ignore-scripts", "--no-audit", "--no-fund")
_PIP: Final = (
    *("-m", "pip", "install", "--require-hashes", "--no-deps", "--only-binary", ":all:"),
    *("--disable-pip-version-check", "--no-input"),
)


def target_of(name: str) -> Package:
    """Returns the target of a name, which may have any release of a package that npm installs.

    A release without a target of its own is driven as another one of its major version, and held to the
    profile of that: the newest that is older, or the oldest if none is.

    Raises:
        TargetError: for a name of no package, and for a release of which no target has the major version.
    """
    if name in TARGETS:
        return TARGETS[name]
    package, _, version = name.rpartition("@")
    known = {one: each for one, each in TARGETS.items() if one.rpartition("@")[0] == package}
    wanted = _numbers(version)
    near = {
        numbers: each
        for one, each in known.items()
        if each.installer == "npm" and wanted and (numbers := _numbers(one))[:1] == wanted[:1]
    }
    if not near:
        raise TargetError(f"no target is named {name!r}; there are {', '.join(known or TARGETS)}")
    found = near[max((numbers for numbers in near if numbers <= wanted), default=min(near))]
    return attrs.evolve(found, package=f"{found.package.rpartition('@')[0]}@{version}", pinned=False)


def _numbers(name: str) -> tuple[int, ...]:
    """The numbers of a release at the end of a name, such as `name@1.2.3`; empty if it ends otherwise."""
    found = re.fullmatch(r"(?:.*@)?(\d+)\.(\d+)\.(\d+)", name, re.ASCII)
    return tuple(map(int, found.groups())) if found else ()


def sources(target: Package) -> dict[str, bytes]:
    """The files that a package is set up from, by their names where it is installed."""
    names = (*target.files, *(f"{target.folder}/{name}" for name in _OWN[target.installer]))
    places = {name: files(target.source) / "package" / name for name in names}
    common = {name: files("agentcore.kit") / "drivers" / name for name in target.shared}
    found = {name: place.read_bytes() for name, place in (common | places).items()}
    if not target.pinned:
        del found[f"{target.folder}/package-lock.json"]
        own = f"{target.folder}/package.json"
        package, _, version = target.package.rpartition("@")
        wanted = json.loads(found[own])
        wanted["dependencies"][package] = version
        found[own] = json.dumps(wanted).encode()
    return found


def command(name: str) -> tuple[str, ...]:
    """The command line that starts the driver of `target_of` a name; installs the package the first time.

    Installed packages are kept in the folder that the environment variable AGENTCORE_CACHE names, or in the
    user's cache.

    Raises:
        TargetError: for an unknown name, where Node or npm is missing, or when npm fails.
    """
    target = target_of(name)
    return (_by_npm if target.installer == "npm" else _by_pip)(target)


def _by_npm(target: Package) -> tuple[str, ...]:
    node, npm = _found("node"), _found("npm")

    def install(place: Path) -> None:
        if not (place / "package-lock.json").exists():
            _run(target, [npm, "install", "--package-lock-only", *_QUIETLY], place)
        _run(target, [npm, "ci", *_QUIETLY], place)

    return (node, str(_installed(target, install) / "driver.mjs"))


def _by_pip(target: Package) -> tuple[str, ...]:
    def install(place: Path) -> None:
        _run(target, [sys.executable, "-m", "venv", "--clear", "venv"], place)
        _run(target, [_python(place), *_PIP, "-r", "requirements.txt"], place)

    place = _installed(target, install)
    # -E and -s: nothing but its own environment, whatever this process was started with.
    return (_python(place), "-E", "-s", str(place / "driver.py"))


def _python(place: Path) -> str:
    return str(place / "venv" / "bin" / "python")


def _found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise TargetError(f"{program} is not on the PATH; install Node.js 20 or newer to drive this package")
    return path


def _installed(target: Package, install: Callable[[Path], None]) -> Path:
    """The folder of the installed target; another one for every change of what it is set up from."""
    found = sources(target)
    digest = hashlib.sha256(b"".join(found.values())).hexdigest()[:16]
    root = _cache() / f"{target.folder}-{digest}"
    place = root / target.folder
    root.mkdir(parents=True, exist_ok=True)
    # One process at a time, because an installation begins by clearing what another has made.
    with FileLock(root / "lock"):
        if not (root / "complete").exists():
            for name, content in found.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(content)
            install(place)
            (root / "complete").touch()
    return place


def _cache() -> Path:
    named = os.environ.get("AGENTCORE_CACHE")
    return Path(named).absolute() if named else platformdirs.user_cache_path("agentcore") / "targets"


def _run(target: Package, argv: Sequence[str], place: Path) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - an installer, with fixed arguments
            argv, cwd=place, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TargetError(
            f"{target.installer} did not install {target.package} within {_INSTALL_SECONDS} seconds"
        ) from None
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise TargetError(f"{target.installer} could not install {target.package}: {said[-2000:]}")
