"""A model that answers from a script: for tests, examples, and agents without a provider."""

from __future__ import annotations

import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final, TypeAlias, cast, get_args

import anyio
from anyio.lowlevel import checkpoint

from agentcore.agent.models.base import (
    InvalidResponseError,
    ModelEvent,
    ModelRequest,
    ModelResponse,
    PartDone,
    ReasoningDelta,
    ResponseDone,
    TextDelta,
    ToolInputDelta,
    check_response,
)
from agentcore.errors import InvalidJsonError, InvalidMessageError, WireError
from agentcore.messages.content import (
    ContentPart,
    GeneratedReasoning,
    GeneratedText,
    Source,
    ToolApprovalRequest,
    ToolCall,
    check_part,
)
from agentcore.messages.values import FrozenList, dump_json, frozen, json_path

__all__ = ["Answer", "Script", "ScriptedModel"]

Answer: TypeAlias = Sequence[ContentPart | Mapping[str, Any] | Exception] | ModelResponse | Exception
"""One answer: its parts, or a whole response, or what is raised instead."""

Script: TypeAlias = Sequence[Answer] | Callable[[ModelRequest], Answer | Awaitable[Answer]]

_PARTS: Final = get_args(ContentPart)
_KINDS: Final[dict[object, Any]] = {cls.type: cls for cls in _PARTS}


@frozen
class _Scripted:
    response: ModelResponse
    failure: Exception | None = None


