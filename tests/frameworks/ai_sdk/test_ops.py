"""Ops as JavaScript would run them, on views of a heap; each expected text is what Node gives."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks.ai_sdk.reference import trace


def prepared(*ops: Any, message: Any = "hi") -> Any:
    """What the model is shown, and the op errors, after ops of prepareStep."""
    program = {
        "id": 1,
        "path": "generate",
        "messages": [{"role": "user", "content": message}],
        "script": [[]],
        "hooks": {"prepareStep": [list(ops)]},
    }
    return trace(program)


@pytest.mark.parametrize(
    ("added", "text"),
    [
        ("!", "hi!"),
        (1, "hi1"),
        (2.5, "hi2.5"),
        (1e-7, "hi1e-7"),
        (None, "hinull"),
        (True, "hitrue"),
        ({"a": 1}, "hi[object Object]"),
        (["a", None, ["b", "c"], {}], "hia,,b,c,[object Object]"),
    ],
)
def test_what_is_appended_to_a_text_becomes_text(added: Any, text: str) -> None:
    result = prepared({"append": ["messages", 0, "content"], "with": added})
    assert result["caller"][0]["content"] == text


def test_a_kept_reference_cannot_be_assigned_itself() -> None:
    assert len(prepared({"set": ["$caller"], "to": []})["opErrors"]) == 1


@pytest.mark.parametrize(
    ("stages", "error"),
    [
        (["copy"], "AI_InvalidMessageRoleError"),
        ([{"append": []}], "AI_InvalidMessageRoleError"),
        ([{"slice": [0]}], "TypeError"),
        ([{"keepRoles": ["user"]}], "TypeError"),
        (["clone"], "TypeError"),
        ([{"literal": [{"role": "user", "content": "new"}]}], None),
    ],
)
def test_stages_on_a_text_in_place_of_messages(stages: Any, error: str | None) -> None:
    result = prepared({"set": ["messages"], "to": "ab"}, {"return": {"messages": stages}})
    assert (result["error"] and result["error"]["name"]) == error


def test_a_list_with_a_null_in_it_has_no_roles_to_filter_by() -> None:
    filtered = {"return": {"messages": [{"dropRoles": ["user"]}]}}
    result = prepared({"append": ["messages"], "with": None}, filtered)
    assert result["error"]["name"] == "TypeError"


def test_replacing_an_element_that_is_no_object_gives_the_fields_alone() -> None:
    replaced = {"replace": {"at": 1, "with": {"role": "user", "content": "new"}}}
    result = prepared({"append": ["messages"], "with": 1}, {"return": {"messages": [replaced]}})
    assert result["steps"][0]["prompt"][1]["content"] == [{"type": "text", "text": "new"}]


def test_appending_to_what_is_neither_list_nor_text_throws() -> None:
    assert prepared({"append": ["messages", 0], "with": 1})["error"]["name"] == "TypeError"
