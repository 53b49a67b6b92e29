"""A model provider on loopback: OpenAI's chat completions and Anthropic's messages, over real HTTP.

`with Provider([...]) as provider:` serves one reply of the script per request, as JSON or, where the request
asks for it, as server-sent events. It runs in threads of its own, so any event loop can talk to it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self, TypeAlias

OPENAI: Final = "openai"
ANTHROPIC: Final = "anthropic"
CHUNK: Final = 5
"""Characters in one streamed piece of a text or an input."""


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Thinking:
    text: str
    signature: str = ""


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    input: str


@dataclass(frozen=True)
class Answer:
    """What a model says. `finish` is in OpenAI's words, None for a stream that ends without one."""

    parts: Sequence[Text | Thinking | Call] = ()
    finish: str | None = "stop"
    tokens: tuple[int, int] = (10, 5)
    cached: int = 0
    reasoning: int = 0
    # The connection is cut after so many events.
    cut_after: int | None = None
    # Seconds before the answer begins.
    delay: float = 0.0


@dataclass(frozen=True)
class Failure:
    """An HTTP error, or whatever else is no answer; a `body` of text is sent as it is."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Events:
    """Server-sent events as they are, each the name, if any, and the data."""

    events: Sequence[tuple[str | None, Any]]
    cut: bool = False


Reply: TypeAlias = Answer | Failure | Events


@dataclass(frozen=True)
class Request:
    protocol: str
    headers: Mapping[str, str]
    body: Any


class Provider:
    """The server; `requests` are those it had, in their order."""

    def __init__(self, script: Sequence[Reply]) -> None:
        self.requests: list[Request] = []
        self.script = list(script)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """Of the server, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Without it, each small write waits for the one before to be acknowledged.
        disable_nagle_algorithm = True

        def handle(self) -> None:
            # Clients leave early, as some tests do.
            with suppress(BrokenPipeError, ConnectionResetError):
                super().handle()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            protocol = ANTHROPIC if self.path.split("?")[0].endswith("/messages") else OPENAI
            provider.requests.append(Request(protocol, dict(self.headers), body))
            reply = provider.script.pop(0)
            if isinstance(reply, Answer):
                time.sleep(reply.delay)
            _reply(self, protocol, reply, stream=bool(body.get("stream")))

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def _reply(handler: BaseHTTPRequestHandler, protocol: str, reply: Reply, *, stream: bool) -> None:
    if isinstance(reply, Failure):
        _send(handler, reply.status, reply.body, reply.headers)
    elif isinstance(reply, Events):
        _send_events(handler, list(reply.events), cut=reply.cut)
    elif stream:
        events = list((_openai_events if protocol == OPENAI else _anthropic_events)(reply))
        _send_events(handler, events[: reply.cut_after], cut=reply.cut_after is not None)
    else:
        _send(handler, 200, (_openai_json if protocol == OPENAI else _anthropic_json)(reply), {})


def _send(handler: BaseHTTPRequestHandler, status: int, body: Any, headers: Mapping[str, str]) -> None:
    payload = (body if isinstance(body, str) else json.dumps(body)).encode()
    handler.send_response(status)
    for name, value in {"content-type": "application/json", **headers}.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(payload)))
    handler.end_headers()
    handler.wfile.write(payload)


def _send_events(
    handler: BaseHTTPRequestHandler, events: Sequence[tuple[str | None, Any]], *, cut: bool
) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    for name, data in events:
        head = "" if name is None else f"event: {name}\n"
        text = f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()
        handler.wfile.write(f"{len(text):x}\r\n".encode() + text + b"\r\n")
    if cut:
        # Without the last, empty chunk: the client sees that there was to be more.
        handler.close_connection = True
    else:
        handler.wfile.write(b"0\r\n\r\n")


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + CHUNK] for start in range(0, len(text), CHUNK))


# ---------------------------------------------------------------- OpenAI


