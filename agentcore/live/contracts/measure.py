"""Measures a release: installs it with a lock of its own, runs the probe, and keeps the answer."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import attrs
from filelock import FileLock

from agentcore.live.adapters.known import KNOWN
from agentcore.live.contracts.releases import CORE, Package, output_of, package_of, program
from agentcore.live.installs import InstallError, Place, cache_folder, installed, nearest
from agentcore.live.process import Worker, WorkerFailedError, workspace

__all__ = ["RULES", "Measurement", "cached_measurements", "measure", "measure_project"]

_LIVE: Final = Path(__file__).parent.parent
RULES: Final[dict[str, Any]] = json.loads((_LIVE / "schemas" / "places.json").read_text("utf-8"))
"""The rules of the probe, which both cores follow."""
_LIMIT: Final = 120.0
_SECONDS: Final = 1800
_NPM: Final = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
# Words of the rules can be changed without measuring anew.
_DECIDING: Final = ("probe", "mark", "step", "most_calls", "most_places", "conversation")
_PYTHON: Final = ("adapter.py", "places.py", "probe.py", "session.py", "shown.py")
_JAVASCRIPT: Final = ("places.js", "probe.js", "session.js", "dialect.js", "graph.js")

Measurement = Mapping[str, Any]
"""What the probe saw of one release, in the form of `schemas/contract.schema.json`."""


@attrs.frozen
class _Installed:
    """A release on disk: its interpreter or folder, and the digest of the exact packages."""

    place: Path | Place
    lock: str


def measure(framework: str, version: str, at: str | None = None, path: str | None = None) -> Measurement:
    """Returns what the probe sees of a release, from the cache if it was measured before.

    Args:
        framework: a name of `KNOWN`.
        version: the release.
        at: the only boundary; None for all.
        path: the only path; None for all.

    Raises:
        InstallError: if the release cannot be installed, or cannot be run.
    """
    folder = _folder(framework, version)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        for chosen in ((None, None), (at, path)):
            file = folder / _name(framework, *chosen)
            if file.is_file():
                found = json.loads(file.read_text("utf-8"))
                if "error" in found:
                    raise InstallError(found["error"])
                return _chosen(found, at, path)
        try:
            made = _measured(framework, package_of(framework), version, folder, at, path)
        except (InstallError, WorkerFailedError) as error:
            # A connection may be back the next time; what was installed and cannot be run will not.
            if isinstance(error, _UnsupportedError):
                file.write_text(json.dumps({"error": str(error)}), encoding="utf-8")
            raise InstallError(str(error)) from error
        file.write_text(json.dumps(made), encoding="utf-8")
    return made


def cached_measurements(framework: str, version: str) -> list[tuple[str | None, Measurement]]:
    """Returns what the cache has of a release: what was measured, with the boundary if it was only one.

    Args:
        framework: a name of `KNOWN`.
        version: the release.
    """
    found = []
    for at in (None, *KNOWN[framework].boundaries):
        for path in (None, *KNOWN[framework].paths):
            file = _folder(framework, version) / _name(framework, at, path)
            if file.is_file() and "error" not in (read := json.loads(file.read_text("utf-8"))):
                found.append((at, read))
    return found


def measure_project(
    framework: str, project: Path, at: str | None = None, path: str | None = None
) -> Measurement:
    """Returns what the probe sees of the release that is installed in a project; nothing is kept.

    Raises:
        InstallError: if there is none, or it cannot be run.
    """
    package = package_of(framework)
    if package.manager == "pip":
        return _answer(framework, package, _python_rows(framework, nearest(project).python, at, path), "")
    for folder in (project.resolve(), *project.resolve().parents):
        if (folder / "node_modules" / package.name / "package.json").is_file():
            return _answer(framework, package, _javascript_rows(framework, package, folder, at, path), "")
    raise InstallError(f"{package.name} is installed neither in {project} nor above it")


class _UnsupportedError(InstallError):
    """An installed release in which the probe cannot run."""


@cache
def digest(framework: str) -> str:
    """Returns what tells this probe from others: a changed one measures anew."""
    python = KNOWN[framework].language == "python"
    files = [_LIVE / name for name in _PYTHON] if python else [CORE / "src" / name for name in _JAVASCRIPT]
    files += sorted((_LIVE / "adapters").glob(f"{framework.replace('-', '_')}*.py"))
    files += sorted((CORE / "adapters").glob(f"{framework}*.js"))
    rules = json.dumps({name: RULES[name] for name in _DECIDING})
    content = b"".join(file.read_bytes() for file in files)
    return hashlib.sha256(rules.encode() + content).hexdigest()[:12]


def _folder(framework: str, version: str) -> Path:
    return cache_folder() / "contracts" / _file_name(f"{framework}-{version}")


def _name(framework: str, at: str | None, path: str | None) -> str:
    return _file_name(f"{at or 'all'}-{path or 'all'}-{digest(framework)}.json")


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.+-]", "_", text)


def _chosen(found: dict[str, Any], at: str | None, path: str | None) -> Measurement:
    def is_chosen(each: Mapping[str, Any]) -> bool:
        boundary = str(each["boundary"]).partition(".")[0]
        return at in (None, boundary) and path in (None, each["path"])

    chosen = {name: [*filter(is_chosen, found[name])] for name in ("rows", "unmeasured")}
    return {**found, **chosen}


def _measured(  # noqa: PLR0913, PLR0917 - one release
    framework: str, package: Package, version: str, folder: Path, at: str | None, path: str | None
) -> Measurement:
    if package.manager == "npm":
        place, lock = _npm_installed(package, version, folder)
        rows = _javascript_rows(framework, package, place, at, path)
    else:
        python, lock = _pip_installed(package, version, folder)
        rows = _python_rows(framework, python, at, path)
    return _answer(framework, package, rows, lock)


def _answer(framework: str, package: Package, rows: dict[str, Any], lock: str) -> Measurement:
    node = package.manager == "npm"
    runtime = output_of([program("node"), "--version"]).strip() if node else platform.python_version()
    return {
        "format": 1,
        "framework": framework,
        "package": package.name,
        "version": rows["version"],
        "lock": hashlib.sha256(lock.encode()).hexdigest()[:16] if lock else None,
        "probe": digest(framework),
        "runtime": f"{'Node.js' if node else 'Python'} {runtime.removeprefix('v')}",
        "when": rows["when"],
        "rows": rows["rows"],
        "unmeasured": rows["unmeasured"],
        "runs": rows["runs"],
    }


# ---------------------------------------------------------------- installing


def _npm_installed(package: Package, version: str, folder: Path) -> tuple[Path, str]:
    """Installs a release where `check-hook` does, with the packages of the lock if there is one."""
    wanted = f"{package.name}@{version}"
    place = cache_folder() / "check-hook" / "packages" / wanted.replace("/", "+")
    lock = folder / "package-lock.json"
    if not (place / "node_modules" / package.name / "package.json").is_file():
        place.mkdir(parents=True, exist_ok=True)
        # The name is in the lock, too.
        manifest = {"name": "contract", "private": True, "dependencies": {package.name: version}}
        (place / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
        if lock.is_file():
            (place / "package-lock.json").write_bytes(lock.read_bytes())
        npm = program("npm")
        done = subprocess.run(  # noqa: S603 - npm
            [npm, "ci" if lock.is_file() else "install", *_NPM],
            cwd=place,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise InstallError(f"npm could not install {wanted}:\n{done.stderr.strip()[-1500:]}")
    if not lock.is_file():
        lock.write_bytes((place / "package-lock.json").read_bytes())
    return place, lock.read_text("utf-8")


def _pip_installed(package: Package, version: str, folder: Path) -> tuple[str, str]:
    lock = folder / "requirements.txt"
    place = installed(package.name, version, lock if lock.is_file() else None)
    if not lock.is_file():
        frozen = output_of([place.python, "-m", "pip", "freeze", "--disable-pip-version-check"])
        lock.write_text(frozen, encoding="utf-8")
    return place.python, lock.read_text("utf-8")


# ---------------------------------------------------------------- running


def _javascript_rows(
    framework: str, package: Package, folder: Path, at: str | None, path: str | None
) -> dict[str, Any]:
    job = {"framework": framework, "rules": RULES, "at": at, "path": path}
    job["manifest"] = str(folder / "node_modules" / package.name / "package.json")
    # What is evaluated imports packages from the folder in which it runs.
    script = (
        f"import {{ main }} from {json.dumps((CORE / 'src' / 'probe.js').as_uri())};"
        "await main((module) => import(module));"
    )
    command = [program("node"), "--no-warnings", "--input-type=module", "--eval", script]
    try:
        done = subprocess.run(  # noqa: S603 - the core of this package
            command,
            input=json.dumps(job),
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env={**os.environ, "NODE_OPTIONS": "", "DO_NOT_TRACK": "1"},
        )
    except subprocess.TimeoutExpired as error:
        raise _UnsupportedError(f"the probe did not end within {_SECONDS} seconds") from error
    if done.returncode:
        raise _UnsupportedError(f"the probe cannot run in {folder.name}:\n{done.stderr.strip()[-1500:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _python_rows(framework: str, python: str, at: str | None, path: str | None) -> dict[str, Any]:
    with workspace(cache_folder()) as folder:
        job = {
            "framework": framework,
            "rules": RULES,
            "at": at,
            "path": path,
            "project": str(folder),
            "shard": 0,
        }
        worker = Worker(python, job, folder, _LIMIT)
        try:
            for event in worker.events("measured"):
                if not isinstance(event, dict):
                    raise _UnsupportedError(f"the probe failed: {event.said}")
                if event["event"] == "not-judged":
                    raise _UnsupportedError(event["message"])
                if event["event"] == "measured":
                    return event
        except WorkerFailedError as error:
            raise _UnsupportedError(str(error)) from error
        finally:
            worker.close()
    raise _UnsupportedError("the probe ended without an answer")
