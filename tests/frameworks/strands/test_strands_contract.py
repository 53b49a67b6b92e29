"""The contract of the contexts: as a table of facts, as the profiles' data, and as handlers see it."""

from __future__ import annotations

from typing import Any, Final

import attrs
import pytest

from agentcore.frameworks.strands.emulation.agent import contract
from agentcore.frameworks.strands.profiles import PROFILES
from agentcore.frameworks.strands.reference import Recording
from agentcore.heap.copying import CopyDepth
from frameworks.strands.strands_scene import (
    ALL,
    BEFORE,
    LOOK,
    NOW,
    PYTHON,
    Json,
    op,
    put,
    says,
    traced,
    uses,
    wrap,
)
from spec.crossings_strands import contexts

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


@pytest.mark.parametrize(("column", "profile"), COLUMNS)
def test_the_table_follows_from_the_profile(column: int, profile: str) -> None:
    assert dict(contract(PROFILES[profile])) == {row: words[column] for row, words in TABLE.items()}


@pytest.mark.parametrize(("column", "profile"), COLUMNS)
def test_handlers_see_what_the_table_says(column: int, profile: str) -> None:
    assert contexts(profile) == {row: words[column] for row, words in TABLE.items()}


@pytest.mark.parametrize("profile", [BEFORE, PYTHON])
def test_of_a_shallow_tool_use_the_input_is_the_agents_own(profile: str) -> None:
    trace = traced(profile, script=[[uses(q=1)]], tools=LOOK, middleware=[wrap("tool", op("identity"))])
    assert trace["identity"][0]["fields"]["toolUse"] == {"mode": "shallow", "paths": [["toolUse", "input"]]}


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
