"""The command as tests run it: in this process, or in one of its own where pipes matter."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

from click.testing import CliRunner, Result

from agentcore.cli import main
from oracle.driver_commands import TESTS

AGENTCORE: Final = (sys.executable, "-c", "from agentcore.cli import main; main()")
TRACE: Final = (*AGENTCORE, "trace")
ENVIRONMENT: Final = {**os.environ, "PYTHONPATH": str(TESTS)}


def run(*arguments: str, given: bytes | None = None, env: dict[str, str] | None = None) -> Result:
    runner = CliRunner(env={"PYTHONPATH": str(TESTS), "FORCE_COLOR": None, **(env or {})})
    return runner.invoke(main, arguments, input=given, catch_exceptions=False)


def driver(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)


def lines_of(programs: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(program).encode() + b"\n" for program in programs)
