"""What models, handlers and hooks give the driver is checked before anything of it is kept."""

from __future__ import annotations

import json
import pickle
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentcore.agent.models
from agent.kit import add, run_by, scripted, streamed, text
from agent.test_agent_cancelling import BOTH
from agentcore.agent.agent import Agent, AgentError
from agentcore.agent.middleware import (
    InvokeModelStage,
    MiddlewareError,
)
from agentcore.agent.models import (
    InvalidResponseError,
    ModelError,
    ModelRequest,
    ModelResponse,
    PartDone,
    ResponseDone,
    ScriptedModel,
    TextDelta,
    Usage,
)
from agentcore.agent.output import AgentResult
from agentcore.agent.rules import AgentRule
from agentcore.errors import (
    AgentCoreError,
    InvalidJsonError,
    InvalidMessageError,
    WireError,
)
from agentcore.machine.effects import NeedModel
from agentcore.machine.run import Run
from agentcore.messages import content
from agentcore.messages.content import (
    GeneratedFile,
    GeneratedReasoning,
    GeneratedText,
    Source,
    ToolCall,
    check_content,
)
from agentcore.messages.values import thaw
from agentcore.records.saved import from_json, to_json
from rulebook import states

pytestmark = pytest.mark.anyio
GOOD = GeneratedText("x")
# What is made of these has fields of wrong types, which a type checker would find.
parts: Any = content
models: Any = agentcore.agent.models


class Gives:
    """A model that gives just this, whole and as the last event of a stream."""

    provider = "p"
    model_id = "liar"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def generate(self, _: ModelRequest) -> Any:
        return self.answer

    @asynccontextmanager
    async def stream(self, _: ModelRequest) -> AsyncIterator[Any]:
        yield self._events()

    async def _events(self) -> AsyncIterator[Any]:
        yield ResponseDone(self.answer)


def response(*content: Any, **fields: Any) -> ModelResponse:
    return ModelResponse(content, **{"finish_reason": "stop", **fields})


class Text(str):
    """A text of another class, as an enum's member is."""

    __slots__ = ()


def loaded(run: Run) -> Run:
    return from_json(json.loads(json.dumps(thaw(to_json(run)))))


def saved_and_loaded(result: AgentResult[Any]) -> bool:
    return loaded(result.run) == result.run


# ---------------------------------------------------------------- answers of models

