"""The live core runs in the interpreter of a person's project, which need not have what agentcore needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from agentcore.live import worker

FILE: Final = Path(worker.__file__)
# What the worker imports for a check, whatever the framework.
PARTS: Final = ("conversations", "judge", "closer", "loading", "safety", "session", "adapter", "adapters")


def test_the_live_core_needs_the_standard_library_only() -> None:
    source = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('worker', {str(FILE)!r})\n"
        "worker = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(worker)\n"
        "worker._import_bare()\n"
        f"for part in {PARTS!r}: importlib.import_module(f'agentcore.live.{{part}}')\n"
        "print(*sorted({'attrs', 'immutabledict', 'pyrsistent'} & {*sys.modules}))"
    )
    # Without the packages of this environment.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", source], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
