"""The frameworks of the guard's examples: installed from pins, once, into an environment of their own.

Not into this one: LangChain brings a plugin that pytest and each of its workers would import at every run,
and Strands Agents an older OpenTelemetry.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

import platformdirs
from filelock import FileLock

ROOT: Final = Path(__file__).parent.parent.parent
EXAMPLES: Final = ROOT / "spec" / "examples" / "guard"
_PINS: Final = EXAMPLES / "requirements.txt"
_SECONDS: Final = 600


class NoFrameworksError(Exception):
    """They could not be installed; the text is the installer's."""


def python() -> str:
    """The interpreter of their environment."""
    digest = hashlib.sha256(_PINS.read_bytes() + sys.version.encode()).hexdigest()[:16]
    place = _cache() / f"frameworks-{digest}"
    found = place / "bin" / "python"
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{place}.lock"):
        if not (place / "complete").exists():
            venv.create(place, clear=True, with_pip=True)
            _install(found)
            (place / "complete").touch()
    return str(found)


def _install(found: Path) -> None:
    # What is not pinned is not installed; what is not imported need not be compiled.
    options = ("--no-deps", "--no-compile", "--disable-pip-version-check", "--no-input", "-q")
    argv = [str(found), "-m", "pip", "install", *options, "-r", str(_PINS)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise NoFrameworksError(done.stderr.strip()[-2000:])


def _cache() -> Path:
    named = os.environ.get("AGENTCORE_CACHE")
    return Path(named).absolute() if named else platformdirs.user_cache_path("agentcore") / "targets"


def output(example: Path) -> str:
    """What an example prints."""
    telemetry = {"OTEL_SDK_DISABLED": "true", "LANGSMITH_TRACING": "false"}
    done = subprocess.run(
        [python(), "-W", "error", str(example)],
        env={**os.environ, **telemetry, "PYTHONPATH": str(ROOT), "PYTHONNOUSERSITE": "1"},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return done.stdout if done.returncode == 0 else done.stdout + done.stderr