PARTS: list[tuple[Any, str]] = [
    (1, ""),
    (None, ""),
    ({"type": "text", "text": "x"}, ""),
    (models.TextDelta("0", "x"), ""),
    (parts.GeneratedText(5), ".text"),
    (parts.GeneratedText(None), ".text"),
    (parts.GeneratedText("x", [1]), ".provider_metadata"),
    (parts.GeneratedReasoning(b"x"), ".text"),
    (parts.GeneratedFile(b"x", "image/png"), ".data"),
    (parts.GeneratedFile("eA==", None), ".media_type"),
    (parts.Source([1]), ".fields"),
    (parts.ToolCall(tool_call_id=1, tool_name="add", input={}), ".tool_call_id"),
    (parts.ToolCall(tool_call_id="c", tool_name=add, input={}), ".tool_name"),
    (parts.ToolCall(tool_call_id="c", tool_name="add", input={}, dynamic="yes"), ".dynamic"),
    (parts.ToolCall(tool_call_id="c", tool_name="add", input={}, invalid=1), ".invalid"),
    (parts.ToolCall(tool_call_id="c", tool_name="add", input={}, error=ValueError()), ".error"),
    (parts.ToolCall(tool_call_id="c", tool_name="add", input={}, title=5), ".title"),
    (parts.ToolResult(tool_call_id="c", tool_name=None, output=1), ".tool_name"),
    (parts.ToolResult(tool_call_id="c", tool_name="t", output=1, model_output="x"), ".model_output"),
    (parts.ToolError(tool_call_id="c", tool_name="t", error=1, provider_executed=0), ".provider_executed"),
    (parts.ToolApprovalRequest("a", "c"), ".tool_call"),
    (
        parts.ToolApprovalRequest("a", parts.ToolCall(tool_call_id=1, tool_name="t", input={})),
        ".tool_call.tool_call_id",
    ),
]
ANSWERS: list[tuple[Any, str]] = [
    (None, "$"),
    ("done", "$"),
    ([GOOD], "$"),
    ({"content": []}, "$"),
    (models.ModelResponse(5, finish_reason="stop"), "$.content"),
    (models.ModelResponse("done", finish_reason="stop"), "$.content"),
    (models.ModelResponse(None, finish_reason="stop"), "$.content"),
    (models.ModelResponse({"type": "text"}, finish_reason="stop"), "$.content"),
    *((response(GOOD, part), f"$.content[1]{path}") for part, path in PARTS),
    (response(GOOD, finish_reason=7), "$.finish_reason"),
    (response(GOOD, finish_reason=["stop"]), "$.finish_reason"),
    (response(GOOD, response_id=5), "$.response_id"),
    (response(GOOD, model_id=b"m"), "$.model_id"),
    (response(GOOD, requested_model=1), "$.requested_model"),
    (response(GOOD, warnings=[1]), "$.warnings[0]"),
    (response(GOOD, warnings=["a", None]), "$.warnings[1]"),
    (response(GOOD, warnings="late"), "$.warnings"),
    (response(GOOD, warnings=5), "$.warnings"),
    (response(GOOD, usage=5), "$.usage"),
    (response(GOOD, usage=None), "$.usage"),
    (response(GOOD, usage={"input_tokens": 1}), "$.usage"),
    (response(GOOD, usage=models.Usage("5")), "$.usage.input_tokens"),
    (response(GOOD, usage=models.Usage(1, 2.5)), "$.usage.output_tokens"),
    (response(GOOD, usage=models.Usage(1, 2, cached_input_tokens=True)), "$.usage.cached_input_tokens"),
    (response(GOOD, usage=models.Usage(1, 2, reasoning_tokens=None)), "$.usage.reasoning_tokens"),
]


@states(AgentRule.MODEL_ANSWERS_CHECKED)
@BOTH
@pytest.mark.parametrize(("answer", "at"), ANSWERS)
async def test_a_wrong_answer_fails_the_run_with_model_and_place_before_anything_is_kept(
    path: str, answer: Any, at: str
) -> None:
    with pytest.raises(AgentError) as raised:
        await run_by(path, Agent(Gives(answer)), "q")
    cause = raised.value.__cause__
    assert isinstance(cause, InvalidResponseError)
    assert (cause.path, raised.value.path, cause.model_id) == (at, at, "liar")
    assert "model 'liar' gave a wrong answer: $" in str(raised.value)
    assert "expected" in cause.reason
    run = raised.value.run
    assert isinstance(run.pending, NeedModel)
    assert run.outcomes[-1].__class__.__name__ == "HookResult"
    assert loaded(run) == run
    assert (await Agent(Gives(response(GOOD))).resume(run)).text == "x"


@BOTH
@pytest.mark.parametrize(("answer", "at"), ANSWERS)
async def test_a_handler_s_wrong_answer_is_named_with_its_place(path: str, answer: Any, at: str) -> None:
    async def wrap(*_: Any) -> Any:
        return answer

    for middleware in (
        InvokeModelStage.wrap(wrap, name="h"),
        InvokeModelStage.output(lambda *_: answer, name="h"),
    ):
        if answer is None and middleware.phase == "output":
            continue  # it leaves the answer
        with pytest.raises(AgentError) as raised:
            await run_by(path, Agent(scripted(text()), middleware=[middleware]), "q")
        cause = raised.value.__cause__
        assert isinstance(cause, MiddlewareError)
        assert cause.handler == "h"
        assert cause.path == (None if at == "$" else at)
        assert cause.path is None or cause.path in str(cause)
        assert pickle.loads(pickle.dumps(cause)).path == cause.path


