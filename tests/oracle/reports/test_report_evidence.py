from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest

from agentcore.kit.compare import Difference
from agentcore.kit.isolation import Breach, Seen, Sight
from agentcore.kit.program import schema, scrubbed
from agentcore.oracle.campaign.check import Campaign, Limits, Plan, Report
from agentcore.oracle.campaign.findings import Disagreement
from agentcore.oracle.campaign.verdicts import Kind
from agentcore.oracle.reports import html
from agentcore.oracle.reports.document import document
from liars.copying import trace
from oracle.reports.test_reports import HOSTILE, Page

Json = dict[str, Any]
PLAN: Final = Plan(profile="ai-sdk-6", isolated=True, argv=("python", "-m", "loop"), limits=Limits())
PROGRAM: Final[Json] = {
    "id": "seed-7",
    "path": "stream",
    "messages": [{"role": "user", "content": "hi"}],
    "script": [[{"type": "text", "text": "done"}]],
    "hooks": {"prepareStep": [[{"set": ["messages", 0, "content"], "to": "written"}]]},
}


def shared(text: str = "prepareStep", program: Json = PROGRAM) -> Disagreement:
    """A finding of a check of isolation, in which a text is the hook and stands where a program's would."""
    expected, actual = trace({**program, "hooks": {}}), trace(program, "shown")
    prompts = expected["steps"][0]["prompt"], actual["steps"][0]["prompt"]
    breach = Breach(
        kind="write",
        hook=text,
        op="set",
        place=f"messages[*].{text}",
        seen=("later-prompts", "this-prompt"),
        first=Sight("this-prompt", 0, f"$.steps[0].{text}"),
        rule="isolated.write",
        expected=expected,
        actual=actual,
        observations=(Seen(path="$.steps[0].prompt", expected=prompts[0], actual=prompts[1]),),
    )
    difference = Difference(
        path=f"$.steps[0].{text}",
        expected="hi",
        actual=text,
        observation="$.steps[0].prompt",
        expected_observation=prompts[0],
        actual_observation=prompts[1],
    )
    return Disagreement(
        kind=Kind("wrong", breach.cause),
        program=program,
        original=program,
        expected=expected,
        actual=actual,
        difference=difference,
        breach=breach,
    )


def report(*findings: Disagreement, plan: Plan = PLAN, files: tuple[Path | None, ...] = ()) -> Json:
    done = Campaign(
        ended="programs",
        counts={findings[0].kind: 1},
        replayed={},
        findings=findings,
        report=Report(programs=1, seconds=1.0, working=1.0, waiting=0.5),
        implementation=None,
    )
    return document(plan, done, seed=7, jobs=1, files=files)


def test_a_report_of_isolation_has_the_breach_both_sides_and_the_command() -> None:
    found = report(shared(), files=(Path("leak.json"),))
    jsonschema_rs.validator_for(schema("check-report")).validate(scrubbed(found))
    [finding] = found["findings"]
    assert finding["breach"]["message"].startswith(
        "prepareStep writes messages[*].prepareStep (set); seen in "
    )
    assert finding["command"] == "agentcore check --isolated --replay leak.json -- python -m loop"
    paths = [(one["path"], one["differs"]) for one in finding["boundaries"]]
    assert paths[:2] == [("$.steps[0].prepareStep", False), ("$.steps[0].prompt", True)]
    assert all(differs for _, differs in paths[1:])
    assert finding["boundaries"][1]["expected"] == {"value": [{"role": "user", "content": "hi"}]}
    assert finding["boundaries"][1]["actual"] == {"value": [{"role": "user", "content": "written"}]}
    assert finding["spread"]["later-prompts"] == ["steps[0].prompt"]


def test_a_program_that_was_not_saved_is_run_again_by_its_seed() -> None:
    [finding] = report(shared(), files=(None,))["findings"]
    assert finding["command"].startswith("agentcore check --isolated -n 1 --seed 7 -- ")


def test_the_page_has_an_index_a_picture_both_sides_and_the_command() -> None:
    text = html.text(report(shared(), shared("other")))
    page = Page(text)
    assert page.links.count("#finding-1") == page.links.count("#finding-2") == 1
    assert 'id="finding-1"' in text
    assert page.tags.count("figure") == 2
    said = "".join(page.texts)
    for part in (
        "hooks get copies",
        "without the write",
        "with the write",
        "How far it goes",
        "isolated.write",
    ):
        assert part in said
    assert '<span class="gone">' in text
    assert '<span class="added">' in text
    assert "agentcore trace" not in said


def test_both_colour_schemes_and_narrow_windows_are_thought_of() -> None:
    text = html.text(report(shared()))
    assert "prefers-color-scheme: dark" in text
    assert "@media (max-width:" in text
    assert 'name="viewport"' in text


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "</pre><script>alert(1)</script>",
        '"><svg onload=alert(1)>',
        "{{ 7 * 7 }}",
        "$x$ \\frac{",
        "\u4f60\U0001f600",
    ],
)
def test_hostile_texts_are_data_everywhere_on_the_page_and_in_its_pictures(text: str) -> None:
    program = {**PROGRAM, "hooks": {"prepareStep": [[{"set": ["messages", 0, text], "to": text}]]}}
    page = Page(written := html.text(report(shared(text, program))))
    assert not {"script", "link", "iframe", "img", "object", "embed", "form"} & {*page.tags}
    assert page.handlers == []
    assert all(link.startswith("#") for link in page.links)
    assert not {"\x00", "\x1b", "\u202e"} & {*written}
    assert "49" not in "".join(page.texts)
