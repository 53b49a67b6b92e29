from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from agentcore.heap.boundary_log import Alias, aliases
from agentcore.heap.heap import Store
from agentcore.heap.pollution import Verdict
from agentcore.kit.families import PROFILE_NAMES, UnknownProfileError, family_of
from agentcore.kit.program import BadProgram
from agentcore.oracle.reports.explain import Boundary, Explanation, ExplanationError, Writing, explain
from kit.installed import installed
from oracle import toy_family

Json = dict[str, Any]

HI: Json = {"role": "user", "content": "hi"}
CALL: Json = {"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {"a": 1}}
DONE: Json = {"type": "text", "text": "done"}


def program(**fields: Any) -> Json:
    plain: Json = {
        "id": "a",
        "path": "generate",
        "messages": [HI],
        "script": [[CALL], [DONE]],
        "tools": {"look": {"output": {"b": 1}}},
    }
    return plain | fields


WRITING = program(
    hooks={
        "prepareStep": [
            [
                {"append": ["messages", 0, "content"], "with": "!"},
                {"append": ["messages"], "with": {"role": "user", "content": "pushed"}},
            ]
        ]
    }
)


def names(found: tuple[Alias, ...]) -> list[str]:
    return [" = ".join(alias.paths) for alias in found]


def at(found: Explanation, step: int, name: str) -> Boundary:
    (boundary,) = (one for one in found.steps[step].boundaries if one.name == name)
    return boundary


# ---------------------------------------------------------------- boundaries


def test_each_boundary_is_told_with_what_it_handed_out_in_the_order_of_the_run() -> None:
    found = explain(WRITING, "ai-sdk-6/generate")
    told = [[event.name for event in step.boundaries] for step in found.steps]
    assert told == [
        ["prepareStep", "model", "execute", "execute.input", "onStepFinish"],
        ["prepareStep", "model", "onStepFinish"],
    ]
    assert at(found, 0, "prepareStep").value["messages"] == [HI]
    assert at(found, 0, "model").value["prompt"][0]["content"] == [{"type": "text", "text": "hi!"}]
    assert at(found, 0, "execute.input").value == {"a": 1}


def test_a_write_stands_between_what_was_handed_out_before_and_after_it() -> None:
    (first, *_) = explain(WRITING, "ai-sdk-6/generate").steps
    kinds = [type(event) for event in first.events[:4]]
    assert kinds == [Boundary, Writing, Writing, Boundary]


def test_what_is_handed_out_twice_in_a_step_is_told_apart() -> None:
    twice = program(script=[[CALL, {**CALL, "toolCallId": "c1"}], [DONE]])
    (first, *_) = explain(twice, "ai-sdk-6/stream").steps
    told = [one.name for one in first.boundaries if one.name.startswith("execute")]
    assert told == ["execute", "execute.input", "execute (2)", "execute.input (2)"]


# ---------------------------------------------------------------- names of one object


def test_objects_with_several_names_are_told_and_what_follows_is_not() -> None:
    store = Store()
    message = store.load({"content": ["text"]})
    mine, yours = store.array([message]), store.array([message, message])
    found = aliases(store.heap(), {"mine": mine, "same": mine, "yours": yours})
    assert names(found) == ["mine = same", "mine[0] = yours[0] = yours[1]"]
    assert found[0].holders == {"mine", "same"}


def test_an_object_inside_itself_is_an_alias() -> None:
    store = Store()
    loop = store.object({})
    store.put(loop, "self", loop)
    assert names(aliases(store.heap(), {"a": loop, "none": None})) == ["a = a.self"]


def test_the_alias_picture_is_that_of_the_profile() -> None:
    six, seven = (at(explain(WRITING, f"ai-sdk-{one}/generate"), 0, "prepareStep") for one in (6, 7))
    assert names(six.aliases) == ["caller[0] = prepareStep.messages[0]", "report = prepareStep.steps"]
    assert "response chain = prepareStep.messages" in names(seven.aliases)
    (first, *_) = explain(WRITING, "ai-sdk-6/generate").steps
    assert "caller = initial chain" in names(first.aliases)


# ---------------------------------------------------------------- writes


def test_a_write_is_followed_to_every_boundary_that_shows_it() -> None:
    changed, pushed = explain(WRITING, "ai-sdk-6/generate").writes
    assert changed.objects == ("caller[0]", "initial chain[0]", "prepareStep.messages[0]")
    assert changed.shown == ((0, "model"), (0, "execute"), (1, "prepareStep"), (1, "model"))
    assert changed.finding.first_seen == 1
    assert changed.step == 0
    assert pushed.finding.verdict is Verdict.EPHEMERAL
    assert pushed.shown == ((0, "model"), (0, "execute"))


def test_what_was_handed_out_before_a_write_does_not_show_it() -> None:
    late = program(hooks={"onStepFinish": [[{"set": ["content", 0, "input", "a"], "to": 2}]]})
    (write,) = explain(late, "ai-sdk-6/stream").writes
    assert write.shown[0] == (1, "prepareStep")


# ---------------------------------------------------------------- refusals


def test_the_immutable_core_refuses_writes_and_says_so() -> None:
    found = explain(WRITING, "immutable")
    assert found.writes == ()
    (refusal,) = found.refusals
    assert (refusal.where, refusal.op, refusal.path) == ("step 0, prepareStep", 0, ("messages", 0, "content"))
    assert found.error["name"] == "ImmutableWriteError"
    assert "refused where it is made" in found.notes[0]
    assert at(found, 0, "prepareStep").value["messages"] == [HI]
    with pytest.raises(ExplanationError, match="nothing to draw under immutable"):
        found.picture()


def test_a_frozen_message_refuses_too() -> None:
    (refusal,) = explain(WRITING | {"frozen": True}, "ai-sdk-6/generate").refusals
    assert "frozen" in refusal.reason


# ---------------------------------------------------------------- all profiles


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_a_program_of_any_profile_is_explained_and_is_json_and_its_trace_stays_the_same(profile: str) -> None:
    family = family_of(profile)
    writes = 0
    # Two programs, and more until one of them writes.
    for number, one in enumerate(family.programs(range(2, 24), profile)):
        if number >= 2 and (writes or profile == "immutable"):
            break
        before = family.trace(one, profile)
        found = explain(one, profile)
        assert json.loads(json.dumps(found.to_json()))["profile"] == profile
        assert any(step.boundaries for step in found.steps) or before.get("error") is not None
        assert family.trace(one, profile) == before
        writes += len(found.writes)
        told = sum("write" in event for step in found.to_json()["steps"] for event in step["events"])
        assert told == len(found.writes)
    assert (writes > 0) == (profile != "immutable")


def test_what_a_family_does_not_record_is_said() -> None:
    (one,) = family_of("mastra@1.71.0").programs([1], "mastra@1.71.0")
    assert explain(one, "mastra@1.71.0").notes == (
        "Ops that an object refuses are not recorded for this family.",
    )
    assert explain(WRITING, "ai-sdk-6/stream").notes == ()


def test_what_a_package_lacks_is_told() -> None:
    told = {"id": "a", "hooks": [{"on": "modelDelta", "ops": []}]}
    with pytest.raises(ExplanationError, match=r"strands-py@1\.62\.0 cannot run the program"):
        explain(told, "strands-py@1.62.0")


def test_what_is_no_program_and_no_profile_is_refused() -> None:
    with pytest.raises(BadProgram):
        explain({"id": "a"}, "ai-sdk-6/stream")
    with pytest.raises(UnknownProfileError):
        explain(WRITING, "ai-sdk-5/stream")


def test_a_family_whose_runs_cannot_be_looked_into_says_so() -> None:
    with installed(toy_family.ENTRY), pytest.raises(ExplanationError, match="cannot be looked into"):
        explain({"id": "a", "numbers": [1]}, "toy-1")


def test_a_run_that_builds_what_is_too_deep_is_refused() -> None:
    options = ["messages", 0, "providerOptions"]
    ops: list[Json] = [{"set": options, "to": {}}]
    # As deep as a value may be, and one level more in the list that holds it.
    for levels in (100, 100, 100, 83):
        deeper: Json = {"$ref": options}
        for _ in range(levels):
            deeper = {"a": deeper}
        ops.append({"set": options, "to": deeper})
    grown = program(hooks={"prepareStep": [ops]})
    with pytest.raises(ExplanationError, match="built what cannot be shown"):
        explain(grown, "ai-sdk-6/stream")


# ---------------------------------------------------------------- pictures


def test_the_picture_has_each_step_with_the_written_objects_rimmed() -> None:
    svg = explain(WRITING, "ai-sdk-6/generate").picture().svg
    assert "onStepFinish, step 0" in svg
    assert "onStepFinish, step 1" in svg
    assert "#c00000" in svg
    assert svg == explain(WRITING, "ai-sdk-6/generate").picture().svg


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agentcore.heap.pictures", None)
    with pytest.raises(ExplanationError, match=r"agentcore-reference\[pictures\]"):
        explain(WRITING, "ai-sdk-6/generate").picture()
