"""What a check makes of what its conversations show: findings, and why nothing was judged."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.live.check import Request, _Campaign
from agentcore.live.findings import Found, finding
from agentcore.live.installs import Place
from agentcore.live.judge import KINDS
from agentcore.live.process import Ended
from agentcore.live.reporting import sarif, text
from agentcore.live.suppressions import Suppression

Json = dict[str, Any]
LINE: Final[Json] = {"file": "/hooks.py", "line": 3, "column": 5}


def shown(kind: str = "write", place: str | None = "messages[0].content", **fields: Any) -> Json:
    plain: Json = {
        "kind": kind,
        "place": place,
        "places": [] if place is None else [place],
        "before": "'a'",
        "after": "'b'",
        "seen": ["caller"],
        "first_seen": None,
        "turn": 0,
        "step": 2,
        "cause": None,
        "said": "c1",
        "line": None,
    }
    return plain | fields


def outcome(index: int, *found: Json, **fields: Any) -> Json:
    plain: Json = {
        "index": index,
        "path": "generate",
        "size": 9 - index,
        "shown": [*found],
        "error": None,
        "outside": False,
        "judged": True,
        "prompts": 2,
        "calls": 2,
        "prefix": None,
    }
    return plain | fields


def campaign(*outcomes: Json, ended: tuple[Ended, ...] = ()) -> _Campaign:
    request = Request(hook="hooks.py#hook", framework="live.toy_loop:ADAPTER", at="before_model")
    made = _Campaign(request, Place(sys.executable, sys.prefix), Path())
    made.outcomes, made.ended = [*outcomes], [*ended]
    made.group()
    return made


FAILED: Final[Json] = {"error": "E: down", "judged": False}


@pytest.mark.parametrize(
    ("outcomes", "reason", "says"),
    [
        ([], "no-call", "no conversation was run"),
        (
            [outcome(0, **FAILED)],
            "errors",
            "1 of 1 conversations ended in errors that are not the hook's: E: down",
        ),
        ([outcome(0, **FAILED), outcome(1)], None, ""),
        (
            [outcome(0, **FAILED, outside=True), outcome(1, **FAILED, outside=True), outcome(2)],
            "needs-outside",
            "the hook needs what a check does not give: E: down",
        ),
        ([outcome(0, prompts=0)], "no-prompt", "no model call recorded a prompt"),
        ([outcome(0, shown("raises", None, cause="throws"), prompts=0)], None, ""),
        ([outcome(0, calls=0)], "no-call", "the framework never called the hook at before_model"),
    ],
)
def test_why_nothing_was_judged_is_told(outcomes: list[Json], reason: str | None, says: str) -> None:
    report = campaign(*outcomes).report([])
    if reason is None:
        assert report["not_judged"] is None
        return
    assert (report["exit"], report["verdict"], report["not_judged"]["reason"]) == (3, None, reason)
    assert says in report["not_judged"]["message"]


def test_conversations_that_show_one_thing_are_one_finding_by_its_kind_and_place() -> None:
    write = shown(place="messages[1].content", seen=["result"])
    made = campaign(outcome(1, write, path="stream"), outcome(0, shown()))
    [found] = made.report([])["findings"]
    assert (found["counts"]["text"], found["paths"]) == ("2 of 2", ["generate", "stream"])
    assert (found["seen"], found["place"]) == (["caller", "result"], "messages[0].content")
    assert [each.first for each in made.found.values()] == [1]  # the smaller one


def test_a_write_with_an_effect_in_one_conversation_and_none_in_another_is_one_finding() -> None:
    elsewhere = shown("harmless-write", "messages[0].note", seen=[])
    made = campaign(outcome(0, shown(), elsewhere), outcome(1, shown("harmless-write", seen=[])))
    assert [(each["kind"], each["place"]) for each in made.report([])["findings"]] == [
        ("write", "messages[0].content"),
        ("harmless-write", "messages[0].note"),
    ]


def test_writes_of_one_line_are_joined_with_all_their_places_and_conversations() -> None:
    note = shown(place="messages[0].note", seen=["result"])
    made = campaign(outcome(0, shown()), outcome(1, shown(), note), outcome(2, note, path="stream"))
    for found in made.found.values():
        found.smallest = ({**found.shown, "line": LINE}, None)
    made.join()
    [one] = made.report([])["findings"]
    assert one["places"] == ["messages[0].content", "messages[0].note"]
    assert (one["counts"]["text"], one["seen"], one["paths"]) == (
        "3 of 3",
        ["caller", "result"],
        ["generate", "stream"],
    )


def test_a_process_that_ended_is_a_finding_with_its_conversation() -> None:
    report = campaign(outcome(0), ended=(Ended("killed", "by SIGKILL", 3),)).report([])
    [found] = report["findings"]
    assert (found["kind"], found["cause"], found["test"]) == ("raises", "killed", None)
    assert found["message"] == "hook ends the process: by SIGKILL"
    assert found["conversation"] is not None
    assert (report["exit"], report["conversations"]["run"]) == (1, 2)


MESSAGES: Final = {
    "write": "hook writes messages[0].content; seen in caller",
    "accumulates": "hook adds 'b' again at each call, and the framework keeps it: c1",
    "raises": "hook raises c1",
    "cuts-pair": "hook parts calls from their results: c1",
    "loses-request": "hook takes the user's request out of the prompt of step 2",
    "harmless-write": "hook writes messages[0].content; in this release nobody sees that",
    "not-isolated": "hook writes messages[0].content through a handle; nobody is seen to see that",
    "undetermined": "hook cannot be judged in full: c1",
    "opaque": "hook puts objects into the conversation that cannot be looked into: c1",
    "not-idempotent": "hook changes what it returned when it is applied to that",
}


def told(kind: str, **fields: Any) -> Json:
    found = Found(kind, fields.pop("cause", None))
    found.add(outcome(0), shown(kind, **fields))
    about = {"framework": "f", "at": "a", "hook": "hooks.py#hook", "attribute": "hook"}
    return finding(found, 1, **about, factory=False, counts=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_finding_of_each_kind_says_what_it_is_and_what_to_do(kind: str) -> None:
    found = told(kind)
    assert found["message"] == MESSAGES[kind]
    assert found["remedy"]
    assert found["fingerprint"] == f"{kind}:hook:a:messages[*].content"


def test_what_to_do_about_an_error_depends_on_its_cause() -> None:
    remedies = {cause: told("raises", cause=cause)["remedy"] for cause in ("throws", "hangs", "refused")}
    assert len({*remedies.values()}) == 3
    assert "--time-limit" in remedies["hangs"]
    called = told("raises", cause="throws", said="TypeError: hook() takes 1 positional argument")
    assert "say --factory" in called["remedy"]


# ---------------------------------------------------------------- how it is shown


def test_a_finding_that_does_not_count_says_why_as_text_and_as_sarif() -> None:
    report = campaign(outcome(0, shown())).report([])
    [found] = report["findings"]
    found["counts_for_verdict"] = False
    assert "  fault  write  (does not count)" in text(report)
    [result] = json.loads(sarif(report))["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "left out by --kinds"}]
    found["suppressed"] = {"for": "ai<7", "reason": "the loop copies soon"}
    assert "  fault  write  (suppressed for ai<7: the loop copies soon)" in text(report)
    [result] = json.loads(sarif(report))["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "inSource", "justification": "the loop copies soon"}]


def test_a_finding_has_a_place_in_sarif_as_far_as_it_is_known() -> None:
    report = campaign(outcome(0, shown())).report([])

    def locations() -> Any:
        [result] = json.loads(sarif(report))["runs"][0]["results"]
        return result.get("locations")

    assert locations() == [{"physicalLocation": {"artifactLocation": {"uri": "hooks.py"}}}]
    report["findings"][0]["line"] = LINE
    physical = {"artifactLocation": {"uri": "/hooks.py"}, "region": {"startLine": 3}}
    assert locations() == [{"physicalLocation": physical}]
    report["findings"][0]["line"] = report["hook"]["file"] = None
    assert locations() is None


def test_a_suppression_that_is_not_used_is_told_with_what_to_do() -> None:
    report = campaign(outcome(0)).report([Suppression("opaque", "ai", "a reason", "hooks.py", 7)])
    assert "\nhooks.py:7: this suppression of opaque is unused; take it out\n" in text(report)
