"""Real packages that the oracle knows: each a small driver and the pinned package it drives."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from types import MappingProxyType
from typing import Final

import attrs
import platformdirs

from agentcore.errors import AgentCoreError
from agentcore.values import frozen


class TargetError(AgentCoreError):
    """A target could not be set up; the message says what is missing or what the installer said."""


@frozen
class Target:
    """A package that can be driven: its name and version, where its driver is, and the modules it shares."""

    package: str
    folder: str
    shared: tuple[str, ...] = attrs.field(kw_only=True)

    @property
    def profile(self) -> str:
        """What the profiles of its paths are called before the path: `ai-sdk-6`."""
        return self.folder.replace("_", "-")


_AI_SDK: Final = ("ai_sdk.mjs", "lines.mjs", "ops.mjs")
_MASTRA: Final = (
    *("lines.mjs", "mastra.mjs", "mastra_models.mjs", "mastra_ops.mjs"),
    *("mastra_quiet.mjs", "mastra_show.mjs", "ops.mjs"),
)

TARGETS: Final[Mapping[str, Target]] = MappingProxyType(
    {
        "ai-sdk@6.0.134": Target(package="ai@6.0.134", folder="ai_sdk_6", shared=_AI_SDK),
        "ai-sdk@7.0.173": Target(package="ai@7.0.173", folder="ai_sdk_7", shared=_AI_SDK),
        "mastra@1.71.0": Target(package="@mastra/core@1.71.0", folder="mastra_1_71", shared=_MASTRA),
        "mastra@1.0.4": Target(package="@mastra/core@1.0.4", folder="mastra_1_0", shared=_MASTRA),
    }
)
"""Targets by the name that `agentcore check --target` takes."""

_OWN: Final = ("driver.mjs", "package.json", "package-lock.json", ".npmrc")
_INSTALL_SECONDS: Final = 300


def command(name: str) -> tuple[str, ...]:
    """The command line that starts a target's driver; installs the package the first time.

    Installed packages are kept in the folder that the environment variable AGENTCORE_CACHE names, or in the
    user's cache.

    Raises:
        TargetError: for an unknown name, where Node or npm is missing, or when npm fails.
    """
    if name not in TARGETS:
        raise TargetError(f"no target is named {name!r}; there are {', '.join(TARGETS)}")
    node, npm = _found("node"), _found("npm")
    place = _installed(TARGETS[name], npm)
    return (node, str(place / "driver.mjs"))


def _found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise TargetError(f"{program} is not on the PATH; install Node.js 20 or newer to drive this package")
    return path


def _installed(target: Target, npm: str) -> Path:
    with as_file(files(__package__)) as source:
        names = [*target.shared, *(f"{target.folder}/{name}" for name in _OWN)]
        digest = hashlib.sha256(b"".join((source / name).read_bytes() for name in names)).hexdigest()[:16]
        root = _cache() / f"{target.folder}-{digest}"
        place = root / target.folder
        if not (root / "complete").exists():
            place.mkdir(parents=True, exist_ok=True)
            for name in names:
                shutil.copyfile(source / name, root / name)
            _run_npm(npm, place, target.package)
            (root / "complete").touch()
    return place


def _cache() -> Path:
    named = os.environ.get("AGENTCORE_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("agentcore") / "targets"


def _run_npm(npm: str, place: Path, package: str) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - npm, with fixed arguments
            [npm, "ci", "--no-audit", "--no-fund"],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"npm did not install {package} within {_INSTALL_SECONDS} seconds") from None
    if done.returncode:
        raise TargetError(f"npm could not install {package}: {done.stderr.strip()[-2000:]}")
