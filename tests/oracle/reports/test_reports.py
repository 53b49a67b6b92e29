from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import attrs
import jsonschema_rs
import pytest

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.kit.program import schema, scrubbed
from agentcore.oracle import reports
from agentcore.oracle.campaign import worker
from agentcore.oracle.campaign.check import Campaign, Limits, Plan, campaign
from agentcore.oracle.reports import html
from agentcore.oracle.reports.document import document
from liars.moody import InMemory
from oracle.driver_commands import small
from oracle.reports.junit_shape import assert_junit

Json = dict[str, Any]
STREAM: Final = "ai-sdk-6/stream"
# What makes a program reach some of the deeds.
DELETES: Final = {"hooks": {"prepareStep": [[{"delete": ["messages", 0]}]]}}
THROWS: Final = {"hooks": {"prepareStep": [[{"throw": "x"}]]}}
FREEZES: Final = {"hooks": {"prepareStep": [[{"freeze": ["messages"]}]]}}
HOSTILE: Final = "<script>alert(1)</script> ]]> \x1b[2J\x00 [red] \ud800 \u202e $a$ {{ 7 * 7 }} &amp;"


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "Driver", InMemory)


def plan(*deeds: str, **settings: Any) -> Plan:
    limits = Limits(programs=3, findings=9, failures=9)
    argv = ("python", "-m", "liars.moody", *deeds)
    return Plan(**{"profile": STREAM, "argv": argv, "limits": limits, "shrink_seconds": 0.0, **settings})


def report(*deeds: str, programs: tuple[Json, ...] = (), **settings: Any) -> Json:
    planned = plan(*deeds, **settings)
    return document(planned, campaign(planned, first=0, replayed=programs), seed=0, jobs=1)


@pytest.fixture(scope="module")
def hostile() -> Json:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "Driver", InMemory)
        return all_kinds()


def all_kinds() -> Json:
    """A report with everything that a driver can do, of programs and a driver that mean harm."""
    programs = (
        {**small("a", HOSTILE), **THROWS},
        {**small("b"), **DELETES},
        {**small("c"), **FREEZES},
        {**small("d"), "maxSteps": 3},
        {**small("e"), "model": "m"},
    )
    deeds = (
        "op throw=hostile",
        "op delete=crash",
        "op freeze=junk",
        "call maxSteps=hang",
        "call model=error",
    )
    return report(*deeds, programs=programs)


def written(document: Json, folder: Path, suffix: str) -> str:
    file = folder / f"report{suffix}"
    reports.write(document, file)
    return file.read_text(encoding="utf-8")


# ---------------------------------------------------------------- the document


def test_a_report_says_what_was_checked_and_what_came_of_it() -> None:
    found = report("op throw=wrong", programs=({**small("a"), **THROWS},), exclude=("op throw",), target=None)
    assert found["verdict"] == "agreement"
    assert found["findings"] == []
    assert found["replayed"]["left out"] == 1
    assert found["outcomes"]["agreed"] == found["programs"] == 3
    assert found["exclude"] == ["op throw"]
    assert found["implementation"] == {"name": "moody", "version": "1", "unsupported": []}


def test_a_finding_in_a_report_has_its_program_and_its_difference() -> None:
    found = report("op throw=wrong", programs=({**small("a"), **THROWS},))
    [finding] = found["findings"]
    assert finding["outcome"] == "wrong"
    assert finding["where"] == "$.caller"
    assert finding["profile"] == STREAM
    assert finding["program"] == {**small("a"), **THROWS}
    difference = finding["difference"]
    assert difference["path"] == "$.caller"
    assert difference["actual"] == {"value": "none"}
    assert '+"none"' in difference["diff"]


def test_every_report_is_what_the_schema_says(hostile: Json) -> None:
    validator = jsonschema_rs.validator_for(schema("check-report"))
    nothing = report("path stream=unsupported")
    for found in (hostile, nothing, report()):
        validator.validate(scrubbed(found))
    assert {finding["outcome"] for finding in hostile["findings"]} == {
        "wrong",
        "crashed",
        "malformed",
        "hung",
    }
    assert not validator.is_valid({**nothing, "verdict": "fine"})
    assert not validator.is_valid({**hostile, "findings": [{"outcome": "wrong"}]})


def test_what_a_report_holds_of_a_huge_answer_is_bounded(hostile: Json) -> None:
    assert len(json.dumps(hostile)) < 200_000
    [wrong] = [finding for finding in hostile["findings"] if finding["where"] == "$.caller"]
    assert "(10000000 characters)" in json.dumps(wrong["difference"]["actual"])


# ---------------------------------------------------------------- JSON and JUnit


def test_the_json_report_is_the_document(hostile: Json, tmp_path: Path) -> None:
    text = written(hostile, tmp_path, ".json")
    assert json.loads(text) == hostile
    assert text.isascii()


