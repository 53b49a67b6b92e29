"""What goes wrong with real protocols, over HTTP on loopback: a ModelError, and none tells a secret."""

from __future__ import annotations

import socket
import traceback
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Final

import anyio
import pytest
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage
from pydantic_ai.messages import ModelResponse as TheirResponse
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.providers.openai import OpenAIProvider

from agent.models.server import ANTHROPIC, OPENAI, Answer, Events, Failure, Provider, Reply, Text
from agent.models.talk import BOTH, KEY, asking, client_model, stream_events, talking
from agentcore.agent.models import (
    ModelError,
    ModelEvent,
    ModelRequest,
    ModelResponse,
    ResponseDone,
    TextDelta,
)
from agentcore.agent.models.pydantic_ai import PydanticAIModel
from agentcore.messages.messages import FilePart, UserMessage

pytestmark = pytest.mark.anyio

HELLO: Final = Answer([Text("hello there, who are you?")])
TYPES: Final = {
    401: "authentication_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def refusal(status: int, text: str = "no", **headers: str) -> Failure:
    """An HTTP error in the words of both protocols."""
    body = {"type": "error", "error": {"type": TYPES.get(status, "some_error"), "message": text}}
    return Failure(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


async def failure(model: PydanticAIModel, request: ModelRequest | None = None, *, stream: bool) -> ModelError:
    ask = stream_events(model, request or asking()) if stream else model.generate(request or asking())
    with pytest.raises(ModelError) as caught:
        await ask
    return caught.value


async def failed(protocol: str, reply: Reply, *, stream: bool = False, **options: Any) -> ModelError:
    async with talking(protocol, reply, **options) as (model, provider):
        error = await failure(model, stream=stream)
        assert len(provider.requests) == 1  # the client tried once: to try again is the agent's business
    return error


BOTH_WAYS: Final = pytest.mark.parametrize("stream", [False, True], ids=["generate", "stream"])
BOTH_PROTOCOLS: Final = pytest.mark.parametrize("protocol", BOTH)


RETRYABLE: Final = {
    **dict.fromkeys((400, 401, 403, 404, 413, 422), False),
    **dict.fromkeys((408, 409, 429, 500, 502, 503, 529), True),
}
NAMES: Final = {OPENAI: "gpt-4o", ANTHROPIC: "claude-test"}


@BOTH_PROTOCOLS
@BOTH_WAYS
async def test_a_status_says_whether_to_try_again(protocol: str, stream: bool) -> None:
    script = [refusal(status, "not today") for status in RETRYABLE]
    async with talking(protocol, *script) as (model, provider):
        for asked, (status, retryable) in enumerate(RETRYABLE.items(), start=1):
            error = await failure(model, stream=stream)
            assert (error.status, error.retryable, error.retry_after) == (status, retryable, None)
            assert error.reason == "not today"
            assert (error.provider, error.model_id) == (protocol, NAMES[protocol])
            assert error.body is not None
            assert "not today" in error.body
            # The client tried once: to try again is the agent's business.
            assert len(provider.requests) == asked


AFTER: Final = {"7": 7.0, "0": 0.0, "1.5": 1.5, "soon": None, "-3": None, "inf": None, "nan": None}


@BOTH_PROTOCOLS
async def test_the_provider_says_when_to_try_again(protocol: str) -> None:
    async with talking(protocol, *(refusal(429, retry_after=header) for header in AFTER)) as (model, _):
        for seconds in AFTER.values():
            error = await failure(model, stream=False)
            assert (error.status, error.retryable, error.retry_after) == (429, True, seconds)


@BOTH_PROTOCOLS
async def test_the_provider_may_say_when_to_try_again_by_a_date(protocol: str) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    error = await failed(protocol, refusal(503, retry_after=date))
    assert error.retry_after is not None
    assert 90 < error.retry_after <= 100
    assert (
        await failed(protocol, refusal(503, retry_after="Mon, 01 Jan 2024 00:00:00 GMT"))
    ).retry_after == 0


@BOTH_PROTOCOLS
async def test_the_provider_knows_best_whether_to_try_again(protocol: str) -> None:
    assert not (await failed(protocol, refusal(500, x_should_retry="false"))).retryable
    assert (await failed(protocol, refusal(400, x_should_retry="true"))).retryable


async def test_an_empty_account_is_no_matter_of_waiting() -> None:
    body = {"error": {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}}
    error = await failed(OPENAI, Failure(429, body))
    assert (error.status, error.retryable) == (429, False)


async def test_a_status_that_no_rule_knows_is_not_tried_again() -> None:
    error = await failed(OPENAI, Failure(418, {}))
    assert (error.status, error.retryable) == (418, False)
    assert error.reason == "the provider refused the request"


# ---------------------------------------------------------------- connections


@BOTH_PROTOCOLS
async def test_a_stream_broken_in_the_middle_is_an_error_after_what_came(protocol: str) -> None:
    seen: list[ModelEvent] = []

    async def read(events: AsyncIterator[ModelEvent]) -> None:
        async for event in events:
            seen.append(event)  # noqa: PERF401 - what came before the error is wanted

    cut = Answer(HELLO.parts, cut_after=4)
    async with talking(protocol, cut) as (model, _), model.stream(asking()) as events:
        with pytest.raises(ModelError) as caught:
            await read(events)
    assert seen[:1] == [TextDelta("0", "hello")]
    assert not any(isinstance(event, ResponseDone) for event in seen)
    assert (caught.value.status, caught.value.retryable) == (None, True)
    assert "connection failed" in caught.value.reason


@BOTH_PROTOCOLS
async def test_a_stream_that_ends_without_a_reason_is_broken_unless_that_is_expected(protocol: str) -> None:
    silent = Answer(HELLO.parts, finish=None)
    error = await failed(protocol, silent, stream=True)
    assert error.retryable
    assert "without saying why" in error.reason
    async with talking(protocol, silent, require_finish_reason=False) as (model, _):
        last = (await stream_events(model, asking()))[-1]
    assert isinstance(last, ResponseDone)


@BOTH_PROTOCOLS
async def test_an_error_in_a_stream_is_an_error(protocol: str) -> None:
    body = {"type": "overloaded_error", "message": "too much"}
    event: tuple[str | None, Any] = (None, {"error": body})
    if protocol == ANTHROPIC:
        event = ("error", {"type": "error", "error": body})
    error = await failed(protocol, Events([event]), stream=True)
    assert error.retryable
    assert "too much" in error.reason


@BOTH_PROTOCOLS
@BOTH_WAYS
async def test_an_answer_that_is_no_json_is_an_error(protocol: str, stream: bool) -> None:
    page: Reply = Events([("message_start", "{oh")]) if stream else Failure(200, "{oh")
    error = await failed(protocol, page, stream=stream)
    assert error.retryable
    assert "JSON" in error.reason


@BOTH_PROTOCOLS
async def test_an_answer_that_is_a_page_is_an_error(protocol: str) -> None:
    error = await failed(protocol, Failure(200, "<html>oops</html>", {"content-type": "text/html"}))
    assert error.retryable


SHAPES: Final[tuple[Any, ...]] = ({}, {"choices": []}, {"content": "x", "usage": 1}, [1], None)


@BOTH_PROTOCOLS
async def test_an_answer_of_another_shape_is_an_error(protocol: str) -> None:
    async with talking(protocol, *(Failure(200, body) for body in SHAPES)) as (model, _):
        for _body in SHAPES:
            error = await failure(model, stream=False)
            assert error.status is None


@BOTH_PROTOCOLS
@BOTH_WAYS
async def test_a_provider_that_is_not_there_is_an_error(protocol: str, stream: bool) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        async with PydanticAIModel(client_model(protocol, url)) as model:
            error = await failure(model, stream=stream)
    assert (error.status, error.retryable) == (None, True)


@BOTH_PROTOCOLS
@pytest.mark.parametrize("setting", ["timeout", "request_timeout"])
async def test_an_answer_that_takes_too_long_is_an_error(protocol: str, setting: str) -> None:
    async with talking(protocol, Answer(delay=0.5)) as (model, _):
        error = await failure(model, asking(settings={setting: 0.05}), stream=False)
    assert (error.status, error.retryable) == (None, True)
    assert "in time" in error.reason


@BOTH_PROTOCOLS
async def test_a_call_can_be_cancelled(protocol: str) -> None:
    async with talking(protocol, Answer(delay=0.5)) as (model, _):
        with anyio.move_on_after(0.05) as scope:
            await model.generate(asking())
    assert scope.cancelled_caught


# ---------------------------------------------------------------- what the request itself does


async def test_a_request_that_no_provider_could_read_is_an_error() -> None:
    async with talking(OPENAI) as (model, provider):
        video = ModelRequest(prompt=[UserMessage([FilePart("https://x.org/a", "video/mp4")])])
        bad = ModelRequest(prompt=[UserMessage([FilePart("a", "image/png")])])
        for request in (video, bad, asking("\ud800")):
            assert not (await failure(model, request, stream=False)).retryable
        assert provider.requests == []


async def test_warnings_made_errors_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def warns(_messages: list[ModelMessage], _info: AgentInfo) -> TheirResponse:
        raise DeprecationWarning("old")

    with pytest.raises(DeprecationWarning, match="old"):
        await PydanticAIModel(FunctionModel(warns)).generate(asking())

    def named(_name: str) -> Model:
        raise DeprecationWarning("old name")

    monkeypatch.setattr("agentcore.agent.models.pydantic_ai.infer_model", named)
    with pytest.raises(DeprecationWarning, match="old name"):
        PydanticAIModel("openai:gpt-0")


async def test_a_mistake_of_the_library_is_an_error_of_the_model() -> None:
    def fails(_messages: list[ModelMessage], _info: AgentInfo) -> TheirResponse:
        raise ZeroDivisionError("oh")

    error = await failure(PydanticAIModel(FunctionModel(fails)), stream=False)
    assert error.reason == "pydantic-ai failed with ZeroDivisionError: oh"
    assert not error.retryable


async def test_of_several_models_the_last_failure_is_told() -> None:
    with Provider([refusal(401), refusal(503, "later")]) as provider:
        models = [client_model(OPENAI, provider.url), client_model(OPENAI, provider.url)]
        async with PydanticAIModel(FallbackModel(*models)) as model:
            error = await failure(model, stream=False)
    assert (error.status, error.reason) == (503, "later")


# ---------------------------------------------------------------- secrets


def told(error: BaseException) -> str:
    """All that anybody is likely to print of an error, the errors it came from included."""
    return "\n".join([*traceback.format_exception(error), repr(error), str(error), repr(vars(error))])


QUERY: Final = "in-the-query"
SECRETS: Final = (
    KEY,
    "pass%20word",
    "pass word",
    QUERY,
    "in-a-header",
    "sk-of-someone-else",
    "environmental",
)


def echo(*texts: str) -> Sequence[Reply]:
    """Providers that say what they should not, in every way they have."""
    text = " ".join(texts)
    return (
        refusal(401, f"Incorrect API key provided: {text}"),
        Failure(500, text),
        Failure(200, "{" + text),
        Events([(None, {"error": {"message": text}})]),
        Events([("error", {"type": "error", "error": {"type": "api_error", "message": text}})]),
    )


@BOTH_PROTOCOLS
@BOTH_WAYS
async def test_no_secret_is_in_what_is_told_of_an_error(
    protocol: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_OTHER_TOKEN", "environmental")
    quoted = f"Bearer {KEY} https://me:pass%20word@x.org/?k={QUERY}"
    replies = echo(*(secret for secret in SECRETS if secret != QUERY), quoted)
    with Provider(replies) as provider:
        url = provider.url.replace("//", "//me:pass%20word@")
        async with PydanticAIModel(client_model(protocol, url)) as model:
            request = asking(settings={"headers": {"x-mine": "in-a-header"}}, provider_options={})
            for _ in replies:
                error = await failure(model, request, stream=stream)
                assert error.__cause__ is error.__context__ is None
                assert [secret for secret in SECRETS if secret in told(error)] == []
                assert KEY not in repr(model)
        assert provider.requests[0].headers["x-mine"] == "in-a-header"


async def test_no_secret_of_a_url_is_told_if_nobody_is_there() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://me:pass%20word@127.0.0.1:{held.getsockname()[1]}/?key={QUERY}"
        async with PydanticAIModel(client_model(OPENAI, url)) as model:
            error = await failure(model, stream=False)
    assert [secret for secret in SECRETS if secret in told(error)] == []


async def test_keys_of_all_the_models_behind_one_are_hidden() -> None:
    with Provider([refusal(401, f"bad {KEY}"), refusal(401, f"bad {KEY} other-key-of-mine")]) as provider:
        first = client_model(OPENAI, provider.url)
        second = client_model(OPENAI, provider.url)
        assert isinstance(second.provider, OpenAIProvider)
        second.provider.client.api_key = "other-key-of-mine"
        async with PydanticAIModel(FallbackModel(first, second)) as model:
            error = await failure(model, stream=False)
    assert error.reason == "bad *** ***"


async def test_the_text_of_an_error_is_bounded_and_its_secrets_are_hidden_before_that() -> None:
    def fails(_messages: list[ModelMessage], _info: AgentInfo) -> TheirResponse:
        raise UnexpectedModelBehavior("x" * 480 + " sk-of-someone-else " + "x" * 100, body="y" * 1000)

    error = await failure(PydanticAIModel(FunctionModel(fails)), stream=False)
    assert error.retryable
    assert len(error.reason) == 501
    assert "sk-of" not in error.reason
    assert error.body == "y" * 500 + "…"


async def test_a_body_of_any_kind_can_be_told() -> None:
    def fails(_messages: list[ModelMessage], _info: AgentInfo) -> TheirResponse:
        raise ModelHTTPError(500, "m", body={"when": datetime(2026, 1, 1, tzinfo=UTC)})

    error = await failure(PydanticAIModel(FunctionModel(fails)), stream=False)
    assert error.body is not None
    assert "2026" in error.body


def test_responses_hold_no_url() -> None:
    assert "url" not in ModelResponse.__annotations__
