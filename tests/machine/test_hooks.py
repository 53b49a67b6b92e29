from __future__ import annotations

import itertools
from typing import Any, cast

import attrs
import pytest
from hypothesis import given

import strategies
from agentcore.errors import InvalidOverrideError, InvalidPromptError
from agentcore.machine.hooks import NO_OVERRIDE, StepOverride, merge_provider_options, tool_choice
from agentcore.messages.chains import system_prompt
from agentcore.messages.messages import AssistantMessage, SystemMessage, UserMessage
from agentcore.messages.values import FrozenDict, JsonObject, canonical_json, freeze, thaw, vector
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule
from rulebook import states

SEVEN = {
    "model": "m",
    "system": "s",
    "messages": [UserMessage("u")],
    "active_tools": ["t"],
    "tool_choice": "required",
    "provider_options": {"p": {"k": 1}},
    "experimental_context": {"n": 1},
}


@states(Rule.OVERRIDE_ABSENT)
def test_nothing_and_fields_of_none_are_no_override() -> None:
    assert StepOverride.from_result(None) is NO_OVERRIDE
    assert StepOverride.from_result({}) == NO_OVERRIDE
    assert StepOverride.from_result(dict.fromkeys(SEVEN)) == NO_OVERRIDE


def test_the_seven_fields_are_frozen_and_kept() -> None:
    override = StepOverride.from_result(SEVEN)
    assert StepOverride.from_result(override) is override
    assert override == StepOverride(
        model="m",
        system="s",
        messages=[UserMessage("u")],
        active_tools=("t",),
        tool_choice={"type": "required"},
        provider_options={"p": {"k": 1}},
        experimental_context={"n": 1},
    )
    assert hash(override) == hash(StepOverride.from_result(SEVEN))


@states(Difference.OVERRIDES_CHECKED)
@pytest.mark.parametrize(
    ("result", "path"),
    [
        (7, "$"),
        ({"activeTools": []}, "$.activeTools"),
        ({"temperature": 0}, "$.temperature"),
        ({"model": 1}, "$.model"),
        ({"system": 1}, "$.system"),
        ({"system": [UserMessage("u")]}, "$.system[0]"),
        ({"messages": "text"}, "$.messages"),
        ({"messages": 1}, "$.messages"),
        ({"messages": {}}, "$.messages"),
        ({"messages": [UserMessage("u"), {"role": "user"}]}, "$.messages[1].content"),
        ({"model_settings": 1}, "$.model_settings"),
        ({"model_settings": {"k": {1}}}, "$.model_settings.k"),
        ({"active_tools": "t"}, "$.active_tools"),
        ({"active_tools": 1}, "$.active_tools"),
        ({"active_tools": [1]}, "$.active_tools"),
        ({"tool_choice": "maybe"}, "$.tool_choice"),
        ({"tool_choice": 1}, "$.tool_choice"),
        ({"provider_options": [1]}, "$.provider_options"),
        ({"provider_options": {"p": {"k": {1}}}}, "$.provider_options.p.k"),
        ({"experimental_context": object()}, "$.experimental_context"),
    ],
)
def test_what_is_no_override_is_refused_with_its_place(result: object, path: str) -> None:
    with pytest.raises(InvalidOverrideError) as refused:
        StepOverride.from_result(result)
    assert refused.value.path == path


def test_an_unknown_field_is_answered_with_the_seven() -> None:
    with pytest.raises(InvalidOverrideError) as refused:
        StepOverride.from_result({"max_tokens": 1})
    assert all(name in refused.value.reason for name in SEVEN)


def test_instructions_have_three_forms() -> None:
    message = SystemMessage("s")
    assert system_prompt(None) is None
    assert system_prompt("") == ""
    assert system_prompt(message) is message
    assert system_prompt([message]) == vector([message])
    for wrong in (1, [AssistantMessage("a")]):
        with pytest.raises(InvalidPromptError):
            system_prompt(cast("Any", wrong))


@pytest.mark.parametrize(
    ("given_as", "choice"),
    [
        (None, None),
        ("auto", {"type": "auto"}),
        ({"type": "none"}, {"type": "none"}),
        ({"type": "tool", "toolName": "t"}, {"type": "tool", "toolName": "t"}),
    ],
)
def test_a_tool_choice_is_kept_as_models_are_given_it(given_as: Any, choice: Any) -> None:
    assert tool_choice(given_as) == freeze(choice)


