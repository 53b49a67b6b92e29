"""At every boundary of every Python framework a subtle polluting hook and a clean one are told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.live.adapters.known import KNOWN
from live.packages import HOOKS, checked, kinds

pytestmark = pytest.mark.live

CLEAN: Final = {
    ("langchain", "wrap_model_call"): "WrapModelCallClean",
    ("openai-agents", "on_llm_start"): "OnLlmStartClean",
}
# What their hooks write lies behind a live handle, for which no copy stands: it has no line, and nothing is
# isolated.
BY_HANDLE: Final = {("strands-py", at) for at in KNOWN["strands-py"].boundaries}
BOUNDARIES: Final = [
    (name, at) for name, known in KNOWN.items() if known.language == "python" for at in known.boundaries
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("framework", "at"), BOUNDARIES)
def test_a_polluting_hook_has_a_write_with_its_line(framework: str, at: str) -> None:
    report = checked(framework, f"{at}_pollutes", at)
    write = next((each for each in report["findings"] if each["kind"] == "write"), None)
    assert write is not None, report
    assert report["verdict"] == "fault"
    assert report["exit"] == 1
    assert write["seen"]
    if (framework, at) not in BY_HANDLE:
        assert write["line"] is not None
        assert write["line"]["file"].endswith("_hooks.py")
    assert write["conversation"]["turns"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("framework", "at"), BOUNDARIES)
def test_a_clean_hook_is_clean(framework: str, at: str) -> None:
    report = checked(framework, CLEAN.get((framework, at), f"{at}_clean"), at)
    assert (report["verdict"], kinds(report)) == ("clean", []), report["findings"]
    assert report["conversations"]["judged"] == report["conversations"]["run"]
    assert report["conversations"]["calls"] > 0


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("framework", "at"),
    [
        ("langchain", "before_model"),
        ("openai-agents", "input_guardrail"),
        ("pydantic-ai", "history_processor"),
    ],
)
def test_a_hook_that_looks_at_texts_only_and_not_at_lists_of_parts_is_found(framework: str, at: str) -> None:
    report = checked(framework, "texts_pollute", at)
    assert kinds(report) == ["write"], report["findings"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("framework", "hook", "at"),
    [
        ("agent-framework", "edits_the_context", "chat_middleware"),
        ("google-adk", "edits_the_request", "before_model_callback"),
        ("strands-py", "cancels", "before_model_call"),
    ],
)
def test_an_edit_in_place_that_is_documented_is_clean(framework: str, hook: str, at: str) -> None:
    report = checked(framework, hook, at)
    assert (report["verdict"], kinds(report)) == ("clean", []), report["findings"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("framework", "hook", "at"),
    [
        ("agent-framework", "writes_to_the_session", "agent_middleware"),
        ("google-adk", "writes_to_the_session", "before_model_callback"),
        ("strands-py", "around_pollutes", "invoke_model_middleware"),
    ],
)
def test_a_write_through_a_live_handle_is_found(framework: str, hook: str, at: str) -> None:
    report = checked(framework, hook, at)
    assert "write" in kinds(report), report
    assert report["findings"][0]["place"].startswith("handle")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("framework", "hook", "at"),
    [
        ("google-adk", "writes_the_arguments_after_the_tool", "after_tool_callback"),
        ("strands-py", "writes_to_copies", "invoke_model_middleware"),
    ],
)
def test_a_write_to_what_the_framework_copies_deeply_is_a_note(framework: str, hook: str, at: str) -> None:
    report = checked(framework, hook, at)
    assert (report["verdict"], kinds(report)) == ("note", ["harmless-write"]), report["findings"]
    assert report["exit"] == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("framework", "at"),
    [
        ("agent-framework", "chat_middleware"),
        ("google-adk", "before_model_callback"),
        ("langchain", "wrap_model_call"),
        ("openai-agents", "call_model_input_filter"),
        ("strands-py", "invoke_model_middleware"),
    ],
)
def test_a_hook_with_a_counter_a_cache_by_identity_ids_and_clocks_is_silent(framework: str, at: str) -> None:
    report = checked(framework, "stateful", at)
    assert (report["verdict"], kinds(report)) == ("clean", []), report["findings"]


def test_release_1_of_pydantic_ai_is_judged_as_well() -> None:
    polluting = checked("pydantic-ai", "history_processor_pollutes", "history_processor", version="1.107.10")
    clean = checked("pydantic-ai", "history_processor_clean", "history_processor", version="1.107.10")
    assert (polluting["verdict"], clean["verdict"]) == ("fault", "clean")
    assert polluting["framework"]["version"] == "1.107.10"


# `isolate` and `strict` know boundaries by their fields only: few of them stand for all.
MENDED: Final = [each for each in BOUNDARIES if each not in BY_HANDLE]
# It writes what is its own, after returning it: isolate keeps that apart, strict does not freeze it.
OWN: Final = ("openai-agents", "session_input_callback")


def mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, framework: str, at: str
) -> dict[str, Any]:
    """Checks the polluting hook of a boundary with `isolate` or `strict` around it."""
    monkeypatch.setenv("PYTHONPATH", str(HOOKS))
    module = f"{framework.replace('-', '_')}_hooks"
    file = tmp_path / "mended.py"
    file.write_text(
        f"from agentcore.live import {how}\nfrom {module} import {at}_pollutes\n"
        f"hook = {how}({at}_pollutes, framework={framework!r}, at={at!r})\n",
        encoding="utf-8",
    )
    return checked(framework, "hook", at, file=file)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("framework", "at"), MENDED)
def test_isolate_makes_the_polluting_hook_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, framework: str, at: str
) -> None:
    report = mended(tmp_path, monkeypatch, "isolate", framework, at)
    assert not {"write", "harmless-write", "raises"} & {*kinds(report)}, report["findings"]
    assert report["conversations"]["judged"] == report["conversations"]["run"]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("framework", "at"), [each for each in MENDED if each != OWN])
def test_strict_raises_where_the_polluting_hook_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, framework: str, at: str
) -> None:
    report = mended(tmp_path, monkeypatch, "strict", framework, at)
    raised = [each for each in report["findings"] if each["kind"] == "raises"]
    assert raised, report
    assert "ImmutableArgumentError" in raised[0]["message"]
