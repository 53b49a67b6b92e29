"""Installs the real packages that frameworks name: each a small driver and the pinned package it drives."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Final

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
_NPM: Final = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")
_PIP: Final = (
    *("-m", "pip", "install", "--require-hashes", "--no-deps", "--only-binary", ":all:"),
    *("--disable-pip-version-check", "--no-input"),
)


def sources(target: Package) -> dict[str, bytes]:
    """The files that a package is set up from, by their names where it is installed."""
    names = (*target.files, *(f"{target.folder}/{name}" for name in _OWN[target.installer]))
    places = {name: files(target.source) / "package" / name for name in names}
    common = {name: files("agentcore.kit") / "drivers" / name for name in target.shared}
    return {name: place.read_bytes() for name, place in (common | places).items()}


def command(name: str) -> tuple[str, ...]:
    """The command line that starts a target's driver; installs the package the first time.

    Installed packages are kept in the folder that the environment variable AGENTCORE_CACHE names, or in the
    user's cache.

    Raises:
        TargetError: for an unknown name, where Node or npm is missing, or when npm fails.
    """
    if name not in TARGETS:
        raise TargetError(f"no target is named {name!r}; there are {', '.join(TARGETS)}")
    target = TARGETS[name]
    return (_by_npm if target.installer == "npm" else _by_pip)(target)


def _by_npm(target: Package) -> tuple[str, ...]:
    node, npm = _found("node"), _found("npm")

    def install(place: Path) -> None:
        _run(target, [npm, *_NPM], place)

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
