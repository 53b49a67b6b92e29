from __future__ import annotations

from typing import Any, Final

import pytest

from agentcore.kit.program import BadProgram, ProgramSchema
from oracle.driver_commands import small

FOLDER: Final = "agentcore.frameworks.ai_sdk"


def refusal(checker: ProgramSchema, **fields: Any) -> BadProgram:
    with pytest.raises(BadProgram) as caught:
        checker.check({**small(), **fields})
    return caught.value


def test_what_the_schema_allows_passes() -> None:
    ProgramSchema("program", FOLDER).check(small())


def test_without_an_explanation_a_choice_is_told_by_its_place_in_the_schema() -> None:
    error = refusal(ProgramSchema("program", FOLDER), script=[[7]])
    assert (error.path, error.id) == ("$.script[0][0]", "a")
    assert error.reason == "is none of what may stand here ($defs/part/anyOf)"


def test_a_choice_is_explained_by_the_thing_that_was_meant() -> None:
    def choice(_: Any, value: Any) -> tuple[str, str]:
        return checker.explain("textPart", value)

    checker = ProgramSchema("program", FOLDER, choice=choice)
    error = refusal(checker, script=[[{"type": "text", "text": 7}]])
    assert (error.path, error.reason) == ("$.script[0][0].text", "is of the wrong type; make it string")


def test_a_keyword_has_the_reason_that_is_given_for_it() -> None:
    plain = refusal(ProgramSchema("program", FOLDER), options={"model": 1})
    assert "program.schema.json, " in plain.reason
    told = refusal(
        ProgramSchema("program", FOLDER, reasons={"propertyNames": "not here"}), options={"model": 1}
    )
    assert (told.path, told.reason) == ("$.options", "not here")
