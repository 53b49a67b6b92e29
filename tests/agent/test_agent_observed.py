from __future__ import annotations

import logging
import os
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from opentelemetry.trace import SpanKind, StatusCode

from agent.kit import USER, add, adding, call, run_by, scripted, streamed, text
from agent.tracing import Tracing
from agentcore.agent.agent import Agent, AgentError
from agentcore.agent.call.config import step_count_is
from agentcore.agent.models import ModelError, ModelResponse, ScriptedModel, Usage
from agentcore.agent.output import Output
from agentcore.agent.telemetry import Timing
from agentcore.agent.tools import tool
from agentcore.messages.values import dump_json
from agentcore.records.saved import to_json

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])


# ---------------------------------------------------------------- times


@BOTH
async def test_a_result_says_how_long_everything_took_by_step(path: str) -> None:
    def hook(_: Any) -> None:
        pass

    @tool(name="add")
    async def slow(a: int) -> int:
        await anyio.sleep(0.03)
        return a

    names = ["prepare_call", "on_start", "prepare_step", "on_step_start", "on_step_finish", "on_finish"]
    hooks: Any = dict.fromkeys(names, hook)
    stops: Any = [step_count_is(9), hook]  # the time of a person's condition is taken
    agent = Agent(
        scripted([call(a=2), call("add", "d", a=3)], text()), tools=[slow], stop_when=stops, **hooks
    )
    timings = (await run_by(path, agent, "q", checkpoint=hook)).timings
    assert [entry.name for entry in timings.of("hook", step_number=-1)] == ["prepare_call", "on_start"]
    assert [(entry.kind, entry.name) for entry in timings.of(step_number=0)] == [
        ("hook", "prepare_step"),
        ("hook", "on_step_start"),
        ("model", "scripted"),
        ("tool", "add"),
        ("tool", "add"),
        ("hook", "checkpoint"),
        ("hook", "on_step_finish"),
        ("hook", "stop_when"),
    ]
    assert [entry.name for entry in timings.of("hook", step_number=1)][-1] == "on_finish"
    assert 0.06 <= timings.seconds("tool") == timings.seconds(step_number=0, kind="tool") < 5
    assert timings.seconds() == sum(entry.seconds for entry in timings.entries)


async def test_attempts_and_failures_are_timed_too() -> None:
    busy = ModelError("busy", retryable=True, retry_after=0)

    def fails(_: Any) -> None:
        raise ValueError

    agent = Agent(scripted(busy, text()), on_finish=fails)
    async with agent.stream("q") as stream:
        with pytest.raises(AgentError):
            async for _ in stream:
                pass
    shown = [(entry.kind, entry.failed) for entry in stream.timings.entries if entry.name != "stop_when"]
    assert shown == [("model", True), ("model", False), ("hook", True)]


async def test_chunks_are_timed_by_step_together() -> None:
    agent = Agent(scripted([call(a=1)], text("abcdef"), chunk=1), tools=[add], on_chunk=lambda _: None)
    _, result = await streamed(agent, "q")
    chunks = [entry for entry in result.timings.of("hook") if entry.name == "on_chunk"]
    assert [entry.step_number for entry in chunks] == [0, 1]
    assert all(entry.seconds > 0 for entry in chunks)


async def test_times_are_no_part_of_what_makes_results_equal() -> None:
    first, second = await adding().generate("q"), await adding().generate("q")
    assert first == second
    assert first.timings != second.timings
    assert isinstance(first.timings.entries[0], Timing)


@BOTH
async def test_a_slow_hook_is_warned_of(path: str, caplog: pytest.LogCaptureFixture) -> None:
    async def slow(_: Any) -> None:
        await anyio.sleep(0.03)

    names = ["prepare_call", "prepare_step", "on_finish"] + ["on_chunk"] * (path == "stream")
    hooks: Any = dict.fromkeys(names, slow)
    await run_by(path, Agent(scripted(text()), slow_hook_seconds=0.01, **hooks), "q")
    records = [record for record in caplog.records if record.name == "agentcore"]
    assert {record.levelno for record in records} == {logging.WARNING}
    warned = [record.getMessage().split(" took ")[0] for record in records]
    assert list(dict.fromkeys(warned)) == ["prepare_call", "prepare_step", *names[3:], "on_finish"]
    assert "at step 0, which is above 10 ms; a run waits for its hooks" in records[1].getMessage()


async def test_fast_hooks_and_slow_tools_are_not(caplog: pytest.LogCaptureFixture) -> None:
    @tool(name="add")
    async def slow(a: int) -> int:
        await anyio.sleep(0.03)
        return a

    agent = Agent(scripted([call(a=1)], text()), tools=[slow], prepare_step=lambda _: None)
    await agent.generate("q", slow_hook_seconds=0.02)
    assert not caplog.records


# ---------------------------------------------------------------- traces


@pytest.fixture
def tracing() -> Tracing:
    return Tracing()