def test_in_junit_each_finding_is_a_case_that_fails(hostile: Json, tmp_path: Path) -> None:
    root = assert_junit(written(hostile, tmp_path, ".xml"))
    suite = root[0]
    assert suite.attrib["name"] == "agentcore check ai-sdk-6/stream"
    cases = {case.attrib["name"]: case for case in suite.iter("testcase")}
    assert {*cases} >= {
        "wrong $.caller by throw in prepareStep",
        "wrong $.error",
        "crashed",
        "hung",
        "malformed",
    }
    assert cases["wrong $.caller by throw in prepareStep"].find("failure") is not None
    error = cases["hung"].find("error")
    assert error is not None
    assert error.attrib["type"] == "hung"
    assert "no answer within 20 seconds" in str(error.text)


def test_in_junit_an_agreement_is_a_case_that_passes_and_nothing_is_one_that_is_skipped(
    tmp_path: Path,
) -> None:
    [case] = assert_junit(written(report(), tmp_path, ".xml")).iter("testcase")
    assert [*case] == []
    assert case.attrib["name"] == "3 programs from seed 0"
    [case] = assert_junit(written(report("path stream=unsupported"), tmp_path, ".xml")).iter("testcase")
    assert [child.tag for child in case] == ["skipped"]


def test_hostile_texts_are_legal_in_junit(hostile: Json, tmp_path: Path) -> None:
    text = written(hostile, tmp_path, ".xml")
    root = assert_junit(text)
    said = "".join(root.itertext())
    assert "<script>alert(1)</script> ]]> \\u001b[2J\\u0000" in said
    assert "\\ud800 \\u202e" in said
    assert len(text) < 200_000


# ---------------------------------------------------------------- HTML


class Page(HTMLParser):
    """What a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "data", "action"):
                self.links.append(str(value))
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing(hostile: Json, tmp_path: Path) -> None:
    text = written(hostile, tmp_path, ".html")
    page = Page(text)
    assert not {"script", "link", "iframe", "img", "object", "embed", "form"} & {*page.tags}
    assert all(link.startswith("#") for link in page.links)
    assert page.handlers == []
    assert "default-src 'none'" in text


def test_hostile_texts_are_shown_on_the_page_as_they_are(hostile: Json, tmp_path: Path) -> None:
    text = written(hostile, tmp_path, ".html")
    said = "".join(Page(text).texts)
    assert "<script>alert(1)</script> ]]>" in said
    assert "{{ 7 * 7 }}" in said
    assert "[red]" in said
    assert not {"\x00", "\x1b", "\u202e"} & {*text}
    assert len(text) < 1_000_000


def test_the_page_has_programs_diffs_and_what_drivers_said(hostile: Json, tmp_path: Path) -> None:
    text = written(hostile, tmp_path, ".html")
    page = Page(text)
    said = "".join(page.texts)
    assert page.tags.count("section") == len(hostile["findings"])
    assert '"prepareStep": [[{"delete": ["messages", 0]}]]' in said
    assert '<span class="added">' in text
    assert "no answer within 20 seconds" in said
    assert "It wrote to standard error:" in said
    assert "agentcore trace --profile ai-sdk-6/stream" in said


def test_the_page_has_a_picture_of_who_holds_what_where_it_can_be_drawn(
    hostile: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "svg" in Page(written(hostile, tmp_path, ".html")).tags
    monkeypatch.setattr(html, "find_spec", lambda _: None)
    assert "svg" not in Page(written(hostile, tmp_path, ".html")).tags


def test_there_is_no_picture_of_what_has_no_heap_no_call_or_too_much() -> None:
    assert html.alias_picture(small(), "immutable") is None
    assert html.alias_picture({**small(), "messages": []}, STREAM) is None
    many = [{"role": "user", "content": "hi"}] * 500
    assert html.alias_picture({**small(), "messages": many}, STREAM) is None
    assert str(html.alias_picture(small(), STREAM)).startswith("<svg")


def test_the_page_tells_of_targets_features_and_a_reference_that_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = failed_reference(monkeypatch)
    found = document(plan(target="ai-sdk@6.0.134", include=("op *",)), done, seed=4, jobs=2)
    said = "".join(Page(written(found, tmp_path, ".html")).texts)
    assert "ai-sdk@6.0.134" in said
    assert "included: op *; left out: none" in said
    assert "ZeroDivisionError: <b>" in said
    [_, case] = assert_junit(written(found, tmp_path, ".xml")).iter("testcase")
    assert "ZeroDivisionError" in "".join(case.itertext())


def failed_reference(monkeypatch: pytest.MonkeyPatch) -> Campaign:
    def fails(program: Json, profile: str) -> Json:
        raise ZeroDivisionError(f"<b>{program['id']} {profile}")

    monkeypatch.setattr(worker, "family_of", lambda _: attrs.evolve(FAMILY, trace=fails))
    return campaign(plan(), first=0)


def test_a_driver_that_does_not_say_what_it_is_has_no_such_line(tmp_path: Path) -> None:
    found = document(plan(), attrs.evolve(campaign(plan(), first=0), implementation=None), seed=0, jobs=1)
    assert found["implementation"] is None
    assert "it says it is" not in written(found, tmp_path, ".html")


def test_another_ending_is_no_format_of_a_report(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ends in none of \.html, \.json, \.xml"):
        reports.write({}, tmp_path / "report.pdf")
