"""The guide from one version of the AI SDK to the next says what its programs, profiles and advice say now.

Its examples are run with all others; the whole of it is made again by the command that it shows.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import pytest

from agentcore.compat.ai_sdk.profiles import PROFILES, AiSdkProfile
from agentcore.compat.documented import fields_of, told
from agentcore.oracle.causes import Pair, pair_of
from agentcore.oracle.changes import compare
from agentcore.oracle.examples import Example, examples
from agentcore.oracle.guide import advice_of
from agentcore.oracle.sides import side
from spec.requirements import SPEC

PAGE: Final = SPEC / "migrate-ai-sdk-6-to-7.md"
ADVICE: Final = SPEC / "migrate-ai-sdk-6-to-7.advice.json"
SIX, SEVEN = side("ai-sdk-6/generate"), side("ai-sdk-7/generate")
STATEMENTS: Final = {field.name: field.statement for field in fields_of(AiSdkProfile)}
TEXT: Final = PAGE.read_text("utf-8")
CLASSES: Final = re.findall(r"^## `(\w+)`$", TEXT, flags=re.MULTILINE)
WITNESSES: Final = [one for one in examples(PAGE) if one.cites != ("oracle.class-advice",)]


def field_of(example: Example) -> str:
    (cited,) = example.cites
    return cited.removeprefix("ai-sdk.").replace("-", "_")


@cache
def pair() -> Pair:
    found = pair_of(SIX, SEVEN, {"id": "a", "path": "generate"})
    assert found is not None
    return found


def test_every_class_has_a_witness_and_every_witness_a_class() -> None:
    assert len(CLASSES) == len({*CLASSES}) > 15
    assert {field_of(example) for example in WITNESSES} == {*CLASSES}


@pytest.mark.parametrize("field", CLASSES)
def test_a_class_is_told_in_the_words_of_its_field(field: str) -> None:
    assert f"## `{field}`\n\n{STATEMENTS[field]}\n\n- `ai-sdk-6/generate`: " in TEXT
    values = [getattr(PROFILES[one.name], field) for one in (SIX, SEVEN)]
    if not hasattr(values[0], "__attrs_attrs__"):
        said = [f"- `{one.name}`: {told(value)}\n" for one, value in zip((SIX, SEVEN), values, strict=True)]
        assert "".join(said) in TEXT


@pytest.mark.parametrize(
    "example", WITNESSES, ids=lambda example: f"{field_of(example)}-{example.place.number}"
)
def test_the_field_of_a_witness_causes_its_difference(example: Example) -> None:
    program = example.on(SIX.name)
    different = pair().differing(pair().traced_before(program), pair().traced_after(program))
    assert field_of(example) in pair().causes(program, different)


def test_what_few_programs_show_is_in_the_guide() -> None:
    found = compare(SIX, SEVEN, range(5_000, 5_012), patience=1)
    assert {change.field for change in found.classes} <= {*CLASSES}
    assert len(found.classes) > 2


def test_all_advice_is_about_a_class_and_is_in_the_guide() -> None:
    for field, advice in advice_of(ADVICE).items():
        assert field in STATEMENTS
        assert (f"**The same in both:** {advice.text}\n" in TEXT) == (field in CLASSES)
