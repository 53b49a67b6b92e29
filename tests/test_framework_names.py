"""Nothing outside a framework's folder names it, but for what is listed here with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from agentcore.kit.framework import FRAMEWORKS, Framework

PACKAGE: Final = Path(__file__).parent.parent / "agentcore"
SUFFIXES: Final = {".py", ".pyi", ".mjs", ".js", ".json", ".jinja", ".toml"}

# Whole folders and files that are about frameworks, or made.
ELSEWHERE: Final = {
    "live/adapters": "a live adapter runs a hook in the framework that it is named after",
    "live/js": "the same in JavaScript, published as a package of its own",
    "agent/models": "bridges to the libraries of providers, whose options have a framework's names",
    "aliases.py": "old names of modules, among which were those of frameworks",
    "notebooks": "pages about frameworks",
}

_FORM: Final = "messages have this framework's form, which is a decision about the core"
_EVIDENCE: Final = "says where a rule of the core comes from, or what it is unlike"
_CHECK_HOOK: Final = "check_hook runs a hook under the profiles of this framework; that is what it is for"
EXCEPTIONS: Final = {
    "cli/demo.py": "the demonstration shows one hook under this framework",
    "cli/demonstration.py": "as above",
    "errors.py": _FORM,
    "kit/families.py": "DEFAULT_PROFILE: which framework is meant if none is named is no framework's choice",
    "live/recorded.py": "reads what somebody recorded in the forms of frameworks",
    "messages/content.py": _FORM,
    "messages/converters.py": _FORM,
    "messages/messages.py": _FORM,
    "messages/wire.py": _FORM,
    "requirements/differences.py": _EVIDENCE,
    "requirements/rules.py": _EVIDENCE,
    "schemas/model-message.schema.json": _FORM,
    "skeletons/driver.mjs": "the format of the example, to be filled in",
    "skeletons/driver.py": "as above",
    "testing/hooks.py": _CHECK_HOOK,
    "testing/runs.py": _CHECK_HOOK,
}


def names(framework: Framework) -> Iterator[str]:
    """Patterns of what a framework is called: its name in all spellings, and the names of its packages."""
    yield "[-_ ]?".join(map(re.escape, framework.name.split("-")))
    yield re.escape(framework.title)
    for package in framework.packages.values():
        name = package.package.rpartition("==" if package.installer == "pip" else "@")[0]
        # A short name may be any word: only with a version is it the package.
        yield rf"(?<![\w-]){re.escape(name)}(?:@|==)\d"


def pattern() -> re.Pattern[str]:
    return re.compile("|".join(name for one in FRAMEWORKS.values() for name in names(one)), re.IGNORECASE)


def named_in(root: Path) -> dict[str, list[str]]:
    """The lines of each file, outside the folders of frameworks, that name one."""
    wanted, found = pattern(), {}
    for file in sorted(root.rglob("*")):
        place = file.relative_to(root).as_posix()
        outside = not place.startswith(("frameworks/", *(f"{folder}/" for folder in ELSEWHERE)))
        if outside and place not in ELSEWHERE and file.suffix in SUFFIXES:
            lines = [line.strip() for line in file.read_text("utf-8").splitlines() if wanted.search(line)]
            if lines:
                found[place] = lines
    return found


def test_nothing_else_names_a_framework() -> None:
    found = named_in(PACKAGE)
    assert {place: lines for place, lines in found.items() if place not in EXCEPTIONS} == {}


def test_no_exception_is_left_that_nobody_needs() -> None:
    assert sorted({*EXCEPTIONS} - {*named_in(PACKAGE)}) == []
    assert [place for place in ELSEWHERE if not (PACKAGE / place).exists()] == []


@pytest.mark.parametrize(
    "line",
    [
        "from agentcore.frameworks.ai_sdk import run",
        'if family.name == "ai-sdk":',
        "class AiSdkLoop:",
        "# as Mastra does",
        "as ai@6.0.134 does",
        '"@strands-agents/sdk": "1.5.0"',
    ],
)
def test_a_name_is_found_however_it_is_spelt(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"x = 1\n{line}\n", "utf-8")
    (tmp_path / "frameworks" / "ai_sdk").mkdir(parents=True)
    (tmp_path / "frameworks" / "ai_sdk" / "a.py").write_text(line, "utf-8")
    assert named_in(tmp_path) == {"a.py": [line]}


@pytest.mark.parametrize("line", ["generative AI, through its API only", "pydantic-ai", "main@2.0"])
def test_other_words_are_no_names(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(line, "utf-8")
    assert named_in(tmp_path) == {}
