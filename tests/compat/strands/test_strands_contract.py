"""The contract of the contexts: as a table of facts, as the profiles' data, and as handlers see it."""

from __future__ import annotations

from typing import Any, Final

import attrs
import pytest

from agentcore.compat.depth import CopyDepth
from agentcore.compat.strands.contract import contract
from agentcore.compat.strands.profiles import PROFILES
from agentcore.oracle.strands.reference import Recording
from compat.strands.strands_scene import ALL, BEFORE, NOW, PYTHON, Json, op, put, says, traced, uses, wrap

# Before, now and in Python, as measured on the packages.
TABLE: Final = {
    "model messages": ("share", "deep", "deep"),
    "model system, a text": ("value", "value", "deep"),
    "model system, a list": ("share", "deep", "deep"),
    "model system, guarded content": ("share", "shallow", "deep"),
    "model toolSpecs": ("shallow", "deep", "deep"),
    "model toolChoice": ("share", "deep", "deep"),
    "model modelState": ("share", "absent", "absent"),
    "model invocationState": ("share", "share", "share"),
    "tool toolUse": ("shallow", "deep", "shallow"),
    "tool invocationState": ("share", "share", "share"),
    "stream args, messages": ("share", "share", "share"),
    "stream args, blocks": ("share", "share", "shallow"),
    "stream args, a text": ("value", "value", "deep"),
    "stream options, with a state": ("share", "share", "absent"),
    "stream options, without": ("shallow", "shallow", "absent"),
    "stream invocationState": ("share", "share", "share"),
    "result of any stage": ("share", "share", "share"),
}

COLUMNS: Final = tuple(enumerate(ALL))
IDENTITY: Final = op("identity")
GUARDED: Final = {"guardContent": {"text": {"text": "careful", "qualifiers": ["query"]}}}
MESSAGE: Final = {"role": "user", "content": [{"text": "hi"}], "metadata": {"custom": {"a": 1}}}
TOOL: Final = {"script": [[uses(q={"a": 1})]], "tools": {"look": {"output": "seen"}}}
STATE: Final = {"invocationState": {"mine": {"a": 1}}}

# A program that shows a row, the stage, and the field of it.
SHOWN: Final[dict[str, tuple[str, str, Json]]] = {
    "model messages": ("model", "messages", {"messages": [MESSAGE]}),
    "model system, a text": ("model", "system", {"system": "be good"}),
    "model system, a list": ("model", "system", {"system": [{"text": "be"}, {"cachePoint": {"type": "x"}}]}),
    "model system, guarded content": ("model", "system", {"system": [GUARDED]}),
    "model toolSpecs": ("model", "toolSpecs", TOOL),
    "model modelState": ("model", "modelState", {"modelState": {"a": 1}}),
    "model invocationState": ("model", "invocationState", STATE),
    "tool invocationState": ("tool", "invocationState", {**TOOL, **STATE}),
    "stream args, messages": ("stream", "args", {"input": [MESSAGE]}),
    "stream args, blocks": ("stream", "args", {"input": [{"text": "hi"}]}),
    "stream args, a text": ("stream", "args", {"input": "hi"}),
    "stream options, with a state": ("stream", "options", {**STATE, "options": {"note": {"a": 1}}}),
    "stream options, without": ("stream", "options", {"options": {"note": {"a": 1}}}),
    "stream invocationState": ("stream", "invocationState", STATE),
}


@pytest.mark.parametrize(("column", "profile"), COLUMNS)
def test_the_table_follows_from_the_profile(column: int, profile: str) -> None:
    assert dict(contract(PROFILES[profile])) == {row: words[column] for row, words in TABLE.items()}


@pytest.mark.parametrize("row", sorted(SHOWN))
@pytest.mark.parametrize(("column", "profile"), COLUMNS)
def test_a_handler_sees_what_the_table_says(row: str, column: int, profile: str) -> None:
    stage, field, program = SHOWN[row]
    trace = traced(profile, **program, middleware=[wrap(stage, IDENTITY)])
    shown = trace["identity"][0]["fields"].get(field, {"mode": "absent"})
    assert shown["mode"] == TABLE[row][column]


@pytest.mark.parametrize(("column", "profile"), COLUMNS)
def test_the_tool_use_of_the_tool_stage_is_as_new_as_the_table_says(column: int, profile: str) -> None:
    trace = traced(profile, **TOOL, middleware=[wrap("tool", IDENTITY)])
    shown = trace["identity"][0]["fields"]["toolUse"]
    assert shown["mode"] == TABLE["tool toolUse"][column]
    if shown["mode"] == "shallow":
        assert shown["paths"] == [["toolUse", "input"]]


@pytest.mark.parametrize(("profile", "kept"), [(BEFORE, "changed"), (NOW, None), (PYTHON, None)])
def test_a_forced_tool_choice_is_the_loops_own_only_before(profile: str, kept: str | None) -> None:
    edit = put("toolChoice", "by", value="changed", when=1)
    script = [says("no"), [uses("strands_structured_output", name=1)], says("no")]
    trace = traced(profile, structuredOutput=True, script=script, middleware=[wrap("model", edit)])
    assert [call["toolChoice"] and call["toolChoice"].get("by") for call in trace["calls"]][:3] == [
        None,
        "changed",
        kept,
    ]


@pytest.mark.parametrize("profile", ALL)
def test_the_result_that_an_output_handler_has_is_the_real_one(profile: str) -> None:
    edit = put("message", "content", 0, "text", value="changed")
    handler = {"stage": "model", "phase": "output", "ops": [edit]}
    trace = traced(profile, script=[says("said")], middleware=[handler])
    assert trace["agentMessages"][-1]["content"] == says("changed")
    assert trace["results"][0]["lastMessage"]["content"] == says("changed")


def _leaks(depth: CopyDepth, *path: Any) -> bool:
    """Whether an edit of the model stage's messages is in the history, if they are copied so deep."""
    profile = PROFILES[NOW]
    shallow = attrs.evolve(profile, model_copies=attrs.evolve(profile.model_copies, messages=depth))
    history = [
        {"role": "user", "content": [{"text": "x"}]},
        {"role": "assistant", "content": [uses(a={"b": 1})]},
    ]
    program: Json = {"messages": history, "middleware": [wrap("model", put(*path, value="leak"))]}
    return "leak" in str(Recording(shallow, program).trace()["agentMessages"])


@pytest.mark.parametrize(
    ("path", "first_depth"),
    [
        (("messages", 0, "content", 0, "text"), CopyDepth.PART),
        (("messages", 0, "metadata", "custom"), CopyDepth.MESSAGE),
        (("messages", 1, "content", 0, "toolUse", "name"), CopyDepth.PART),
        (("messages", 1, "content", 0, "toolUse", "input", "a"), CopyDepth.DEEP),
    ],
)
def test_each_depth_protects_what_is_new_at_it(path: tuple[Any, ...], first_depth: CopyDepth) -> None:
    assert next(depth for depth in CopyDepth if not _leaks(depth, *path)) is first_depth
