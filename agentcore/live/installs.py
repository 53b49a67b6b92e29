"""Finds the framework to run: in the person's own environment, or as a release installed into the cache."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import attrs
import platformdirs
from filelock import FileLock

__all__ = ["InstallError", "Place", "cache_folder", "installed", "nearest", "project_of"]

_MARKS: Final = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", ".git", "package.json")
_ENVIRONMENTS: Final = (".venv", "venv", "env", ".env")


class InstallError(Exception):
    """A release could not be installed; the text is the end of what pip said."""


@attrs.frozen
class Place:
    """An interpreter, and how it was found."""

    python: str
    found: str


def cache_folder() -> Path:
    """Returns the folder for everything that live checks write; AGENTCORE_CACHE overrides it."""
    own = os.environ.get("AGENTCORE_CACHE")
    return Path(own) if own else Path(platformdirs.user_cache_dir("agentcore")) / "live"


def project_of(file: Path) -> Path:
    """Returns the nearest folder above a file that looks like a project; else the file's own."""
    for folder in file.resolve().parents:
        if any((folder / name).exists() for name in (*_MARKS, *_ENVIRONMENTS)):
            return folder
    return file.resolve().parent


def nearest(project: Path) -> Place:
    """Returns the interpreter of the environment that is nearest to a project.

    That is an environment in the project or in a folder above it, else the one that is active, else this one.
    """
    for folder in (project.resolve(), *project.resolve().parents):
        for name in _ENVIRONMENTS:
            python = _python(folder / name)
            if python is not None:
                return Place(str(python), str(folder / name))
    active = os.environ.get("VIRTUAL_ENV")
    python = _python(Path(active)) if active else None
    if python is not None:
        return Place(str(python), str(active))
    return Place(sys.executable, sys.prefix)


def _python(environment: Path) -> Path | None:
    if not (environment / "pyvenv.cfg").is_file():
        return None
    for name in ("bin/python", "Scripts/python.exe"):
        if (environment / name).exists():
            return environment / name
    return None


def installed(package: str, version: str, lock: Path | None = None) -> Place:
    """Installs a release into an environment of its own in the cache, once, and returns its interpreter.

    Args:
        package: the distribution.
        version: the release; `1` or `1.5` stand for the newest one of that line.
        lock: a file of exact requirements that is installed instead, if the release is not there yet.

    Raises:
        InstallError: if pip cannot install it.
    """
    wanted = f"{version}.*" if re.fullmatch(r"\d+(\.\d+)?", version) else version
    name = f"{package}-{version}-py{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache_folder() / "python" / re.sub(r"[^\w.+-]", "_", name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        done = folder / "installed"
        if not done.is_file():
            _run([sys.executable, "-m", "venv", "--clear", str(folder)])
            python = str(_python(folder))
            wish = [f"{package}=={wanted}"] if lock is None else ["-r", str(lock)]
            _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wish])
            done.write_text(f"{package}=={wanted}\n", encoding="utf-8")
    return Place(str(_python(folder)), str(folder))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - pip, as asked
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-1500:]
        raise InstallError(f"{' '.join(command[1:])} failed:\n{said}")
