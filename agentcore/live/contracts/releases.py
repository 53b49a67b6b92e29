"""Releases of a package, as its package manager lists them, and their order."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from agentcore.live.adapters import PACKAGES
from agentcore.live.adapters.known import KNOWN, Framework
from agentcore.live.installs import InstallError

__all__ = [
    "CORE",
    "Package",
    "between",
    "is_stable",
    "newest",
    "ordered",
    "package_of",
    "published",
    "resolved",
]

CORE: Final = Path(__file__).parent.parent / "js"
"""The JavaScript core."""

_VERSION: Final = re.compile(
    r"(?P<numbers>\d+(?:\.\d+)*)(?:[-.]?(?P<tag>[a-z]+)\.?(?P<count>\d*))?.*", re.IGNORECASE
)
_SECONDS: Final = 60
# Of Python: releases after the release of their numbers, and before those of any other tag.
_RANKS: Final = {"dev": -1, "post": 1}


class Package(NamedTuple):
    """A package, and its package manager: `npm` or `pip`."""

    name: str
    manager: str


@cache
def package_of(framework: str) -> Package:
    """Returns the package whose releases a framework's are.

    Raises:
        InstallError: if Node.js, which knows the packages of JavaScript adapters, is missing.
    """
    known: Framework = KNOWN[framework]
    if known.language == "python":
        return Package(PACKAGES[framework], "pip")
    script = (
        f"import {{ adapterOf }} from {json.dumps((CORE / 'src' / 'adapters.js').as_uri())};"
        f"console.log((await adapterOf({json.dumps(framework)})).packages[0])"
    )
    return Package(output_of([program("node"), "--input-type=module", "--eval", script]).strip(), "npm")


def program(name: str) -> str:
    """Returns the path of a program.

    Raises:
        InstallError: if there is none.
    """
    found = shutil.which(name)
    if found is None:
        raise InstallError(f"{name} is not on the PATH: install Node.js 20 or newer")
    return found


def output_of(command: Sequence[str]) -> str:
    """Returns what a package manager prints.

    Raises:
        InstallError: if it fails; the text is the end of what it said.
    """
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_SECONDS)  # noqa: S603 - a package manager
    except subprocess.TimeoutExpired as error:
        raise InstallError(f"{' '.join(command[:3])} gave no answer within {_SECONDS} seconds") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-1500:]
        raise InstallError(f"{' '.join(command)} failed: {' / '.join(said.splitlines())}")
    return done.stdout


@cache
def published(package: Package) -> tuple[str, ...]:
    """Returns all releases that the package manager lists, oldest first.

    Raises:
        InstallError: if it cannot be asked.
    """
    if package.manager == "npm":
        listed = json.loads(output_of([program("npm"), "view", package.name, "versions", "--json"]))
        return tuple(ordered([listed] if isinstance(listed, str) else listed))
    if find_spec("pip") is None:  # as in the environments that uv makes
        reason = f"pip, which lists releases for Python, is not installed in {sys.prefix}"
        raise InstallError(f"{reason}; install it: {sys.executable} -m ensurepip")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "index",
        "versions",
        package.name,
        "--pre",
        "--disable-pip-version-check",
    ]
    found = re.search(r"^Available versions: (.*)$", output_of(pip), flags=re.MULTILINE)
    return tuple(ordered(found[1].split(", "))) if found else ()


def _parsed(version: str) -> tuple[tuple[int, ...], str, int]:
    found = _VERSION.fullmatch(version)
    if found is None:
        return (), version, 0
    numbers = tuple(map(int, found["numbers"].split(".")))
    return numbers, (found["tag"] or "").lower(), int(found["count"] or 0)


def is_stable(version: str) -> bool:
    """Returns whether a release is none of a trial."""
    return _parsed(version)[1] in ("", "post")


def ordered(versions: Iterable[str]) -> list[str]:
    """Returns releases in the order in which they were made.

    Prereleases of one version are ordered by their number if no two tags have the same one: then all tags
    share one counter, and `beta.116` comes before `canary.130`, and that before `beta.178`. Else they are
    ordered by tag, then by number, as package managers do.
    """
    of = {version: _parsed(version) for version in versions}
    tags: dict[tuple[int, ...], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for numbers, tag, count in of.values():
        if tag and tag not in _RANKS:
            tags[numbers][count].add(tag)
    shared = {numbers for numbers, found in tags.items() if all(len(each) == 1 for each in found.values())}

    def key(version: str) -> tuple[tuple[int, ...], int, str, int]:
        numbers, tag, count = of[version]
        rank = _RANKS.get(tag, 0) if tag else 1
        return numbers, rank, "" if numbers in shared and tag not in _RANKS else tag, count

    return sorted(of, key=key)


def between(versions: Sequence[str], old: str, new: str) -> list[str]:
    """Returns the releases from one to another, both included; trials only of versions after the old one.

    Raises:
        LookupError: if one of them is not listed, or the old one comes after the new one.
    """
    for version in (old, new):
        if version not in versions:
            raise LookupError(f"{version} is not among the releases that the package manager lists")
    first, last = versions.index(old), versions.index(new)
    if first >= last:
        raise LookupError(f"{old} does not come before {new}")
    trials = not is_stable(old) or not is_stable(new)
    major = _parsed(old)[0][:1] != _parsed(new)[0][:1]
    found = versions[first : last + 1]
    return [each for each in found if each in (old, new) or is_stable(each) or trials or major]


def newest(versions: Iterable[str]) -> str:
    """Returns the newest stable release, or the newest of all if none is stable."""
    listed = [*versions]
    return [*filter(is_stable, listed), *([] if any(map(is_stable, listed)) else listed)][-1]


def resolved(package: Package, wanted: str) -> str:
    """Returns the release that a person means: `1` and `1.5` stand for the newest one of that line.

    Raises:
        InstallError: if there is none, or if the package manager cannot be asked.
    """
    versions = published(package)
    if wanted in versions:
        return wanted
    if wanted == "latest":
        return newest(versions)
    of_line = [each for each in versions if each.startswith(f"{wanted}.")]
    if not of_line:
        raise InstallError(f"{package.name} has no release {wanted}; the newest is {newest(versions)}")
    return newest(of_line)
