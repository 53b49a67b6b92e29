"""The chapter on live checks names rules that the code or a test refers to, and frameworks that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from agentcore.live.adapters.known import KNOWN
from agentcore.live.judge import KINDS

ROOT: Final = Path(__file__).parent.parent.parent
CHAPTER: Final = (ROOT / "spec" / "live.md").read_text("utf-8")
RULES: Final = re.findall(r"^- \*\*`(live\.[a-z-]+)`\*\*", CHAPTER, flags=re.MULTILINE)


def test_each_rule_is_stated_once() -> None:
    assert len(RULES) == len(set(RULES)) > 20


def test_code_refers_to_rules_that_there_are() -> None:
    code = "\n".join(file.read_text("utf-8") for file in (ROOT / "agentcore" / "live").rglob("*.py"))
    named = {*re.findall(r"rule\s+(live\.[a-z-]+)", code)}
    assert named
    assert named <= {*RULES}


def test_each_kind_of_finding_is_a_rule() -> None:
    assert {f"live.{kind}" for kind in KINDS} <= {*RULES}


def test_each_python_framework_and_boundary_is_in_the_table() -> None:
    for name, known in KNOWN.items():
        if known.language == "python":
            assert f"`{name}`" in CHAPTER
            assert [at for at in known.boundaries if f"`{at}`" not in CHAPTER] == []
