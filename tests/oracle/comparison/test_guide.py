from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcore.frameworks.ai_sdk.family import FAMILY as AI_SDK
from agentcore.kit.compare import places
from agentcore.oracle.comparison.changes import Change, Changes, Witness, compare
from agentcore.oracle.comparison.comparands import side
from agentcore.oracle.comparison.guide import Advice, GuideError, advice_of, guide, telling
from agentcore.oracle.spec.examples import examples, mismatches
from kit.installed import installed
from oracle import toy_versions

Json = dict[str, Any]

TOOL: Json = {
    "messages": [{"role": "user", "content": "hi"}],
    "script": [[{"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {}}]],
    "tools": {"look": {"output": 1}},
}
PUSH: Json = {"append": ["messages"], "with": {"role": "user", "content": "pushed"}}


def witness(program: Json, place: str, *fields: str) -> Witness:
    program = {"id": "a", "path": "generate", **program}
    before, after = (AI_SDK.trace(program, f"ai-sdk-{one}/generate") for one in (6, 7))
    assert place in places(before, after, AI_SDK.comparison)
    return Witness(
        program=program,
        place=place,
        places=(place,),
        fields=fields,
        features=frozenset(),
        before=before,
        after=after,
    )


BASE = Change(
    field="base",
    place=None,
    count=7,
    witnesses=(witness(TOOL | {"hooks": {"prepareStep": [[PUSH]]}}, "$.steps[].prompt", "base"),),
)


def changes(*classes: Change, **fields: Any) -> Changes:
    plain: Json = {
        "before": side("ai-sdk-6/generate"),
        "after": side("ai-sdk-7/generate"),
        "seeds": range(10),
        "unsupported": 0,
        "differing": 8,
        "classes": classes,
    }
    return Changes(**(plain | fields))


# ---------------------------------------------------------------- the page


def test_the_page_says_what_is_decided_and_how_often_and_its_examples_run(tmp_path: Path) -> None:
    page = guide(changes(BASE), "agentcore compare this", {})
    assert "$ agentcore compare this\n" in page
    assert "Of 10 random programs, 8 differ." in page
    assert "| [`base`](#base) | What the messages of a step are before its hook. | 7 |" in page
    assert "- `ai-sdk-6/generate`: the initial and the response messages, listed anew\n" in page
    assert "at `$.steps[].prompt`, alone." in page
    assert "\n\n\n" not in page
    file = tmp_path / "page.md"
    file.write_text(page, "utf-8")
    (example,) = examples(file)
    assert example.cites == ("ai-sdk.base",)
    assert [each.profile for each in example.expectations] == ["ai-sdk-6/generate", "ai-sdk-7/generate"]
    assert not [*mismatches(example)]


def test_what_else_is_needed_and_what_is_left_out_is_said() -> None:
    (one,) = BASE.witnesses
    more = attrs.evolve(BASE, witnesses=(attrs.evolve(one, fields=("base", "report", "files")),) * 12)
    page = guide(changes(more), "", {})
    assert page.count("together with `report`, `files`.") == 10
    assert "2 more programs are larger" in page


def test_what_no_field_explains_is_a_section_and_unsupported_programs_are_told() -> None:
    (one,) = BASE.witnesses
    odd = Change(field=None, place="$.steps[].prompt", count=1, witnesses=(attrs.evolve(one, fields=()),))
    page = guide(changes(odd, unsupported=3), "", {})
    assert "[Unexplained, at `$.steps[].prompt`](#unexplained-at-stepsprompt)" in page
    assert "**Example** (`oracle.class-by-cause`): at `$.steps[].prompt`.\n" in page
    (shown,) = odd.witnesses
    given = attrs.evolve(odd, witnesses=(attrs.evolve(shown, fields=("base",)),))
    assert "at `$.steps[].prompt`, which goes away with `base`.\n" in guide(changes(given), "", {})
    assert "8 differ, and 3 did not run on both." in page


def test_sides_with_several_paths_and_values_of_several_parts_are_told() -> None:
    contexts = Change(field="contexts", place=None, count=1, witnesses=())
    made = Change(field="report", place=None, count=1, witnesses=())
    both = {"before": side("ai-sdk-6"), "after": side("ai-sdk-7")}
    page = guide(changes(contexts, made, **both), "", {})
    assert "- `ai-sdk-7`: names: `runtimeContext`, `toolsContext`, always: yes" in page
    six = next(line for line in page.splitlines() if line.startswith("- `ai-sdk-6`: a second"))
    assert "; or a structured clone" in six


def test_profiles_that_are_no_data_have_a_page_of_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toy_versions, "FAMILY", attrs.evolve(toy_versions.FAMILY, emulation=None))
    with installed(toy_versions.ENTRY):
        page = guide(compare(side("sum@1"), side("sum@2"), range(20)), "", {})
    assert "No field of the profiles explains it." in page
    assert "## Unexplained, at `$.sums[].sum`" in page
    assert '{"sums[1].sum": 3}' in page


# ---------------------------------------------------------------- advice


def test_advice_is_printed_with_what_its_program_gives_on_all_profiles() -> None:
    advice = Advice(text="leave it.", program=TOOL, paths=("steps[1].prompt[*].role",))
    page = guide(changes(BASE), "", {"base": advice, "nothing": advice})
    assert page.count("**The same in both:** leave it.") == 1
    assert "```json trace ai-sdk-6/generate ai-sdk-7/generate\n" in page
    assert '{"steps[1].prompt[*].role": ["user", "assistant", "tool"]}' in page
    bare = guide(changes(BASE), "", {"base": Advice(text="leave it.")})
    assert "**The same in both:** leave it.\n\n<details>" in bare
    assert "## Silent" not in bare


def test_the_page_begins_with_what_people_write_the_worst_harm_first() -> None:
    loud = attrs.evolve(BASE, field="files", count=9, witnesses=())
    advice = {
        "files": Advice(
            text="know both.", harm="shape", wrote="`part.data`", before="Bytes.", after="An object."
        ),
        "base": Advice(
            text="leave it.", harm="silent", wrote="`[...messages]`", before="Gone.", after="Stays."
        ),
    }
    page = guide(changes(loud, BASE), "agentcore compare this", advice)
    assert "| `[...messages]` ([`base`](#base)) | Gone. | Stays. | Leave it. |\n" in page
    places = [page.index(head) for head in ("## Silent: ", "## Shape: ", "## How it was found", "## `files`")]
    assert places == sorted(places)
    assert "## Loud: " not in page


def test_programs_are_folded_away() -> None:
    page = guide(
        changes(BASE),
        "",
        {"base": Advice(text="leave it.", program=TOOL, paths=("steps[1].prompt[*].role",))},
    )
    folded = page[page.index("<details>") : page.index("</details>")]
    assert folded.count("```json program") == page.count("```json program") == 2


@pytest.mark.parametrize(
    ("program", "path", "says"),
    [
        (TOOL | {"hooks": {"prepareStep": [[PUSH]]}}, "steps[1].prompt.length", "under ai-sdk-7/generate"),
        ({"messages": 1}, "steps", "cannot be run"),
        (TOOL, "steps..prompt", "is no path"),
    ],
)
def test_advice_that_does_not_hold_is_refused(program: Json, path: str, says: str) -> None:
    advice = Advice(text="", program=program, paths=(path,))
    with pytest.raises(GuideError, match=f"advice on base.*{says}"):
        guide(changes(BASE), "", {"base": advice})


def test_advice_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "advice.json"
    file.write_text(json.dumps({"base": {"text": "x", "program": TOOL, "paths": ["steps"]}}), "utf-8")
    assert advice_of(file) == {"base": Advice(text="x", program=TOOL, paths=("steps",))}
    for wrong in (
        "{",
        "[]",
        '{"base": {"texts": "x"}}',
        '{"base": 1}',
        '{"base": {"text": "x", "harm": "no"}}',
    ):
        file.write_text(wrong, "utf-8")
        with pytest.raises(GuideError, match=r"holds no advice(, it is not JSON: |; it has to be an object)"):
            advice_of(file)


# ---------------------------------------------------------------- what is said of two traces


def told(before: Json, after: Json, place: str) -> tuple[Json, Json]:
    shown = attrs.evolve(BASE.witnesses[0], before=before, after=after, place=place)
    return telling(shown, AI_SDK.comparison)


def test_the_most_that_is_short_is_told() -> None:
    one: Json
    other: Json
    one, other = ({"steps": [{"prompt": [{"role": role, "content": []}]}]} for role in ("user", "tool"))
    assert told(one, other, "$.steps[].prompt") == (
        {"steps[0].prompt": [{"role": "user", "content": []}]},
        {"steps[0].prompt": [{"role": "tool", "content": []}]},
    )
    long, longer = ({"steps": [{"prompt": [{"x": "y" * 400, "n": n}]}]} for n in (1, 2))
    assert told(long, longer, "$.steps[].prompt") == (
        {"steps[0].prompt[0].n": 1},
        {"steps[0].prompt[0].n": 2},
    )


def test_where_one_has_nothing_lengths_tell() -> None:
    long: Json = {"x": "y" * 400}
    one, other = ({"steps": [{"prompt": [long] * count}]} for count in (1, 2))
    path = "steps[0].prompt.length"
    assert told(one, other, "$.steps[].prompt") == ({path: 1}, {path: 2})
    none: Json = {"steps": []}
    assert told(none, {"steps": [{"step": 0}]}, "$.steps[]") == ({"steps.length": 0}, {"steps.length": 1})


def test_where_one_lacks_a_field_what_holds_the_field_tells() -> None:
    one: Json = {"steps": [{"prompt": [1], "model": "m"}]}
    other: Json = {"steps": [{"model": "m"}]}
    assert told(one, other, "$.steps[].prompt") == (
        {"steps[0]": {"prompt": [1], "model": "m"}},
        {"steps[0]": {"model": "m"}},
    )


def test_what_may_differ_tells_nothing() -> None:
    failed = {"error": {"name": "AI_InvalidPromptError", "message": "mine"}, "steps": [{"prompt": [1]}]}
    ran: Json = {"error": None, "steps": [{}]}
    assert told(failed, ran, "$.error") == ({"error.name": "AI_InvalidPromptError"}, {"error": None})
    lost: Json = {"opErrors": ["mine"]}
    assert told(lost, {}, "$.opErrors") == ({"opErrors.length": 1}, {})
    foreign = {"error": {"name": "RangeError", "message": "mine"}}
    assert told(foreign, {"error": None}, "$.error") == ({}, {"error": None})
