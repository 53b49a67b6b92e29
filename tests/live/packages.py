"""The real packages that the tests of live checks run in, installed by pip into environments of the cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.live.check import Request, check
from agentcore.live.installs import InstallError

__all__ = ["HOOKS", "RELEASES", "WHOLE", "checked", "kinds"]

HOOKS: Final = Path(__file__).parent / "hooks"
RELEASES: Final = {
    "agent-framework": "1.23.0",
    "google-adk": "2.13.0",
    "langchain": "1.5.2",
    "openai-agents": "0.24.0",
    "pydantic-ai": "2.68.0",
    "strands-py": "1.62.0",
}
# 300 for the whole; a sample otherwise, which is enough to tell each hook here from the other.
WHOLE: Final = "AGENTCORE_WHOLE" in os.environ
EXAMPLES: Final = int(os.environ.get("AGENTCORE_LIVE_EXAMPLES", "11"))


def checked(
    framework: str, hook: str, at: str, *, file: Path | None = None, **options: Any
) -> dict[str, Any]:
    """Checks a hook of `hooks/`; skips the test if the release cannot be installed, but never in CI."""
    file = file or HOOKS / f"{framework.replace('-', '_')}_hooks.py"
    options.setdefault("version", RELEASES[framework])
    # On a machine with other work, a first call that imports a framework may take long.
    options.setdefault("limit", 30.0)
    request = Request(
        hook=f"{file}#{hook}",
        framework=framework,
        at=at,
        project=file.parent,
        **{"examples": EXAMPLES, **options},
    )
    try:
        return check(request)
    except InstallError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{framework} {options['version']} could not be installed: {error}")


def kinds(report: dict[str, Any]) -> list[str]:
    """The kinds of findings, faults first."""
    return [each["kind"] for each in report["findings"]]
