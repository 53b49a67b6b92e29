"""Settings and answers of models that no run can have, in every family: who gave them and where."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pytest

from agentcore.frameworks import ai_sdk, mastra, strands
from agentcore.frameworks.ai_sdk import HostValueError
from heap.test_host_values import (
    CALL,
    HI,
    PYTHON,
    TEXT,
    ai_settings,
    giving,
    mastra_settings,
    strands_settings,
)

ANSWERS: Final[list[tuple[Any, str]]] = [
    (None, "$: None; give a list"),
    ("text", "$: 'text'; give a list"),
    (7, "$: a int; give a list"),
    ([7], "$[0]: a int; give"),
    ([None], "$[0]: None; give"),
]


@pytest.mark.parametrize(("answer", "text"), ANSWERS, ids=repr)
def test_an_answer_that_is_none_is_raised_with_its_place(answer: Any, text: str) -> None:
    answering = giving(answer)
    runs: list[Callable[[], object]] = [
        lambda: ai_sdk.run("ai-sdk-7/stream", ai_settings(1, model=ai_sdk.Model(id="m", answer=answering))),
        lambda: mastra.run("mastra@1.0.4", mastra_settings(1, model=mastra.Model("m", answering))),
        lambda: strands.run(PYTHON, strands_settings(1, model=strands.Model(answer=answering))),
    ]
    for run in runs:
        with pytest.raises(HostValueError) as caught:
            run()
        assert str(caught.value).startswith(f"model: {text}")


def test_parts_and_blocks_of_an_answer_are_json() -> None:
    parts: list[tuple[dict[str, Any], str]] = [
        ({"type": "text", "text": b"a"}, "$[0].text"),
        ({**CALL, "input": {"v": {1}}}, "$[0].input.v"),
        ({**TEXT, "providerMetadata": {"p": Decimal(1)}}, "$[0].providerMetadata.p"),
    ]
    for part, path in parts:
        with pytest.raises(HostValueError) as caught:
            ai_sdk.run("ai-sdk-6/generate", ai_settings(1, model=ai_sdk.Model.scripted([part])))
        assert (caught.value.source, caught.value.path) == ("model", path)
    with pytest.raises(HostValueError, match=r"model: \$\[0\]\.text: "):
        strands.run(PYTHON, strands_settings(1, model=strands.Model.scripted([{"text": {1}}])))


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "odd"}, "$[0].type: 'odd'; give text, reasoning or tool-call"),
        ({"type": "text"}, "$[0].text: None; give a text"),
        ({**CALL, "toolCallId": 1}, "$[0].toolCallId: a int; give a text"),
    ],
)
def test_a_part_of_mastra_is_one_that_its_model_could_send(part: Any, text: str) -> None:
    with pytest.raises(HostValueError) as caught:
        mastra.run("mastra@1.71.0", mastra_settings(1, model=mastra.Model("m", giving([part]))))
    assert str(caught.value) == f"model: {text}"


SETTINGS: Final[dict[str, tuple[Callable[[], object], str]]] = {
    "no messages": (lambda: ai_settings(1, messages=None), "$.messages: None; give a list of messages"),
    "a text": (lambda: ai_settings(1, messages="hi"), "$.messages: 'hi'; give a list of messages"),
    "one message": (lambda: ai_settings(1, messages=HI), "$.messages: a dict; give a list of messages"),
    "a name": (lambda: ai_settings(1, model="gpt"), "$.model: 'gpt'; give a Model"),
    "a list of tools": (
        lambda: ai_settings(1, tools=[]),
        "$.tools: a list; give a mapping from names to a Tool",
    ),
    "a function": (
        lambda: ai_settings(1, tools={"look": len}),
        "$.tools.look: a builtin_function_or_method; give",
    ),
    "options": (lambda: ai_settings(1, options=None), "$.options: None; give a mapping"),
    "hooks": (lambda: ai_settings(1, hooks={}), "$.hooks: a dict; give Hooks"),
    "no messages of Mastra": (lambda: mastra_settings(1, messages=None), "$.messages: None; give a list"),
    "no processors": (lambda: mastra_settings(1, processors=None), "$.processors: None; give a list"),
    "no inputs": (lambda: strands_settings(1, inputs=None), "$.inputs: None; give a list of inputs"),
    "no tools": (
        lambda: strands_settings(1, tools=None),
        "$.tools: None; give a mapping from names to a Tool",
    ),
    "a message": (
        lambda: ai_sdk.run("ai-sdk-6/stream", ai_settings(1, messages=[{1}])),
        "$.messages[0]: a set",
    ),
    "an option": (
        lambda: ai_sdk.run("ai-sdk-6/stream", ai_settings(1, options={"providerOptions": {"v": {1}}})),
        "$.options.providerOptions.v: a set",
    ),
    "a system prompt": (lambda: ai_sdk.run("ai-sdk-6/stream", ai_settings(1, system={1})), "$.system: a set"),
    "a context": (
        lambda: mastra.run("mastra@1.71.0", mastra_settings(1, context=[{1}])),
        "$.context[0]: a set",
    ),
    "instructions": (
        lambda: mastra.run("mastra@1.71.0", mastra_settings(1, instructions={1})),
        "$.instructions: a set",
    ),
    "a history": (lambda: strands.run(PYTHON, strands_settings(1, messages=[{1}])), "$.messages[0]: a set"),
    "a model's state": (
        lambda: strands.run(PYTHON, strands_settings(1, model_state={"v": {1}})),
        "$.model_state.v: a set",
    ),
    "a state": (
        lambda: strands.run(PYTHON, strands_settings(1, invocation_state={"v": {1}})),
        "$.invocation_state.v: a set",
    ),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_that_no_run_can_have_are_refused_by_name(setting: str) -> None:
    make, text = SETTINGS[setting]
    with pytest.raises(HostValueError) as caught:
        make()
    assert str(caught.value).startswith(f"settings: {text}")
