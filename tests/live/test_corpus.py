"""Hooks of many kinds, each with the verdict that a comment in its module says, judged in the real packages.

A few of each module run always; with AGENTCORE_LIVE_EXAMPLES all of them do.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.live import adapters
from agentcore.live.adapters.known import KNOWN
from agentcore.live.installs import InstallError, installed
from live.corpus.run import expectations
from live.packages import RELEASES

pytestmark = pytest.mark.live

CORPUS: Final = Path(__file__).parent / "corpus"
WHOLE: Final = os.environ.get("AGENTCORE_LIVE_EXAMPLES")


def judged(framework: str, file: Path, *, whole: bool = WHOLE is not None) -> list[dict[str, Any]]:
    """Runs the module's hooks in one process; of a module that is not run whole, every fourth."""
    try:
        place = installed(adapters.PACKAGES[framework], RELEASES[framework])
    except InstallError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{framework} could not be installed: {error}")
    names = [name for *_, name in expectations(file)]
    command = [
        place.python,
        "-B",
        str(CORPUS / "run.py"),
        framework,
        str(file),
        WHOLE or ("14" if whole else "8"),
    ]
    ran = subprocess.run(
        [*command, *(names if whole else names[::4])], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.parametrize("framework", RELEASES)
def test_each_hook_of_the_corpus_has_its_verdict(framework: str) -> None:
    found = judged(framework, CORPUS / f"{framework.replace('-', '_')}_corpus.py")
    assert found
    wrong = [each for each in found if not each["right"]]
    assert wrong == []


@pytest.mark.parametrize("framework", RELEASES)
def test_each_hook_of_the_documentation_has_its_verdict(framework: str) -> None:
    found = judged(framework, CORPUS / f"{framework.replace('-', '_')}_documented.py", whole=True)
    assert found
    assert [each for each in found if not each["right"]] == []


def test_the_chapter_lists_each_hook_of_the_documentation_with_its_verdict() -> None:
    chapter = (Path(__file__).parent.parent.parent / "spec" / "live.md").read_text("utf-8")
    for framework, release in RELEASES.items():
        for at, wanted, _, name in expectations(CORPUS / f"{framework.replace('-', '_')}_documented.py"):
            row = f"| {framework} {release} | `{at}` | `{name}` | "
            (line,) = [each for each in chapter.splitlines() if each.startswith(row)]
            assert line.endswith(f"| {wanted} |")


def test_the_corpus_has_hooks_of_both_verdicts_for_each_boundary() -> None:
    for framework in RELEASES:
        found = expectations(CORPUS / f"{framework.replace('-', '_')}_corpus.py")
        faults = {at for at, wanted, *_ in found if wanted == "write"}
        clean = {at for at, wanted, *_ in found if wanted == "clean"}
        boundaries = {*KNOWN[framework].boundaries}
        assert clean == boundaries
        assert faults >= boundaries - {"session_input_callback"}
