"""The chapter on live checks names rules that the code or a test refers to, and frameworks that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from agentcore.live.adapters.known import KNOWN
from agentcore.live.judge import KINDS
from live.test_liars import LIARS

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


def test_the_table_of_liars_has_what_the_tests_of_them_expect() -> None:
    rows = re.findall(r"^\| (.+?) \| (Python|JavaScript) \| (.+?) \| (\d) \|$", CHAPTER, flags=re.MULTILINE)
    in_javascript = json.loads((ROOT / "tests/live/js/liars.json").read_text("utf-8"))
    assert [
        (what, outcome, int(code)) for what, language, outcome, code in rows if language == "JavaScript"
    ] == [(what, _outcome(each["kind"], each["cause"]), each["exit"]) for what, each in in_javascript.items()]
    assert [(outcome, int(code)) for _, language, outcome, code in rows if language == "Python"] == [
        (_outcome(kind, cause), code) for code, kind, cause in LIARS.values()
    ]


def _outcome(kind: str, cause: str | None) -> str:
    named = kind if kind == "not judged" else f"`{kind}`"
    return named if cause is None else f"{named}, {cause}"