class ScriptedModel:
    """A model that gives the answers of a script, one a call in the order of the calls, then empty ones.

    The script is a list of answers, or a function (sync or async) that makes an answer to a request. An
    answer is a list of parts (values, or JSON of them such as `{"type": "text", "text": "hi"}`), a
    ModelResponse, or an exception, which is raised at that call. An exception among the parts is raised when
    its turn comes: by `stream` after the parts before it.

    Each answer begins after `delay` seconds, and `stream` gives texts and inputs in pieces of `chunk`
    characters, whole if that is None. All is values but the record of the requests, `calls`, which grows.
    `holds_history` makes it a model that holds the history on its side.

    Raises WireError, with the path in the script, for what is no answer and for a wrong part or response: for
    a list at once, for a function when it is called.
    """

    def __init__(
        self,
        script: Script,
        *,
        model_id: str = "scripted",
        delay: float = 0.0,
        chunk: int | None = None,
        holds_history: bool = False,
    ) -> None:
        if chunk is not None and chunk < 1:
            raise ValueError("chunk is 1 or more characters, or None for whole texts")
        self._function = script if callable(script) else None
        self._left = iter(()) if callable(script) else iter(_prepared_script(script))
        self._model_id = model_id
        self._delay = delay
        self._chunk = chunk
        self._holds_history = holds_history
        self._calls: list[ModelRequest] = []

    def __repr__(self) -> str:
        return f"ScriptedModel(model_id={self._model_id!r}, calls={len(self._calls)})"

    @property
    def provider(self) -> str:
        """Always `scripted`."""
        return "scripted"

    @property
    def model_id(self) -> str:
        """The name given."""
        return self._model_id

    @property
    def holds_history(self) -> bool:
        """Whether it holds the history on its side, as given when it was made."""
        return self._holds_history

    @property
    def calls(self) -> tuple[ModelRequest, ...]:
        """The requests so far, in the order of the calls, those that failed too."""
        return FrozenList(self._calls)

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the next answer, and keep the `request`. Raises the error that stands in its place."""
        scripted = await self._next(request)
        if scripted.failure is not None:
            raise scripted.failure
        return scripted.response

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        """Yield the next answer in events, and keep the `request`.

        Yields:
            The events, in chunks of the size that the model was made with.

        Raises:
            ModelError: the script's error in place of the answer, or after its first parts.
        """
        scripted = await self._next(request)
        if scripted.failure is not None and not scripted.response.content:
            raise scripted.failure
        async with aclosing(_paced(scripted, self._chunk)) as events:
            yield events

    async def _next(self, request: ModelRequest) -> _Scripted:
        self._calls.append(request)
        if self._function is None:
            # Taken before anything is awaited: the order of the answers is that of the calls.
            scripted = next(self._left, _NOTHING)
        else:
            answer = self._function(request)
            scripted = _prepared(await answer if inspect.isawaitable(answer) else answer, "$")
        await anyio.sleep(self._delay)
        return scripted


# ---------------------------------------------------------------- the script


def _prepared_script(script: Sequence[Answer]) -> list[_Scripted]:
    return [_prepared(answer, json_path("$", index)) for index, answer in enumerate(script)]


def _prepared(answer: Answer, path: str) -> _Scripted:
    if isinstance(answer, ModelResponse):
        return _Scripted(_checked(answer, path))
    if isinstance(answer, Exception):
        return _Scripted(_response(()), answer)
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
        kind = type(answer).__name__
        raise WireError(path, f"expected a list of parts, a ModelResponse or an exception, got {kind}")
    parts: list[ContentPart] = []
    for index, part in enumerate(answer):
        if isinstance(part, Exception):
            return _Scripted(_response(parts), part)
        parts.append(_part(part, json_path(path, index)))
    return _Scripted(_response(parts))


def _checked(response: ModelResponse, path: str) -> ModelResponse:
    try:
        return check_response(response)
    except InvalidResponseError as error:
        raise WireError(path + error.path.removeprefix("$"), error.reason) from None


def _response(parts: Sequence[ContentPart]) -> ModelResponse:
    calls = any(isinstance(part, ToolCall) for part in parts)
    return ModelResponse(parts, finish_reason="tool-calls" if calls else "stop")


_NOTHING: Final = _Scripted(_response(()))


def _part(part: object, path: str) -> ContentPart:
    made = part if isinstance(part, _PARTS) else _made(part, path)
    try:
        check_part(made, path)
    except InvalidMessageError as error:
        raise WireError(error.path, error.reason) from None
    return made


def _made(part: object, path: str) -> ContentPart:
    if not isinstance(part, Mapping):
        raise WireError(path, f"expected a part, JSON of one or an exception, got {type(part).__name__}")
    name = part.get("type")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise WireError(f"{path}.type", f"expected one of {', '.join(map(str, _KINDS))}")
    fields = {_snake(key): value for key, value in part.items() if key != "type"}
    if kind is Source:
        return Source({key: value for key, value in part.items() if key != "type"})
    if kind is ToolApprovalRequest and "tool_call" in fields:
        fields["tool_call"] = _part(fields["tool_call"], f"{path}.toolCall")
    try:
        return cast("ContentPart", kind(**fields))
    except InvalidJsonError as error:
        raise WireError(path + error.path.removeprefix("$"), error.reason) from None
    except TypeError as error:
        raise WireError(path, f"no {name} part: {error}") from None


def _snake(key: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in key)


# ---------------------------------------------------------------- events


async def _paced(scripted: _Scripted, chunk: int | None) -> AsyncGenerator[ModelEvent, None]:
    for index, part in enumerate(scripted.response.content):
        for delta in _deltas(part, str(index), chunk):
            yield delta
            await checkpoint()
        yield PartDone(part)
        await checkpoint()
    if scripted.failure is not None:
        raise scripted.failure
    yield ResponseDone(scripted.response)


def _deltas(part: ContentPart, part_id: str, chunk: int | None) -> Iterator[ModelEvent]:
    match part:
        case GeneratedText():
            yield from (TextDelta(part_id, text) for text in _pieces(part.text, chunk))
        case GeneratedReasoning():
            yield from (ReasoningDelta(part_id, text) for text in _pieces(part.text, chunk))
        case ToolCall():
            for text in _pieces(_input_text(part), chunk):
                yield ToolInputDelta(part.tool_call_id, part.tool_name, text=text)
        case _:
            pass


def _input_text(call: ToolCall) -> str:
    # The input of an invalid call is the text that the model wrote.
    return call.input if call.invalid and isinstance(call.input, str) else dump_json(call.input)


def _pieces(text: str, chunk: int | None) -> Iterator[str]:
    step = chunk or len(text) or 1
    return (text[start : start + step] for start in range(0, len(text), step))