def _openai_usage(answer: Answer) -> dict[str, Any]:
    return {
        "prompt_tokens": answer.tokens[0],
        "completion_tokens": answer.tokens[1],
        "total_tokens": sum(answer.tokens),
        "prompt_tokens_details": {"cached_tokens": answer.cached},
        "completion_tokens_details": {"reasoning_tokens": answer.reasoning},
    }


def _openai_json(answer: Answer) -> dict[str, Any]:
    text = "".join(part.text for part in answer.parts if isinstance(part, Text))
    thinking = "".join(part.text for part in answer.parts if isinstance(part, Thinking))
    calls = [part for part in answer.parts if isinstance(part, Call)]
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if thinking:
        message["reasoning_content"] = thinking
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.input}}
            for call in calls
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-test-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}],
        "usage": _openai_usage(answer),
    }


def _openai_events(answer: Answer) -> Iterator[tuple[str | None, Any]]:
    def chunk(choices: list[dict[str, Any]], **more: Any) -> tuple[None, dict[str, Any]]:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000}
        return None, {**head, "model": "gpt-test-2026", "choices": choices, **more}

    def delta(fields: dict[str, Any], finish: str | None = None) -> tuple[None, dict[str, Any]]:
        return chunk([{"index": 0, "delta": fields, "finish_reason": finish}])

    yield delta({"role": "assistant", "content": ""})
    calls = 0
    for part in answer.parts:
        match part:
            case Text():
                yield from (delta({"content": piece}) for piece in _pieces(part.text))
            case Thinking():
                yield from (delta({"reasoning_content": piece}) for piece in _pieces(part.text))
            case Call():
                head = {"index": calls, "id": part.id, "type": "function"}
                yield delta({"tool_calls": [{**head, "function": {"name": part.name, "arguments": ""}}]})
                for piece in _pieces(part.input):
                    yield delta({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})
                calls += 1
    if answer.finish is not None:
        yield delta({}, answer.finish)
    yield chunk([], usage=_openai_usage(answer))
    yield None, "[DONE]"


# ---------------------------------------------------------------- Anthropic

_STOP_REASONS: Final = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    None: None,
}


def _anthropic_usage(answer: Answer) -> dict[str, Any]:
    return {
        "input_tokens": answer.tokens[0] - answer.cached,
        "output_tokens": answer.tokens[1],
        "cache_read_input_tokens": answer.cached,
        "cache_creation_input_tokens": 0,
    }


def _anthropic_block(part: Text | Thinking | Call) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case Call():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": json.loads(part.input)}


def _anthropic_json(answer: Answer) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-2026",
        "content": [_anthropic_block(part) for part in answer.parts],
        "stop_reason": _STOP_REASONS[answer.finish],
        "stop_sequence": None,
        "usage": _anthropic_usage(answer),
    }


def _anthropic_events(answer: Answer) -> Iterator[tuple[str | None, Any]]:
    def event(name: str, **fields: Any) -> tuple[str, dict[str, Any]]:
        return name, {"type": name, **fields}

    empty = {
        **_anthropic_json(Answer(tokens=(answer.tokens[0], 1), cached=answer.cached)),
        "stop_reason": None,
    }
    yield event("message_start", message=empty)
    for index, part in enumerate(answer.parts):
        yield event("content_block_start", index=index, content_block=_anthropic_empty_block(part))
        for delta in _anthropic_deltas(part):
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    if answer.finish is not None:
        stop = {"stop_reason": _STOP_REASONS[answer.finish], "stop_sequence": None}
        yield event("message_delta", delta=stop, usage={"output_tokens": answer.tokens[1]})
        yield event("message_stop")


def _anthropic_empty_block(part: Text | Thinking | Call) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": ""}
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case Call():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}


def _anthropic_deltas(part: Text | Thinking | Call) -> Iterator[dict[str, Any]]:
    match part:
        case Text():
            yield from ({"type": "text_delta", "text": piece} for piece in _pieces(part.text))
        case Thinking():
            yield from ({"type": "thinking_delta", "thinking": piece} for piece in _pieces(part.text))
            yield {"type": "signature_delta", "signature": part.signature}
        case Call():
            yield from ({"type": "input_json_delta", "partial_json": piece} for piece in _pieces(part.input))
