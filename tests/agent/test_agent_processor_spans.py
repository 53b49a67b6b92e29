"""Spans and timings of processors."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from opentelemetry.trace import StatusCode

from agent.kit import USER, add, call, run_by, scripted, text
from agent.tracing import Tracing
from agentcore.agent.agent import Agent, AgentError
from agentcore.agent.models import ScriptedModel
from agentcore.machine.hooks import StepOverride
from agentcore.machine.processors import InputArguments, StepArguments
from agentcore.messages.messages import UserMessage
from agentcore.messages.values import parse_json

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
PRIVATE = "what nobody is to read"


def thinking() -> ScriptedModel:
    return scripted([call("add", "c", a=1)], text())


def processors(tracing: Tracing) -> list[tuple[str, dict[str, Any]]]:
    """Names and attributes of the spans of processors, without the prefix of these."""
    prefix = "agentcore.processor."
    return [
        (
            span.name,
            {
                key.removeprefix(prefix): value
                for key, value in (span.attributes or {}).items()
                if key != "agentcore.blocked_seconds"  # a time
            },
        )
        for span in tracing.spans
        if span.name.startswith("process_input")
    ]


class Everything:
    """Changes everything there is, at step 1."""

    id = "everything"

    def process_input(self, given: InputArguments) -> Any:
        return {"messages": [*given.messages, UserMessage(PRIVATE)], "system_messages": PRIVATE}

    async def process_input_step(self, step: StepArguments) -> Any:
        if step.step_number == 0:
            return None
        listed = step.message_list
        listed.replace("initial-0", UserMessage(PRIVATE))
        listed.add(UserMessage(PRIVATE))
        listed.add_system(PRIVATE)
        await anyio.lowlevel.checkpoint()
        listed.remove_by_ids(["response-0", "response-1"])
        return {
            "model": "other",
            "tool_choice": {"type": "tool", "toolName": "add"},
            "active_tools": ["add"],
            "provider_options": {"p": {"secret": PRIVATE}},
            "model_settings": {"headers": PRIVATE},
            "structured_output": {"type": "json", "name": PRIVATE},
            "experimental_context": {"key": PRIVATE},
            "lasting_messages": step.lasting_messages,
        }


@BOTH
async def test_each_call_of_a_processor_has_a_span_of_what_it_was_handed_and_changed(
    path: str, tracing: Tracing
) -> None:
    agent = Agent(
        thinking(),
        tools=[add],
        models=[scripted([call("add", "d", a=1)], model_id="other")],
        system=PRIVATE,
        input_processors=[Everything()],
        prepare_step=lambda _: {"tool_choice": "auto"},
        tool_choice="auto",
        settings={"temperature": 0},
        provider_options={"p": {"a": PRIVATE}},
        experimental_context=PRIVATE,
        stop_when=lambda steps: len(steps) == 2,
        tracer=tracing.tracer,
    )
    await run_by(path, agent, USER)
    spans = processors(tracing)
    assert [name for name, _ in spans] == [
        "process_input everything",
        *("process_input_step everything", "process_input_step prepare_step") * 2,
    ]
    (_, given), (_, nothing), (_, first), (_, changed), (_, last) = spans
    assert given == {
        "id": "everything",
        "method": "process_input",
        "before.messages": 1,
        "before.system_messages": 1,
        "returned": "fields",
        "changed": ("system_messages", "messages"),
        "mutations": (),
        "after.messages": 2,
        "after.system_messages": 1,
    }
    before = {
        "id": "everything",
        "method": "process_input_step",
        "agentcore.step_number": 0,
        "agentcore.step_count": 0,
        "before.messages": 2,
        "before.lasting_messages": 2,
        "before.system_messages": 1,
        "before.model": "scripted",
        "before.tool_choice": "auto",
        "before.provider_options": ("p",),
        "before.model_settings": ("temperature",),
        "before.experimental_context": True,
    }
    assert nothing == before | {"returned": "nothing", "changed": (), "mutations": ()}
    assert (first["id"], first["after.tool_choice"], first["changed"]) == (
        "prepare_step",
        "auto",
        ("tool_choice",),
    )
    after = {key.removeprefix("after."): value for key, value in changed.items() if key.startswith("after.")}
    assert after == {
        "messages": 3,
        "lasting_messages": 4,
        "system_messages": 2,
        "model": "other",
        "tool_choice": "add",
        "active_tools": ("add",),
        "provider_options": ("p",),
        "model_settings": ("headers",),
        "structured_output": "json",
        "experimental_context": True,
    }
    assert {*changed["changed"]} == after.keys()
    assert changed["mutations"] == (
        "replace initial-0",
        "add everything-1-0",
        "add_system",
        "remove response-0 response-1",
    )
    assert (last["before.model"], last["before.tool_choice"], last["before.messages"]) == ("other", "add", 3)
    assert PRIVATE not in "".join(span.to_json() for span in tracing.spans)


@BOTH
async def test_with_content_spans_hold_everything_as_json(path: str, tracing: Tracing) -> None:
    agent = Agent(
        thinking(),
        tools=[add],
        models=[scripted([call("add", "d", a=1)], model_id="other")],
        system="s",
        input_processors=[Everything()],
        stop_when=lambda steps: len(steps) == 2,
        tracer=tracing.tracer,
        trace_content=True,
    )
    await run_by(path, agent, USER)
    changed = processors(tracing)[2][1]
    read: Mapping[str, Any] = {
        key: value if key.endswith(("model", "model_settings")) else parse_json(value)
        for key, value in changed.items()
        if key.startswith(("before.", "after."))
    }
    user = {"role": "user", "content": [{"type": "text", "text": "u"}]}
    secret = {"role": "user", "content": PRIVATE}
    assert read["before.messages"][:2] == [user, secret]
    assert (read["before.model"], read["after.model"]) == ("scripted", "other")
    assert read["after.messages"] == [secret, secret, secret]
    assert [one["content"] for one in read["after.system_messages"]] == [PRIVATE, PRIVATE]
    assert read["after.model_settings"] == ("headers",)
    assert read["after.provider_options"] == {"p": {"secret": PRIVATE}}
    assert parse_json(changed["mutations"][0]) == {
        "kind": "replace",
        "ids": ["initial-0"],
        "messages": [secret],
    }


@pytest.mark.parametrize(
    ("result", "returned"),
    [
        (lambda _: None, "nothing"),
        (lambda step: step.message_list, "message_list"),
        (lambda step: [*step.messages], "messages"),
        (lambda _: {}, "fields"),
        (lambda _: StepOverride(tool_choice="auto"), "fields"),
    ],
)
async def test_a_span_says_in_which_form_a_processor_returned(
    result: Any, returned: str, tracing: Tracing
) -> None:
    await Agent(scripted(text()), input_processors=[result], tracer=tracing.tracer).generate(USER)
    assert [span["returned"] for _, span in processors(tracing)] == [returned]


@BOTH
@pytest.mark.parametrize("content", [False, True])
async def test_an_abort_is_no_failure_and_its_words_are_content(
    path: str, content: bool, tracing: Tracing
) -> None:
    def guard(step: StepArguments) -> None:
        step.abort(PRIVATE, metadata={"about": PRIVATE}, retry=True)

    agent = Agent(scripted(text()), input_processors=[guard], tracer=tracing.tracer, trace_content=content)
    timings = (await run_by(path, agent, USER)).timings
    assert [(entry.name, entry.failed) for entry in timings.entries] == [("guard", False)]
    top, span = tracing.spans
    attributes = dict(span.attributes or {})
    assert span.status.status_code is StatusCode.UNSET
    assert attributes["agentcore.tripwire.retry"] is True
    assert (attributes.get("agentcore.tripwire.reason") == PRIVATE) is content
    assert ("agentcore.tripwire.metadata" in attributes) is content
    assert dict(top.attributes or {})["gen_ai.response.finish_reasons"] == ("tripwire",)
    assert (PRIVATE in span.to_json()) is content


@BOTH
async def test_what_a_processor_raises_marks_its_span_by_its_type_alone(path: str, tracing: Tracing) -> None:
    def fails(_: StepArguments) -> None:
        raise ValueError(PRIVATE)

    def wrong(_: StepArguments) -> Any:
        return {"messages": PRIVATE}

    for processor, kind in ((fails, "ValueError"), (wrong, "InvalidOverrideError")):
        agent = Agent(scripted(text()), input_processors=[processor], tracer=tracing.tracer)
        with pytest.raises(AgentError):
            await run_by(path, agent, USER)
        span = tracing.spans[-1]
        assert (span.attributes or {})["error.type"] == kind
        assert span.status.status_code is StatusCode.ERROR
    assert PRIVATE not in "".join(span.to_json() for span in tracing.spans)


@BOTH
async def test_processors_are_timed_as_hooks_and_warned_of_if_slow(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Slow:
        id = "slow"

        async def process_input(self, _: InputArguments) -> None:
            await anyio.sleep(0.03)

        async def process_input_step(self, _: StepArguments) -> None:
            await anyio.sleep(0.03)

    agent = Agent(scripted(text()), input_processors=[Slow()], slow_hook_seconds=0.01)
    timings = (await run_by(path, agent, USER)).timings
    slow = [(entry.step_number, entry.failed) for entry in timings.of("hook") if entry.name == "slow"]
    assert slow == [(-1, False), (0, False)]
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [message.split(" took ")[0] for message in warned] == ["slow", "slow"]