@BOTH
@pytest.mark.parametrize(
    "answer",
    [
        response(),
        response(GOOD, finish_reason=None),
        response(GeneratedText(Text("x")), finish_reason=Text("stop"), warnings=(Text("w"),)),
        response(GOOD, response_id="r", model_id="m", provider_metadata={"p": [1]}, model_state={"n": 1}),
        response(GOOD, usage=Usage(1, 2, cached_input_tokens=3, reasoning_tokens=4)),
        response(
            Source({"url": "u"}), GeneratedFile("eA==", "image/png"), GeneratedReasoning("r", {"p": {}})
        ),
        response(
            *(
                ToolCall(tool_call_id=str(n), tool_name="no", input=None, error="e", invalid=True)
                for n in (1, 2)
            )
        ),
        ModelResponse((part for part in [GOOD]), finish_reason="stop", warnings=(w for w in ["w"])),
    ],
)
async def test_an_answer_of_the_right_types_makes_a_run_that_can_be_saved_and_loaded(
    path: str, answer: Any
) -> None:
    result = await run_by(path, Agent(Gives(answer), stop_when=lambda _: True), "q")
    assert saved_and_loaded(result)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.text(max_size=2),
    st.binary(max_size=2),
    st.lists(st.integers(0, 1), max_size=2),
    st.dictionaries(st.text(max_size=1), st.integers(0, 1), max_size=1),
    st.sampled_from([GOOD, Usage(1, 2), add, ValueError(), float("nan"), response(GOOD)]),
)


@pytest.mark.slow
@given(part=st.sampled_from([type(part) for part, _ in PARTS if attrs.has(type(part))]), data=st.data())
def test_whatever_a_model_answers_the_run_fails_typed_or_can_be_saved_and_loaded(
    part: Any, data: Any
) -> None:
    def made(cls: Any) -> Any:
        fields = {
            each.alias: data.draw(JUNK, label=f"{cls.__name__}.{each.name}")
            for each in attrs.fields(cls)
            if each.init
        }
        try:
            return cls(**fields)
        except InvalidJsonError:  # refused where it is made
            return GOOD

    async def run_of(answer: ModelResponse) -> Run:
        try:
            agent = Agent(Gives(answer), tools=[add], stop_when=lambda _: True)
            return (await agent.generate("q")).run
        except AgentError as error:
            failed.append(error.__cause__)
            return error.run

    failed: list[BaseException | None] = []
    given_content = [made(part)] if data.draw(st.booleans()) else data.draw(JUNK)
    fields = {"usage": data.draw(st.one_of(JUNK, st.builds(Usage, JUNK, JUNK)))}
    fields |= {name: data.draw(JUNK) for name in ("finish_reason", "response_id", "warnings")}
    run = anyio.run(run_of, ModelResponse(given_content, **fields))
    assert all(isinstance(error, AgentCoreError) for error in failed)
    assert loaded(run) == run


def test_content_is_checked_by_itself_as_well() -> None:
    check_content([GOOD, ToolCall(tool_call_id="c", tool_name="t", input={})])
    with pytest.raises(InvalidMessageError, match=r"\$\[1\]\.text: expected str, got int"):
        check_content([GOOD, parts.GeneratedText(5)])


def test_the_error_of_an_answer_names_the_model_if_it_is_known_and_can_be_pickled() -> None:
    error = InvalidResponseError("$.x", "r", "m")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.path, again.reason, again.model_id) == (str(error), "$.x", "r", "m")
    assert str(InvalidResponseError("$.x", "r")) == "a model gave a wrong answer: $.x: r"


# ---------------------------------------------------------------- ways to answer at all