@pytest.mark.parametrize(
    "wrong", [{}, {"type": "tool"}, {"type": "tool", "toolName": 1}, {"type": "auto", "x": 1}, "tool"]
)
def test_another_tool_choice_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidOverrideError):
        tool_choice(wrong)


# ---------------------------------------------------------------- merging


def merged(base: object, override: object) -> Any:
    result = merge_provider_options(cast("JsonObject", freeze(base)), cast("JsonObject", freeze(override)))
    return thaw(result)


@states(Rule.OVERRIDE_OPTIONS_MERGED)
def test_objects_merge_key_by_key_and_everything_else_replaces() -> None:
    base = {"p": {"a": {"x": 1, "y": [1, 2]}, "b": 2, "n": {"k": 1}}, "q": {"z": 0}}
    override = {"p": {"a": {"y": [3]}, "b": {"deep": 1}, "n": None, "new": True}}
    result = merged(base, override)
    assert result == {"p": {"a": {"x": 1, "y": [3]}, "b": {"deep": 1}, "n": None, "new": True}, "q": {"z": 0}}
    assert list(result["p"]) == ["a", "b", "n", "new"]


def test_merging_with_nothing_gives_the_other() -> None:
    options = cast("JsonObject", freeze({"p": {}}))
    assert merge_provider_options(None, None) is None
    assert merge_provider_options(options, None) is options
    assert merge_provider_options(None, options) is options


def test_branches_that_are_not_touched_are_shared() -> None:
    base = cast("JsonObject", freeze({"p": {"a": {"x": 1}, "b": {"y": 2}}}))
    override = cast("JsonObject", freeze({"p": {"a": {"z": {"new": 3}}}}))
    result = cast("Any", merge_provider_options(base, override))
    assert result["p"]["b"] is cast("Any", base)["p"]["b"]
    assert result["p"]["a"]["z"] is cast("Any", override)["p"]["a"]["z"]


def test_options_that_nest_deeper_than_pythons_stack_merge() -> None:
    deep: JsonObject = FrozenDict({"leaf": 1})
    for _ in range(5000):
        deep = FrozenDict({"k": deep})
    assert canonical_json(merge_provider_options(deep, deep)) == canonical_json(deep)


def by_definition(base: Any, override: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(override, dict):
        return override
    keys = dict.fromkeys(itertools.chain(base, override))
    return {
        key: by_definition(base.get(key), override[key]) if key in override else base[key] for key in keys
    }


@given(strategies.json_objects, strategies.json_objects)
def test_merging_is_its_recursive_definition(base: dict[str, Any], override: dict[str, Any]) -> None:
    frozen_base, frozen_override = freeze(base), freeze(override)
    assert merged(base, override) == by_definition(thaw(frozen_base), thaw(frozen_override))
    assert freeze(base) == frozen_base


def test_an_override_has_exactly_seven_fields_and_three_of_our_own() -> None:
    assert [each.name for each in attrs.fields(StepOverride)] == [
        *("model", "system", "messages", "active_tools", "tool_choice", "provider_options"),
        *("experimental_context", "lasting_messages", "response_format", "model_settings"),
    ]


@pytest.mark.parametrize("value", [{}, {"type": "xml"}, "json", {"type": "json", "schema": {1}}])
def test_a_response_format_is_text_or_json(value: Any) -> None:
    with pytest.raises(InvalidOverrideError) as caught:
        StepOverride.from_result({"response_format": value})
    assert str(caught.value.path).startswith("$.response_format")


def test_lasting_messages_are_checked_as_messages_are() -> None:
    with pytest.raises(InvalidOverrideError) as caught:
        StepOverride.from_result({"lasting_messages": [UserMessage("u"), "x"]})
    assert caught.value.path == "$.lasting_messages[1]"


def test_an_override_that_is_made_directly_names_its_model_by_a_text() -> None:
    name: Any = 7
    with pytest.raises(InvalidOverrideError, match=r"\$\.model: use the model's id, a text"):
        StepOverride(model=name)