@BOTH
async def test_spans_are_those_of_the_conventions(path: str, tracing: Tracing) -> None:
    usage = Usage(10, 2, cached_input_tokens=4, reasoning_tokens=1)
    answer = ModelResponse(
        text(), finish_reason="stop", usage=usage, model_id="scripted-1", response_id="resp-1"
    )
    settings = {"temperature": 0.5, "max_output_tokens": 9, "stop_sequences": ["x"], "other": {"a": 1}}
    agent = Agent(
        scripted([call(a=2)], answer), tools=[add], name="adder", settings=settings, tracer=tracing.tracer
    )
    await run_by(path, agent, "q")
    top, *rest = tracing.spans
    assert [span.name for span in (top, *rest)] == [
        "invoke_agent adder",
        "chat scripted",
        "execute_tool add",
        "chat scripted",
    ]
    assert [span.kind for span in (top, *rest)] == [
        SpanKind.INTERNAL,
        SpanKind.CLIENT,
        SpanKind.INTERNAL,
        SpanKind.CLIENT,
    ]
    assert top.parent is None
    assert {span.parent and span.parent.span_id for span in rest} == {top.context.span_id}
    assert dict(top.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "adder",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.reasoning.output_tokens": 1,
    }
    streams = {"gen_ai.request.stream": True} if path == "stream" else {}
    request = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted",
        "gen_ai.output.type": "text",
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.stop_sequences": ("x",),
        **streams,
    }
    first, second = tracing.attributes("chat scripted")
    assert first == request | {
        "gen_ai.response.finish_reasons": ("tool-calls",),
        "gen_ai.usage.input_tokens": 0,
        "gen_ai.usage.output_tokens": 0,
    }
    assert second == request | {
        "gen_ai.response.model": "scripted-1",
        "gen_ai.response.id": "resp-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.reasoning.output_tokens": 1,
    }
    assert tracing.attributes("execute_tool add") == [
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "add",
            "gen_ai.tool.call.id": "c",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": "Add two numbers.",
        }
    ]


async def test_an_agent_without_a_name_and_with_an_output_is_traced_so(tracing: Tracing) -> None:
    await Agent(scripted(text("{}")), output=Output.json_schema({}), tracer=tracing.tracer).generate("q")
    assert [span.name for span in tracing.spans] == ["invoke_agent", "chat scripted"]
    assert tracing.attributes("chat scripted")[0]["gen_ai.output.type"] == "json"


@BOTH
async def test_failures_are_marked_by_their_type(path: str, tracing: Tracing) -> None:
    @tool
    def fails() -> None:
        raise ValueError

    @tool(timeout=0.01)
    async def slow() -> None:
        await anyio.sleep_forever()

    busy = ModelError("busy", status=529, retryable=True, retry_after=0)
    calls = [call("fails", "a"), call("slow", "b")]
    agent = Agent(scripted(busy, calls, ModelError("gone")), tools=[fails, slow], tracer=tracing.tracer)
    with pytest.raises(AgentError):
        await run_by(path, agent, "q")
    types = {(span.name, (span.attributes or {}).get("error.type")) for span in tracing.spans}
    assert types == {
        ("invoke_agent", "ModelError"),
        ("chat scripted", "529"),
        ("chat scripted", None),
        ("chat scripted", "ModelError"),
        ("execute_tool fails", "ValueError"),
        ("execute_tool slow", "timeout"),
    }
    for span in tracing.spans:
        failed = "error.type" in (span.attributes or {})
        assert span.status.status_code == (StatusCode.ERROR if failed else StatusCode.UNSET)
        assert span.status.description is None
        assert not span.events


async def test_a_cancelled_run_ends_its_spans(tracing: Tracing) -> None:
    async with adding(tracer=tracing.tracer).stream("q") as stream:
        await anext(stream)
    assert [span.name for span in tracing.spans] == ["invoke_agent", "chat scripted"]
    assert {(span.attributes or {}).get("error.type") for span in tracing.spans} <= {
        "CancelledError",
        "Cancelled",
    }


def test_without_a_tracer_nothing_of_opentelemetry_is_imported() -> None:
    program = (
        "import sys, anyio\n"
        "from agentcore.agent.agent import Agent\n"
        "from agentcore.agent.models import ScriptedModel\n"
        "anyio.run(Agent(ScriptedModel([])).generate, 'q')\n"
        "print([name for name in sys.modules if 'opentelemetry' in name])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---------------------------------------------------------------- secrets

SECRET = "sk-planted-0123456789"  # noqa: S105 - planted to be looked for


class KeyedModel(ScriptedModel):
    """A model with a key and headers, as clients of providers have them."""

    def __init__(self, *answers: Any) -> None:
        super().__init__([*answers])
        self.api_key = SECRET
        self.headers = {"authorization": f"Bearer {SECRET}"}


@BOTH
async def test_no_key_header_environment_value_or_message_is_told(
    path: str, tracing: Tracing, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", SECRET)
    said = "what was said between them"

    @tool
    async def look(about: str) -> AsyncIterator[str]:
        yield f"{said} {about}"
        assert os.environ["PLANTED_API_KEY"]
        raise ValueError(said)

    caplog.set_level(logging.DEBUG)
    busy = ModelError("busy", status=500, retryable=True, retry_after=0)
    model = KeyedModel(busy, [call("look", about=said)], text(said), ModelError("gone"))
    agent = Agent(
        model,
        tools=[look],
        system=said,
        settings={"extra_headers": {"authorization": f"Bearer {SECRET}"}, "temperature": 1},
        slow_hook_seconds=0.0,
        prepare_step=lambda _: None,
        tracer=tracing.tracer,
        on_finish=lambda _: 1 // 0,
    )
    with pytest.raises(AgentError) as raised:
        await run_by(path, agent, said)
    error = raised.value
    told = [
        *(span.to_json() for span in tracing.spans),
        caplog.text,
        repr(error),
        str(error),
        "".join(traceback.format_exception(error)),
        repr(agent),
        repr(error.run),
        dump_json(to_json(error.run)),
    ]
    assert len(tracing.spans) == 7
    assert "prepare_step took" in caplog.text
    assert not [text for text in told if SECRET in text]
    observed = [*told[:-3]]
    assert not [text for text in observed if said in text]
    assert USER not in error.run.chains.initial
