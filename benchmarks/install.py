"""Peers are installed where they lie, from files that pin everything, and started from there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
_PEERS: Final = Path(__file__).parent / "peers"
_SECONDS: Final = 900


class InstallError(Exception):
    """A peer could not be installed; the text says what is missing or what the installer said."""


def command(peer: str) -> tuple[str, ...]:
    """The command line that starts the peer; installs its packages if they are not there, or are others.

    Raises InstallError.
    """
    if peer == "own":
        return (sys.executable, "-m", "benchmarks.peers.own")
    folder = _PEERS / peer
    if (folder / "package.json").exists():
        node, npm = _found("node"), _found("npm")
        _once(folder / "node_modules", folder / "package-lock.json", [[npm, "ci", "--no-audit", "--no-fund"]])
        # Garbage is collected before every run, and before memory is read.
        return (node, "--expose-gc", str(folder / "main.mjs"))
    python = str(folder / ".venv" / "bin" / "python")
    pip = (python, "-m", "pip", "install", "--no-deps", "--disable-pip-version-check", "--no-input", "-q")
    venv = (sys.executable, "-m", "venv", "--clear", ".venv")
    _once(folder / ".venv", folder / "requirements.txt", [venv, (*pip, "-r", "requirements.txt")])
    return (python, "-s", "-m", f"benchmarks.peers.{peer}.main")


def version(peer: str, package: str) -> str:
    """The version of the package that is measured; of a peer's, the one that its files pin."""
    if peer == "own":
        return metadata.version(package)
    folder = _PEERS / peer
    if (folder / "package.json").exists():
        return str(json.loads((folder / "package.json").read_text())["dependencies"][package])
    pins = (folder / "requirements.txt").read_text().split()
    return next(pin.removeprefix(f"{package}==") for pin in pins if pin.startswith(f"{package}=="))


def environment() -> dict[str, str]:
    """What peers are started with: their programs are found, and nothing is reported to anybody."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OTEL_SDK_DISABLED": "true",
        "LANGSMITH_TRACING": "false",
        "MASTRA_TELEMETRY_DISABLED": "1",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
    }


def _found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise InstallError(
            f"{program} is not on the PATH; install Node.js 20 or newer, or choose other loops"
        )
    return path


def _once(place: Path, pins: Path, commands: Sequence[Sequence[str]]) -> None:
    stamp, digest = place / "installed", hashlib.sha256(pins.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    for argv in commands:
        done = subprocess.run(  # noqa: S603 - installers, with fixed arguments
            argv, cwd=pins.parent, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if done.returncode:
            raise InstallError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()[-2000:]}")
    stamp.write_text(digest)
