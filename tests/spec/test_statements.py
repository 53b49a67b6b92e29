"""Each statement of the source documents is kept somewhere, and what is named as its place is there."""

from __future__ import annotations

from typing import Any, Final

import pytest

from spec.statements import STATES, Document, Statement, document, documents, errata_of, exists, problems

DOCUMENTS: Final = documents()
NOT_WHOLE: Final = 26
TITLE: Final = "Message Reference Model"
ERRATUM: Final = "errata/message-reference-model.md#a-filter-hides-and-does-not-delete"


@pytest.mark.parametrize("about", DOCUMENTS, ids=lambda about: about.title)
def test_every_place_that_is_named_is_there_and_fits_the_state(about: Document) -> None:
    assert [*problems(about)] == []


@pytest.mark.parametrize("about", DOCUMENTS, ids=lambda about: about.title)
def test_every_erratum_of_a_document_is_of_a_statement(about: Document) -> None:
    named = {kept for each in about.statements for kept in each.kept}
    assert errata_of(about.title) - named == set()


@pytest.mark.parametrize("about", DOCUMENTS, ids=lambda about: about.title)
def test_a_statement_stands_once_at_its_place_and_is_a_sentence(about: Document) -> None:
    said = [(each.place, each.says) for each in about.statements]
    assert len(said) == len({*said})
    assert [says for _, says in said if not says.endswith(".") or "|" in says] == []


def test_all_that_was_partial_or_missing_is_there() -> None:
    was = [each.was for about in DOCUMENTS for each in about.statements if each.was]
    assert (len(was), was.count("missing")) == (NOT_WHOLE, 3)


@pytest.mark.parametrize(
    "kept",
    [
        "step.input",
        "difference.lasting-messages",
        "ai-sdk.report",
        "patterns.md#a-reminder",
        "program-format.md",
        "machine/test_step.py::test_a_step_is_prepared_and_then_finished",
        "frameworks/ai_sdk/test_claims.py::test_a_filter_hides_and_does_not_delete",
    ],
)
def test_a_place_is_a_requirement_a_heading_or_a_test(kept: str) -> None:
    assert exists(kept)


@pytest.mark.parametrize(
    "kept",
    [
        "step.inputs",
        "ai-sdk.nothing",
        "patterns.md#no-such-heading",
        "no-such-page.md",
        "no-such-page.md#a-reminder",
        "machine/test_step.py::test_no_such_thing",
        "machine/test_step.py::folded",
        "no_such_test.py::test_a_step_is_prepared_and_then_finished",
        "",
    ],
)
def test_what_is_not_there_is_no_place(kept: str) -> None:
    assert not exists(kept)


def statement(**given: Any) -> Document:
    known = {"place": "here", "says": "So it is.", "state": "works", "kept": ["step.input"]}
    return Document(title=TITLE, version="any", statements=(Statement(**{**known, **given}),))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kept": ["step.inputs"]}, "step.inputs is no requirement, no heading of a page and no test"),
        ({"kept": []}, "it is kept nowhere"),
        ({"state": "erratum", "kept": ["step.input"]}, "no erratum is named"),
        ({"state": "erratum", "kept": ["errata.md"]}, "no erratum is named"),
        ({"state": "difference", "kept": ["step.input"]}, "no difference is named"),
        ({"state": "outside"}, "a reason is for statements that are outside or open"),
        ({"state": "open"}, "a reason is for statements that are outside or open"),
        ({"why": "because"}, "a reason is for statements that are outside or open"),
        ({"state": "true"}, f"'true' is no state; there are {', '.join(STATES)}"),
        ({"was": "lost"}, "'lost' is not what a statement was"),
        ({"claims": ["M0"]}, "M0 is no id of a claim"),
    ],
)
def test_what_is_wrong_with_a_statement_is_told(given: dict[str, Any], says: str) -> None:
    (found,) = problems(statement(**given))
    assert found.startswith(f"'So it is.': {says}")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"state": "erratum", "kept": [ERRATUM]},
        {"state": "difference", "kept": ["difference.lasting-messages"]},
        {"state": "outside", "kept": [], "why": "because"},
        {"state": "open", "why": "some of it"},
    ],
)
def test_what_fits_has_no_problem(given: dict[str, Any]) -> None:
    assert [*problems(statement(**given))] == []


def test_a_document_that_the_errata_do_not_name_is_told() -> None:
    unknown = document(
        'title = "Another"\nversion = "1"\n[[statement]]\nplace = "a"\nsays = "b."\nstate = "works"\n'
    )
    first, second = problems(unknown)
    assert (first, second) == ("the errata have no part 'Another'", "'b.': it is kept nowhere")
