"""The published contracts: the pages follow from the file, and a sample of it is what the packages do now."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Final

import pytest

from agentcore.live.adapters.known import KNOWN
from agentcore.live.contracts import publish
from agentcore.live.contracts.measure import measure
from agentcore.live.contracts.table import answers_of
from agentcore.live.installs import InstallError
from live.contracts import PUBLISHED, validate

CONTRACTS: Final = publish.read(PUBLISHED)
# One boundary, on one path: cheap to measure, of packages that are small or that other tests install.
SAMPLE: Final = {
    "agent-framework": "function_middleware",
    "ai": "onStepFinish",
    "google-adk": "before_tool_callback",
    "langchain": "wrap_tool_call",
    "openai-agents": "session_input_callback",
    "pydantic-ai": "history_processor",
    "strands": "ExecuteToolStage.Input",
    "strands-py": "after_model_call",
}


def test_the_file_is_by_its_schema() -> None:
    validate(CONTRACTS)
    assert {*SAMPLE} <= {*CONTRACTS["frameworks"]} <= {*KNOWN}


def test_the_pages_follow_from_the_file() -> None:
    made = publish.pages_of(CONTRACTS)
    assert {name: (PUBLISHED / name).read_text("utf-8") for name in made} == made
    assert {file.name for file in PUBLISHED.iterdir()} == {*made, "contracts.json"}


@pytest.mark.parametrize("framework", CONTRACTS["frameworks"])
def test_each_row_has_one_answer_in_each_release(framework: str) -> None:
    of = CONTRACTS["frameworks"][framework]
    rows = [
        (path, section["boundary"], section["root"], row)
        for section in of["contracts"]
        for group in section["groups"]
        for path in group["paths"]
        for row in group["rows"]
    ]
    assert len(rows) == len(set(rows))
    for release in of["releases"]:
        validate(publish.measurement_of(of, framework, release["version"]))


@pytest.mark.parametrize("framework", CONTRACTS["frameworks"])
def test_neighbouring_statements_differ_and_the_oldest_has_no_edge(framework: str) -> None:
    groups = [group for each in CONTRACTS["frameworks"][framework]["contracts"] for group in each["groups"]]
    for group in groups:
        statements = group["statements"]
        assert [each["from"] is None for each in statements] == [False] * (len(statements) - 1) + [True]
        assert all(one["answers"] != other["answers"] for one, other in pairwise(statements))


@pytest.mark.live
@pytest.mark.sample(3)
@pytest.mark.parametrize(("framework", "at"), SAMPLE.items())
def test_a_boundary_of_the_newest_release_is_as_published(
    framework: str, at: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    of = CONTRACTS["frameworks"][framework]
    version = of["releases"][-1]["version"]
    # What an earlier measurement has kept says nothing of now.
    monkeypatch.setattr(
        "agentcore.live.contracts.measure._folder", lambda *_: tmp_path_factory.mktemp("kept")
    )
    try:
        now = measure(framework, version, at, "generate")
    except InstallError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(str(error))
    published = {
        row: answer
        for row, answer in answers_of(publish.measurement_of(of, framework, version)).items()
        if (row.path, row.boundary) == ("generate", at)
    }
    assert answers_of(now) == published
