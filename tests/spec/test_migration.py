"""The guides from one version of the AI SDK to the next say what programs, profiles and advice say now.

Their examples are run with all others; the whole of each is made again by the command that it shows.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Final

import attrs
import pytest

from agentcore.frameworks.ai_sdk.profiles import PROFILES, AiSdkProfile
from agentcore.kit.framework import fields_of, words_of
from agentcore.oracle.comparison.changes import Pair, compare, pair_of
from agentcore.oracle.comparison.comparands import Side, side
from agentcore.oracle.comparison.guide import advice_of
from agentcore.oracle.spec.examples import Example, examples
from spec.requirements import SPEC

pytestmark = pytest.mark.slow

ADVICE: Final = SPEC / "migrate-ai-sdk-6-to-7.advice.json"
STATEMENTS: Final = {field.name: field.statement for field in fields_of(AiSdkProfile)}


@attrs.frozen
class Witness:
    """An example, and what it is said to show: where, and together with which fields."""

    example: Example
    place: str
    others: tuple[str, ...]

    @property
    def field(self) -> str:
        (cited,) = self.example.cites
        return cited.removeprefix("ai-sdk.").replace("-", "_")


@attrs.frozen(eq=False)
class Guide:
    """A guide for one path."""

    path: str
    page: Path

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        return side(f"ai-sdk-6/{self.path}"), side(f"ai-sdk-7/{self.path}")

    @cached_property
    def text(self) -> str:
        return self.page.read_text("utf-8")

    @cached_property
    def classes(self) -> list[str]:
        return re.findall(r"^## `(\w+)`$", self.text, flags=re.MULTILINE)

    @cached_property
    def witnesses(self) -> list[Witness]:
        # What no field explains, and advice, have examples that cite rules of the oracle.
        shown = [one for one in examples(self.page) if not one.cites[0].startswith("oracle.")]
        claims = re.findall(
            r"^\*\*Example\*\* \(`ai-sdk\..*?`\): at `(.+?)`, (.+)\.$", self.text, flags=re.MULTILINE
        )
        return [
            Witness(example, place, tuple(re.findall(r"`(\w+)`", others)))
            for example, (place, others) in zip(shown, claims, strict=True)
        ]

    def section(self, field: str) -> str:
        return self.text.partition(f"\n## `{field}`\n")[2].partition("\n## ")[0]

    @cached_property
    def pair(self) -> Pair:
        found = pair_of(*self.sides, {"id": "a", "path": self.path})
        assert found is not None
        return found


GUIDES: Final = (
    Guide("generate", SPEC / "generated/migrate-ai-sdk-6-to-7.md"),
    Guide("stream", SPEC / "generated/migrate-ai-sdk-6-to-7-stream.md"),
)
each_guide: Final = pytest.mark.parametrize("guide", GUIDES, ids=[guide.path for guide in GUIDES])


@each_guide
def test_every_class_has_a_witness_and_every_witness_a_class(guide: Guide) -> None:
    assert len(guide.classes) == len({*guide.classes}) > 15
    assert {witness.field for witness in guide.witnesses} == {*guide.classes}


@pytest.mark.parametrize(
    ("guide", "field"),
    [pytest.param(guide, field, id=f"{guide.path}-{field}") for guide in GUIDES for field in guide.classes],
)
def test_a_class_is_told_in_the_words_of_its_field(guide: Guide, field: str) -> None:
    assert f"## `{field}`\n\n{STATEMENTS[field]}\n\n- `{guide.sides[0].name}`: " in guide.text
    values = [getattr(PROFILES[one.name], field) for one in guide.sides]
    if not any(hasattr(value, "__attrs_attrs__") for value in values):
        said = [
            f"- `{one.name}`: {words_of(value)}\n" for one, value in zip(guide.sides, values, strict=True)
        ]
        assert "".join(said) in guide.text


@pytest.mark.parametrize(
    ("guide", "witness"),
    [
        pytest.param(guide, one, id=f"{guide.path}-{one.field}-{one.example.place.number}")
        for guide in GUIDES
        for one in guide.witnesses
    ],
)
def test_the_field_of_a_witness_causes_its_difference(guide: Guide, witness: Witness) -> None:
    program = witness.example.on(guide.sides[0].name)
    assert guide.pair.caused_by(program, (witness.field, *witness.others), witness.place)


@each_guide
def test_what_few_programs_show_is_in_the_guide(guide: Guide) -> None:
    found = compare(*guide.sides, range(5_000, 5_012), patience=1)
    assert {change.field for change in found.classes} - {None} <= {*guide.classes}
    if any(change.field is None for change in found.classes):
        assert "\n## Unexplained, at " in guide.text
    assert len(found.classes) > 2


@each_guide
def test_a_class_has_the_advice_that_there_is_about_it(guide: Guide) -> None:
    advice = advice_of(ADVICE)
    for field in guide.classes:
        said = re.findall(r"^\*\*The same in both:\*\* (.+)$", guide.section(field), flags=re.MULTILINE)
        assert said == ([advice[field].text] if field in advice else [])


def test_all_advice_is_about_a_field() -> None:
    assert advice_of(ADVICE).keys() <= STATEMENTS.keys()