class Events:
    """A model whose stream gives these events."""

    provider = "p"
    model_id = "liar"

    def __init__(self, *events: Any) -> None:
        self.events = events
        self.asked = 0

    async def generate(self, _: ModelRequest) -> ModelResponse:
        return response(GOOD)

    @asynccontextmanager
    async def stream(self, _: ModelRequest) -> AsyncIterator[Any]:
        self.asked += 1
        yield self._events()

    async def _events(self) -> AsyncIterator[Any]:
        for event in self.events:
            yield event


DONE = ResponseDone(response(GOOD))


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([None, DONE], "$: expected an event such as TextDelta, PartDone or ResponseDone, got NoneType"),
        (
            [{"type": "text-delta"}, DONE],
            "$: expected an event such as TextDelta, PartDone or ResponseDone, got dict",
        ),
        ([GOOD, DONE], "got GeneratedText"),
        ([response(GOOD)], "got ModelResponse"),
        ([models.TextDelta("0", None), DONE], "$.text: expected str, got NoneType"),
        ([models.TextDelta(0, "x"), DONE], "$.id: expected str, got int"),
        ([models.ReasoningDelta("0", b"x"), DONE], "$.text: expected str, got bytes"),
        ([models.ToolInputDelta("c", None, text="{"), DONE], "$.tool_name: expected str, got NoneType"),
        (
            [models.PartDone("x"), DONE],
            "$.part: expected a content part such as GeneratedText or ToolCall, got str",
        ),
        ([models.PartDone(parts.GeneratedText(5)), DONE], "$.part.text: expected str, got int"),
        ([models.ResponseDone(None)], "$: expected a ModelResponse, got NoneType"),
        ([models.ResponseDone(response(5))], "$.content[0]: expected a content part"),
        (
            [DONE, models.TextDelta("0", "x")],
            "$: the stream gave a TextDelta after ResponseDone, its last event",
        ),
        ([DONE, DONE], "$: the stream gave a ResponseDone after ResponseDone"),
        ([DONE, None], "$: the stream gave a NoneType after ResponseDone"),
    ],
)
async def test_a_wrong_event_fails_the_run_with_model_and_place(events: list[Any], says: str) -> None:
    told: list[Any] = []
    with pytest.raises(AgentError) as raised:
        await streamed(Agent(Events(*events), on_chunk=told.append), "q")
    cause = raised.value.__cause__
    assert isinstance(cause, InvalidResponseError)
    assert says in str(cause)
    assert cause.model_id == "liar"
    assert told == []
    assert isinstance(raised.value.run.pending, NeedModel)


@pytest.mark.parametrize("events", [[], [TextDelta("0", "x")], [PartDone(GOOD)]])
async def test_a_stream_without_its_last_event_is_a_model_s_error(events: list[Any]) -> None:
    model = Events(*events)
    with pytest.raises(AgentError) as raised:
        await streamed(Agent(model, max_retries=1), "q", settings={})
    assert isinstance(raised.value.__cause__, ModelError)
    assert "p: liar: " not in str(raised.value)
    assert "p liar: the stream ended without a whole answer" in str(raised.value)
    # Only an answer of which nobody has heard anything can begin anew.
    assert model.asked == (1 if events else 2)


class Shapes:
    """A model that is not made as models are."""

    provider = "p"
    model_id = "liar"

    def __init__(self, generate: Any = None, stream: Any = None) -> None:
        self.generate = generate
        self.stream = stream


async def async_stream(_: ModelRequest) -> Any:
    return None


async def undecorated(_: ModelRequest) -> AsyncIterator[Any]:
    yield DONE


@asynccontextmanager
async def of_list(_: ModelRequest) -> AsyncIterator[Any]:
    yield [DONE]


@asynccontextmanager
async def swallowing(_: ModelRequest) -> AsyncIterator[Any]:
    async def events() -> AsyncIterator[Any]:
        yield TextDelta("0", "x")
        raise ValueError("dropped")

    with suppress(ValueError):
        yield events()


