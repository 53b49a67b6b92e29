"""At every boundary of every Python framework a subtle polluting hook and a clean one are told apart."""

from __future__ import annotations

from typing import Final

import pytest

from agentcore.live.adapters.known import KNOWN
from live.packages import checked, kinds

CLEAN: Final = {
    ("langchain", "wrap_model_call"): "WrapModelCallClean",
    ("openai-agents", "on_llm_start"): "OnLlmStartClean",
}
BOUNDARIES: Final = [
    (name, at) for name, known in KNOWN.items() if known.language == "python" for at in known.boundaries
]


@pytest.mark.parametrize(("framework", "at"), BOUNDARIES)
def test_a_polluting_hook_has_a_write_with_its_line(framework: str, at: str) -> None:
    report = checked(framework, f"{at}_pollutes", at)
    write = next((each for each in report["findings"] if each["kind"] == "write"), None)
    assert write is not None, report
    assert report["verdict"] == "fault"
    assert report["exit"] == 1
    assert write["seen"]
    assert write["line"] is not None
    assert write["line"]["file"].endswith("_hooks.py")
    assert write["conversation"]["turns"]


@pytest.mark.parametrize(("framework", "at"), BOUNDARIES)
def test_a_clean_hook_is_clean(framework: str, at: str) -> None:
    report = checked(framework, CLEAN.get((framework, at), f"{at}_clean"), at)
    assert (report["verdict"], kinds(report)) == ("clean", []), report["findings"]
    assert report["conversations"]["judged"] == report["conversations"]["run"]
    assert report["conversations"]["calls"] > 0


@pytest.mark.parametrize(
    ("framework", "at"),
    [("langchain", "wrap_model_call"), ("openai-agents", "call_model_input_filter")],
)
def test_a_hook_with_a_counter_a_cache_by_identity_ids_and_clocks_is_silent(framework: str, at: str) -> None:
    report = checked(framework, "stateful", at)
    assert (report["verdict"], kinds(report)) == ("clean", []), report["findings"]


def test_release_1_of_pydantic_ai_is_judged_as_well() -> None:
    polluting = checked("pydantic-ai", "history_processor_pollutes", "history_processor", version="1.107.10")
    clean = checked("pydantic-ai", "history_processor_clean", "history_processor", version="1.107.10")
    assert (polluting["verdict"], clean["verdict"]) == ("fault", "clean")
    assert polluting["framework"]["version"] == "1.107.10"
