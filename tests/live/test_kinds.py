"""The kinds of hooks that a live check judges wrong most easily, in real packages."""

from __future__ import annotations

from typing import Final

import pytest

from live.packages import checked, kinds

pytestmark = pytest.mark.live


# Of each kind one.
FINDINGS: Final = [
    ("returns_own_and_edits_later", "write"),
    ("writes_after_return", "write"),
    ("writes_through_context", "write"),
    ("reminder", "accumulates"),
    ("cuts_pairs", "cuts-pair"),
    ("loses_request", "loses-request"),
    ("raises_late", "raises"),
    ("draws_secretly", "undetermined"),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("hook", "wanted"), FINDINGS)
def test_a_history_processor_has_its_finding(hook: str, wanted: str) -> None:
    assert wanted in kinds(checked("pydantic-ai", hook, "history_processor"))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "hook", ["reminder_once", "writes_and_restores", "history_processor_with_context_clean", "stateful"]
)
def test_a_history_processor_is_silent(hook: str) -> None:
    report = checked("pydantic-ai", hook, "history_processor")
    assert (report["verdict"], kinds(report)) == ("clean", []), report["findings"]


def test_a_list_that_a_tool_returned_is_written_at_a_later_call() -> None:
    report = checked(
        "pydantic-ai", "after_tool_execute_later", "after_tool_execute", examples=30, processes=1
    )
    found = [each for each in report["findings"] if each["kind"] == "write"]
    assert found
    assert {"next-prompt", "result"} <= {holder for each in found for holder in each["seen"]}


def test_copies_that_the_framework_knows_by_identity_may_be_edited() -> None:
    report = checked("openai-agents", "session_input_callback_edits_copies", "session_input_callback")
    assert (report["verdict"], kinds(report)) == ("note", ["harmless-write"])


def test_a_middleware_that_returns_a_message_each_time_accumulates() -> None:
    assert kinds(checked("langchain", "reminder", "before_model")) == ["accumulates"]


def test_writes_of_two_lines_are_two_findings_each_with_its_line_and_place() -> None:
    report = checked("pydantic-ai", "writes_two_places", "history_processor")
    found = {each["place"]: each for each in report["findings"]}
    assert [each["kind"] for each in report["findings"]] == ["write", "write"]
    assert {"messages[0].parts[0].content", "messages[0].instructions"} == {*found}
    assert len({each["line"]["line"] for each in found.values()}) == 2
    assert len({each["fingerprint"] for each in found.values()}) == 2


def test_writes_of_one_line_are_one_finding_with_all_places() -> None:
    report = checked("pydantic-ai", "writes_two_places_at_once", "history_processor")
    assert kinds(report) == ["write"]
    assert {"messages[0].parts[0].content", "messages[0].instructions"} == {*report["findings"][0]["places"]}