@pytest.mark.parametrize(
    ("path", "way", "says"),
    [
        (
            "generate",
            lambda _: response(GOOD),
            "`generate` returned a ModelResponse; define it with `async def`",
        ),
        ("generate", lambda _: None, "`generate` returned a NoneType; define it with `async def`"),
        ("stream", undecorated, "`stream` returned a async_generator; decorate it with @asynccontextmanager"),
        ("stream", async_stream, "`stream` returned a coroutine; decorate it with @asynccontextmanager"),
        ("stream", lambda _: [DONE], "`stream` returned a list"),
        ("stream", of_list, "`stream` yielded a list; yield an async iterator of events"),
        ("stream", swallowing, "the stream ended without a whole answer"),
    ],
)
async def test_a_model_that_is_made_wrongly_is_told_how(path: str, way: Any, says: str) -> None:
    model: Any = Shapes(generate=way, stream=way)
    with pytest.raises(AgentError) as raised:
        await run_by(path, Agent(model, max_retries=0), "q")
    assert isinstance(raised.value.__cause__, InvalidResponseError | ModelError)
    assert says in str(raised.value)


@pytest.mark.parametrize(("after", "attempts"), [("5", 2), (float("nan"), 2), (-1, 2), (None, 2), (61, 1)])
async def test_a_time_to_wait_that_is_none_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, after: Any, attempts: int
) -> None:
    slept: list[float] = []

    async def sleep(delay: float) -> None:
        slept.append(delay)

    monkeypatch.setattr("agentcore.agent.call.needs.anyio.sleep", sleep)
    model = scripted(ModelError("busy", retryable=True, retry_after=after), text())
    agent = Agent(model, max_retries=1)
    if attempts == 1:
        with pytest.raises(AgentError) as raised:
            await agent.generate("q")
        assert isinstance(raised.value.__cause__, ModelError)
    else:
        await agent.generate("q")
    assert len(model.calls) == attempts
    assert all(delay >= 0 for delay in slept)


# ---------------------------------------------------------------- scripts


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ([None], "$[0]: expected a list of parts, a ModelResponse or an exception, got NoneType"),
        (["hi"], "$[0]: expected a list of parts, a ModelResponse or an exception, got str"),
        (
            [{"type": "text", "text": "hi"}],
            "$[0]: expected a list of parts, a ModelResponse or an exception, got dict",
        ),
        ([[GOOD], [5]], "$[1][0]: expected a part, JSON of one or an exception, got int"),
        ([[parts.GeneratedText(5)]], "$[0][0].text: expected str, got int"),
        ([[{"type": "text", "text": 5}]], "$[0][0].text: expected str, got int"),
        ([[{"type": ["text"]}]], "$[0][0].type: expected one of text, "),
        ([[{"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": {1}}]], "$[0][0].input: a set"),
        (
            [[{"type": "tool-call", "toolCallId": 1, "toolName": "t", "input": {}}]],
            "$[0][0].tool_call_id: expected str",
        ),
        ([response(5)], "$[0].content[0]: expected a content part"),
        ([[GOOD], response(GOOD, warnings=[1])], "$[1].warnings[0]: expected str, got int"),
    ],
)
async def test_a_wrong_script_says_where(script: Sequence[Any], says: str) -> None:
    with pytest.raises(WireError) as raised:
        ScriptedModel(script)
    assert says in str(raised.value)
    answer = iter(script)
    model = ScriptedModel(lambda _: next(answer))
    for _ in script[:-1]:
        await Agent(model).generate("q")
    with pytest.raises(AgentError) as failed:
        await Agent(model).generate("q")
    cause = failed.value.__cause__
    assert isinstance(cause, WireError)
    assert str(cause) == str(raised.value).replace(f"$[{len(script) - 1}]", "$", 1)
