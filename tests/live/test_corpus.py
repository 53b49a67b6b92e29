"""Hooks of many kinds, each with the verdict that a comment in its module says, judged in the real packages.

A few of each module run always; with AGENTCORE_WHOLE, as in `nox -s live_corpora`, all of them do.
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
from live.packages import RELEASES as ALL
from live.packages import WHOLE

pytestmark = pytest.mark.live

CORPUS: Final = Path(__file__).parent / "corpus"
RELEASES: Final = {name: ALL[name] for name in ("langchain", "openai-agents", "pydantic-ai")}
EXAMPLES: Final = os.environ.get("AGENTCORE_LIVE_EXAMPLES", "8")
# What `strict` refuses them is refused in a task, and nobody awaits that.
LATE: Final = {"later_task", "late_task", "background_write"}
# The result of a call is new, so that a check lets it be edited; `strict` refuses that all the same.
EDITS_A_RESULT: Final = {"edits_fresh_result"}


def judged(framework: str, file: Path, ways: str, every: int) -> list[dict[str, Any]]:
    """Runs the module's hooks in one process; of a module that is not run whole, one of `every`."""
    try:
        place = installed(adapters.PACKAGES[framework], RELEASES[framework])
    except InstallError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{framework} could not be installed: {error}")
    names = [name for *_, name in expectations(file)][:: 1 if WHOLE else every]
    command = [place.python, "-B", str(CORPUS / "run.py"), framework, str(file), EXAMPLES, ways]
    ran = subprocess.run([*command, *names], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) == len(names) * len(ways.split(","))
    return found


@pytest.mark.parametrize("framework", RELEASES)
def test_each_hook_of_the_corpus_has_its_verdict(framework: str) -> None:
    for kind in ("corpus", "subtle") if WHOLE else ("corpus",):
        found = judged(framework, CORPUS / f"{framework.replace('-', '_')}_{kind}.py", "plain", 8)
        assert [each for each in found if not each["right"]] == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("framework", RELEASES)
def test_each_hook_of_the_documentation_has_its_verdict(framework: str) -> None:
    found = judged(framework, CORPUS / f"{framework.replace('-', '_')}_documented.py", "plain", 2)
    assert [each for each in found if not each["right"]] == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("framework", RELEASES)
def test_isolate_makes_each_hook_pass_and_strict_stops_it_in_its_file(framework: str) -> None:
    for kind in ("corpus", "documented"):
        file = CORPUS / f"{framework.replace('-', '_')}_{kind}.py"
        found = judged(framework, file, "isolate,strict", 12)
        wrong = [each for each in found if not each["right"] and each["hook"] not in EDITS_A_RESULT]
        assert wrong == []
        writing = [each for each in found if each["how"] == "strict" and each["wanted"] == "write"]
        let = {each["hook"] for each in writing if "ImmutableArgumentError" not in str(each["found"])}
        assert let <= LATE


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
