"""The pollution report, and the verdict tables of the two AI SDK documents as it computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentcore.frameworks import ai_sdk
from agentcore.frameworks.ai_sdk import Finding, Hooks, Model, Settings, Tool, Verdict
from agentcore.frameworks.ai_sdk.emulation.loop import AiSdkLoop
from agentcore.frameworks.ai_sdk.profiles import AI_SDK_6_STREAM
from agentcore.heap.heap import Store
from agentcore.heap.pollution import findings
from agentcore.heap.views import Desk

STREAM, GENERATE = "ai-sdk-6/stream", "ai-sdk-6/generate"
BOTH = pytest.mark.parametrize("profile", [STREAM, GENERATE])
Hook = Callable[[Any], Any]


def look(_input: Any, _options: Any) -> Any:
    return {"v": {"n": 1}}


def silent(_options: Any) -> list[dict[str, Any]]:
    return []


def answers(options: Any) -> list[dict[str, Any]]:
    """Two steps with a text and a call, then a text."""
    done = sum(message["role"] == "tool" for message in options["prompt"])
    if done == 2:
        return [{"type": "text", "text": "done"}]
    call = {"type": "tool-call", "toolCallId": f"c{done}", "toolName": "look", "input": {"q": {"n": done}}}
    return [{"type": "text", "text": f"t{done}"}, call]


def run(profile: str, **hooks: Hook) -> ai_sdk.CompatRun:
    """A run over a text message and a list message, with hooks by name."""
    settings = Settings(
        messages=[
            {"role": "user", "content": "hi"},
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
        ],
        model=Model(id="scripted", answer=answers),
        tools={"look": Tool(execute=look)},
        hooks=Hooks(**hooks),
    )
    return ai_sdk.run(profile, settings)


def at(step: int, hook: Hook) -> Hook:
    """The hook, for one step only (the step is counted by its calls)."""
    seen = iter(range(1_000))
    return lambda argument: hook(argument) if next(seen) == step else None


def only(result: ai_sdk.CompatRun) -> Finding:
    (finding,) = result.pollution
    return finding


# ---------------------------------------------------------------- "prepareStep Semantics": operations


def append_text(step: Any) -> None:
    step["messages"][0]["content"] += "!"


def push_part(step: Any) -> None:
    step["messages"][1]["content"].append({"type": "text", "text": "y"})


def set_metadata(step: Any) -> None:
    step["messages"][0]["metadata"] = {"by": "hook"}


def set_role(step: Any) -> None:
    step["messages"][0]["role"] = "system"


@BOTH
@pytest.mark.parametrize("hook", [append_text, push_part, set_metadata, set_role])
def test_the_operations_that_the_document_says_pollute_do(profile: str, hook: Hook) -> None:
    finding = only(run(profile, prepare_step=at(0, hook)))
    assert finding.verdict is Verdict.POLLUTING
    assert {"caller", "initial chain"} <= set(finding.reach)
    assert finding.first_seen == 1


@BOTH
@pytest.mark.parametrize(
    "hook",
    [
        lambda step: {"messages": [*step["messages"], {"role": "user", "content": "new"}]},
        lambda step: {"messages": [m for m in step["messages"] if m["role"] == "user"]},
        lambda step: {"messages": [{**step["messages"][0], "content": "new"}, *step["messages"][1:]]},
    ],
    ids=["append to a copy", "filter", "map"],
)
def test_the_operations_that_the_document_says_are_safe_write_nothing(profile: str, hook: Hook) -> None:
    result = run(profile, prepare_step=at(0, hook))
    assert result.error is None
    assert result.pollution == ()


# ---------------------------------------------------------------- "Message Reference Model": lifetimes


@BOTH
def test_a_push_in_place_is_seen_by_its_step_alone(profile: str) -> None:
    new = {"role": "user", "content": "new"}
    finding = only(run(profile, prepare_step=at(1, lambda step: step["messages"].append(new))))
    assert finding.verdict is Verdict.EPHEMERAL
    assert (finding.reach, finding.prompts, finding.first_seen) == ((), (1,), None)


@BOTH
def test_a_returned_list_keeps_the_identity_of_its_elements(profile: str) -> None:
    def hook(step: Any) -> Any:
        copied = list(step["messages"])
        copied[0]["content"] = "new"
        return {"messages": copied}

    finding = only(run(profile, prepare_step=at(0, hook)))
    assert finding.verdict is Verdict.POLLUTING
    assert finding.paths["caller"] == "caller[0].content"


@BOTH
def test_what_is_built_anew_in_a_returned_list_is_of_this_step(profile: str) -> None:
    def hook(step: Any) -> Any:
        return {"messages": [*step["messages"], {"role": "user", "content": "new"}]}

    def later(step: Any) -> None:
        step["messages"][-1]["content"] = "written in on_step_start"

    finding = only(run(profile, prepare_step=at(0, hook), on_step_start=at(0, later)))
    # Only the override held it, and the prompt was made before.
    assert (finding.verdict, finding.prompts) == (Verdict.EPHEMERAL, ())


# ---------------------------------------------------------------- the two paths, and how far a write goes


def write_content(result: Any) -> None:
    result["content"][0]["text"] += "!"


def test_on_stream_content_written_in_on_step_finish_reaches_the_next_prompts() -> None:
    finding = only(run(STREAM, on_step_finish=at(0, write_content)))
    assert finding.reach == ("response chain", "report", "later prompts")
    assert (finding.prompts, finding.first_seen) == ((1, 2), 1)


def test_on_generate_content_written_in_on_step_finish_stays_in_the_report() -> None:
    finding = only(run(GENERATE, on_step_finish=at(0, write_content)))
    assert (finding.reach, finding.prompts) == (("report",), ())


@BOTH
def test_a_report_written_in_on_step_finish_stays_in_reports(profile: str) -> None:
    def hook(result: Any) -> None:
        result["response"]["messages"][0]["content"][0]["text"] = "new"

    assert only(run(profile, on_step_finish=at(0, hook))).reach == ("report",)


def test_only_on_stream_do_payloads_of_the_report_reach_later_prompts() -> None:
    def hook(result: Any) -> None:
        result["response"]["messages"][0]["content"][1]["input"]["q"]["n"] = "new"

    assert "later prompts" in only(run(STREAM, on_step_finish=at(0, hook))).reach
    assert "later prompts" not in only(run(GENERATE, on_step_finish=at(0, hook))).reach


@BOTH
def test_an_unknown_field_is_on_the_message_and_in_no_prompt(profile: str) -> None:
    finding = only(run(profile, prepare_step=at(0, set_metadata)))
    assert (finding.prompts, finding.reach) == ((), ("caller", "initial chain"))


@BOTH
def test_a_finding_says_who_wrote_what_and_through_which_handle(profile: str) -> None:
    kept: list[Any] = []
    first = at(0, lambda step: kept.append(step["messages"][1]))

    def later(_result: Any) -> None:
        kept[0]["content"][0]["text"] = "new"

    write = only(run(profile, prepare_step=first, on_step_finish=at(1, later))).write
    assert (write.hook, write.step) == ("onStepFinish", 1)
    assert write.handle == ("prepareStep", "messages", 1, "content", 0)
    assert (write.operation, write.key, write.before, write.after) == ("set", "text", "x", "new")


@BOTH
def test_the_context_written_is_seen_by_later_steps(profile: str) -> None:
    settings = Settings(
        messages=[{"role": "user", "content": "hi"}],
        model=Model(id="scripted", answer=answers),
        tools={"look": Tool(execute=look)},
        options={"experimental_context": {"n": 0}},
        hooks=Hooks(prepare_step=at(0, lambda step: step["experimental_context"].update(n=1))),
    )
    finding = only(ai_sdk.run(profile, settings))
    # Every step's result holds the context.
    assert finding.reach == ("report",)


@BOTH
def test_a_run_without_writes_has_no_findings(profile: str) -> None:
    result = run(profile)
    assert (result.pollution, result.error, result.hung, result.finish_reason) == ((), None, False, "stop")
    assert result.steps is not None
    assert len(result.steps) == 3


def test_a_run_that_was_not_watched_has_no_report() -> None:
    settings = Settings(messages=[{"role": "user", "content": "hi"}], model=Model(id="m", answer=silent))
    loop = AiSdkLoop(AI_SDK_6_STREAM, settings, Desk(Store()))
    loop.run()
    with pytest.raises(ValueError, match="not watched"):
        findings(loop)


def test_an_unknown_profile_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        ai_sdk.run("ai-sdk-5/stream", Settings(messages=[], model=Model(id="m", answer=silent)))
