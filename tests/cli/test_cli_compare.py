from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.oracle.spec.examples import examples, mismatches
from cli.commands import run
from kit.installed import installed
from oracle import toy_versions

Json = dict[str, Any]
SUMS: Final = ("sum@1", "sum@2")
ONE: Final = ("ai-sdk-6/generate", "ai-sdk-7/generate", "-n", "1", "--seed", "1", "--patience", "1")


@pytest.fixture
def toy() -> Iterator[None]:
    with installed(toy_versions.ENTRY):
        yield


@pytest.mark.usefixtures("toy")
def test_the_classes_are_told_with_their_witnesses_and_the_exit_code_is_1() -> None:
    result = run("compare", *SUMS, "--programs", "60")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("60 programs, ")
    assert lines[0].endswith(" differ.")
    start = next(index for index, line in enumerate(lines) if line.startswith("shouts: "))
    assert lines[start + 1 : start + 5] == [
        "  at $.sums[].mark, together with doubles",
        '    {"numbers": [7]}',
        '    sum@1: sums[0] = {"read": 7, "sum": 7}',
        '    sum@2: sums[0] = {"read": 7, "sum": 14, "mark": "!"}',
    ]
    assert "  at $.sums[].sum, alone" in lines
    assert "  at $.sums[].sum, which goes away with skips" in lines
    assert re.sub("after .*", "", result.stderr) == "programs: 60 of 60 \nclasses: 4 of 4 \n"


@pytest.mark.usefixtures("toy")
def test_the_page_makes_its_folder_and_has_its_command(tmp_path: Path) -> None:
    page = tmp_path / "not" / "yet" / "page.md"
    few = ("--programs", "8", "--seed", "3", "--patience", "1")
    assert run("compare", *SUMS, *few, "--markdown", str(page)).exit_code == 1
    text = page.read_text("utf-8")
    assert text.startswith("# From `sum@1` to `sum@2`")
    assert f"$ agentcore compare sum@1 sum@2 {' '.join(few)} --markdown {page}" in text


@pytest.mark.usefixtures("toy")
def test_json_has_the_classes_with_both_traces() -> None:
    result = run("compare", *SUMS, "--programs", "60", "--json")
    told = json.loads(result.stdout)
    assert (told["a"], told["b"], told["programs"], told["seed"]) == (*SUMS, 60, 0)
    (forgets,) = (one for one in told["classes"] if one["field"] == "forgets")
    (witness,) = forgets["witnesses"]
    assert witness["program"]["numbers"] == [0, 3]
    assert (witness["a"]["end"], witness["b"]["end"]) == (3, 0)
    assert witness["features"] == ["2 numbers"]


@pytest.mark.usefixtures("toy")
def test_sides_that_do_not_differ_have_the_exit_code_0() -> None:
    result = run("compare", "sum@1", "sum@1", "--programs", "20")
    assert (result.exit_code, result.stdout) == (0, "20 programs, 0 differ.\n")


@pytest.mark.slow
def test_the_page_has_the_command_and_its_examples_are_as_they_say(tmp_path: Path) -> None:
    page, advice = tmp_path / "page.md", tmp_path / "advice.json"
    advice.write_text('{"report": {"text": "read the content."}}', "utf-8")
    result = run("compare", *ONE, "--markdown", str(page), "--advice", str(advice))
    assert result.exit_code == 1
    text = page.read_text("utf-8")
    words = "--programs 1 --seed 1 --patience 1"
    assert (
        f"$ agentcore compare ai-sdk-6/generate ai-sdk-7/generate {words} --advice {advice} --markdown {page}"
        in text
    )
    assert "**The same in both:** read the content." in text
    found = [*examples(page)]
    assert found
    assert not [wrong for example in found for wrong in mismatches(example)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("ai-sdk-5", "ai-sdk-6"), "no profile is named 'ai-sdk-5'"),
        (
            ("ai-sdk-6", "mastra@1.0.4"),
            "those of mastra; compare two profiles or packages that run ",
        ),
    ],
)
def test_sides_that_cannot_be_compared_are_told_and_the_exit_code_is_2(
    arguments: tuple[str, ...], says: str
) -> None:
    result = run("compare", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_advice_that_is_none_is_told_before_anything_runs(tmp_path: Path) -> None:
    advice = tmp_path / "advice.json"
    advice.write_text("[]", "utf-8")
    result = run("compare", *ONE, "--advice", str(advice))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "holds no advice" in result.stderr
