"""Traces for OpenTelemetry, by its semantic conventions for generative AI, through its API only.

Spans hold no text of messages, no tool input or output, and of errors the type only: texts of errors may
quote any of it. What middleware and processors changed is recorded in names and counts; whoever owns the
tracer may ask for the content as well. Imported only where there is a tracer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, get_args

import attrs
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from agentcore.agent.call.errors import AgentError
from agentcore.agent.middleware import changed_fields
from agentcore.agent.models.base import LanguageModel, ModelError, ModelRequest, ModelResponse, Usage
from agentcore.agent.telemetry import NO_WAIT, Wait
from agentcore.agent.tools import Tool
from agentcore.machine.effects import Done
from agentcore.machine.hooks import ProcessorEdit, StepOverride
from agentcore.machine.processors import InputArguments, MessageList, Mutation, StepArguments, TripwireError
from agentcore.machine.run import Interrupted, Run
from agentcore.messages.content import ToolCall
from agentcore.messages.interrupts import InterruptSignal
from agentcore.messages.messages import Message
from agentcore.messages.prompt import system_messages
from agentcore.messages.values import JsonObject, Vector, dump_json, thaw
from agentcore.messages.wire import message_to_wire

__all__ = [
    "OpenTelemetrySpans",
    "arguments_attributes",
    "result_attributes",
    "tripwire_attributes",
    "written",
]

# Model settings that have an attribute, by their names here.
_REQUEST: Final = {
    "max_output_tokens": "gen_ai.request.max_tokens",
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "seed": "gen_ai.request.seed",
    "stop_sequences": "gen_ai.request.stop_sequences",
}


class OpenTelemetrySpans:
    """Spans `invoke_agent`, `chat`, `execute_tool`, `middleware` and those of processors, of one tracer."""

    def __init__(self, tracer: Tracer, *, content: bool = False) -> None:
        self._tracer = tracer
        self._content = content

    @contextmanager
    def run(self, name: str | None, model: LanguageModel) -> Iterator[_AgentSpan]:
        """A span for one call of an agent."""
        attributes = {
            "gen_ai.agent.name": name,
            "gen_ai.provider.name": model.provider,
            "gen_ai.request.model": model.model_id,
        }
        with self._span("invoke_agent", name, SpanKind.INTERNAL, attributes) as span:
            yield _AgentSpan(span)

    @contextmanager
    def model(
        self, model: LanguageModel, request: ModelRequest, *, stream: bool, hooks: Wait
    ) -> Iterator[_ChatSpan]:
        """One attempt of a model call, which waited for these hooks of its step."""
        attributes = {
            "gen_ai.provider.name": model.provider,
            "gen_ai.request.model": model.model_id,
            "gen_ai.request.stream": stream or None,
            "gen_ai.output.type": "text" if request.response_format is None else "json",
            **_settings(request.settings),
            **_waited(hooks),
        }
        with self._span("chat", model.model_id, SpanKind.CLIENT, attributes) as span:
            yield _ChatSpan(span)

    @contextmanager
    def tool(self, call: ToolCall, tool: Tool) -> Iterator[_ToolSpan]:
        """A span for one call of a tool."""
        attributes = {
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.call.id": call.tool_call_id,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": tool.description,
        }
        with self._span("execute_tool", tool.name, SpanKind.INTERNAL, attributes) as span:
            yield _ToolSpan(span)

    @contextmanager
    def handler(self, stage: str, phase: str, name: str, step_number: int | None) -> Iterator[_HandlerSpan]:
        """A span for a handler of middleware."""
        attributes = {
            "agentcore.stage": stage,
            "agentcore.phase": phase,
            "agentcore.handler": name,
            "agentcore.step_number": step_number,
        }
        with self._span("middleware", name, SpanKind.INTERNAL, attributes) as span:
            handler = _HandlerSpan(span, content=self._content)
            try:
                yield handler
            finally:
                handler.record_end(phase)

    @contextmanager
    def processor(self, way: str, arguments: StepArguments | InputArguments) -> Iterator[_ProcessorSpan]:
        """A call of a processor's `process_input` or `process_input_step`."""
        attributes = arguments_attributes(way, arguments, content=self._content)
        title = f"{way} {arguments.processor_id}"
        with self._open(title, SpanKind.INTERNAL, attributes) as span:
            try:
                yield _ProcessorSpan(span, content=self._content)
            except TripwireError as error:
                ends = tripwire_attributes(error, content=self._content)
                span.set_attributes(_without_nothing(ends))
                raise

    @contextmanager
    def _span(
        self, operation: str, name: str | None, kind: SpanKind, attributes: Mapping[str, Any]
    ) -> Iterator[Span]:
        """A span of an operation of the conventions."""
        title = f"{operation} {name}" if name else operation
        with self._open(title, kind, {"gen_ai.operation.name": operation, **attributes}) as span:
            yield span

    @contextmanager
    def _open(self, title: str, kind: SpanKind, attributes: Mapping[str, Any]) -> Iterator[Span]:
        with self._tracer.start_as_current_span(
            title,
            kind=kind,
            attributes=_without_nothing(attributes),
            # Texts and tracebacks may hold what users wrote and what tools read; spans have the type only.
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except InterruptSignal as signal:
                span.set_attribute("agentcore.interrupt", signal.interrupt.id)
                raise
            except TripwireError:  # no failure
                raise
            except BaseException as error:  # cancellation too
                _mark(span, _error_type(error))
                raise


class _AgentSpan:
    def __init__(self, span: Span) -> None:
        self._span = span

    def record_end(self, run: Run) -> None:
        reason = _finish_reason(run)
        reasons = [] if reason is None else [reason]
        self._span.set_attributes({"gen_ai.response.finish_reasons": reasons, **_usage(run.usage)})


class _ChatSpan:
    def __init__(self, span: Span) -> None:
        self._span = span

    def record_response(self, response: ModelResponse) -> None:
        attributes = {
            "gen_ai.response.model": response.model_id,
            "gen_ai.response.id": response.response_id,
            "gen_ai.response.finish_reasons": [response.finish_reason],
            **_usage(response.usage),
        }
        self._span.set_attributes(_without_nothing(attributes))


class _ToolSpan:
    def __init__(self, span: Span) -> None:
        self._span = span

    def failed(self, error: Exception | str) -> None:
        _mark(self._span, error if isinstance(error, str) else _error_type(error))


class _HandlerSpan:
    def __init__(self, span: Span, *, content: bool) -> None:
        self._span = span
        self._content = content
        self._calls = 0
        self._changed: dict[str, None] = {}

    def called(self, given: object, passed: object) -> None:
        self._calls += 1
        self._changed |= dict.fromkeys(changed_fields(given, passed))
        if self._content:
            self._span.set_attribute("agentcore.given", written(given))
            self._span.add_event("agentcore.passed_on", {"agentcore.context": written(passed)})

    def gave(self, inner: object, result: object) -> None:
        if inner is not None:
            self._changed |= {f"result.{name}": None for name in changed_fields(inner, result)}
        if self._content:
            self._span.set_attribute("agentcore.result", written(result))

    def record_end(self, phase: str) -> None:
        if phase == "wrap":
            self._span.set_attribute("agentcore.calls", self._calls)
        self._span.set_attribute("agentcore.changed", list(self._changed))


class _ProcessorSpan:
    def __init__(self, span: Span, *, content: bool) -> None:
        self._span = span
        self._content = content

    def returned(self, result: object, edit: ProcessorEdit | None, mutations: Iterable[Mutation]) -> None:
        self._span.set_attributes(result_attributes(result, edit, mutations, content=self._content))

    def blocked(self, seconds: float) -> None:
        self._span.set_attribute("agentcore.blocked_seconds", seconds)


def _mark(span: Span, error_type: str) -> None:
    span.set_attribute("error.type", error_type)
    span.set_status(Status(StatusCode.ERROR))


def _error_type(error: BaseException) -> str:
    if isinstance(error, AgentError) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, ModelError) and error.status is not None:
        # The conventions of OpenTelemetry name an HTTP error by its code.
        return str(error.status)
    return type(error).__qualname__


def _settings(settings: JsonObject) -> dict[str, Any]:
    return {attribute: settings.get(name) for name, attribute in _REQUEST.items()}


def _waited(hooks: Wait) -> dict[str, float]:
    """The times of a step's hooks before its model call; empty without hooks."""
    if hooks is NO_WAIT:
        return {}
    return {
        "agentcore.hooks.seconds": hooks.seconds,
        "agentcore.hooks.blocked_seconds": hooks.blocked_seconds,
    }


def _usage(usage: Usage) -> dict[str, int]:
    spent = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    parts = {
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }
    return spent | {name: count for name, count in parts.items() if count}


def _without_nothing(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _finish_reason(run: Run) -> str | None:
    if isinstance(run.pending, Interrupted):
        return "interrupt"
    if isinstance(run.pending, Done):
        return run.pending.result.finish_reason
    return run.steps[-1].finish_reason if run.steps else None


_MESSAGES: Final = get_args(Message)
_PLAIN: Final = (str, int, float, bool, type(None))


def written(value: object) -> str:
    """A value as JSON text; what is no value, such as a model or a function, by the name of its type."""
    return dump_json(_plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, _MESSAGES):
        return thaw(message_to_wire(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list | Vector):
        return [_plain(item) for item in value]
    if attrs.has(type(value)):
        shown = [a.name for a in attrs.fields(type(value)) if a.repr]
        return {name: _plain(getattr(value, name)) for name in shown}
    return type(value).__name__


# Attributes of a processor's span: its arguments, its result, and the changes by it.
#
# Names, ids, kinds and counts only, so that no text of messages or instructions is in it; with content, the
# values as JSON instead. Of model settings the names in any case: there may be keys in headers.

_PREFIX: Final = "agentcore.processor"
Attributes = dict[str, Any]


def arguments_attributes(way: str, arguments: StepArguments | InputArguments, *, content: bool) -> Attributes:
    """What the processor got, under `agentcore.processor.before`."""
    named = {
        f"{_PREFIX}.id": arguments.processor_id,
        f"{_PREFIX}.method": way,
        "agentcore.step_number": arguments.step_number,
    }
    if isinstance(arguments, StepArguments):
        named["agentcore.step_count"] = len(arguments.steps)
    return named | _fields("before", _values(arguments), content=content)


def result_attributes(
    result: object, edit: ProcessorEdit | None, mutations: Iterable[Mutation], *, content: bool
) -> Attributes:
    """Attributes of what a processor returned, its changes of the list, and the fields that differ after it.

    The fields are under `agentcore.processor.after`, with those of the same names before them.
    """
    changed = {} if edit is None else _values(edit.override)
    return {
        f"{_PREFIX}.returned": _kind(result),
        f"{_PREFIX}.changed": list(changed),
        f"{_PREFIX}.mutations": [_mutation(each, content=content) for each in mutations],
        **_fields("after", changed, content=content),
    }


def tripwire_attributes(error: TripwireError, *, content: bool) -> Attributes:
    """Attributes of a run's end by a processor; its reason and metadata only as content."""
    said = {
        "agentcore.tripwire.reason": error.reason,
        "agentcore.tripwire.metadata": None if error.metadata is None else dump_json(error.metadata),
    }
    return {"agentcore.tripwire.retry": error.retry, **(said if content else {})}


# ---------------------------------------------------------------- fields

_RENAMED: Final = {"system": "system_messages", "response_format": "structured_output"}


def _values(source: StepArguments | InputArguments | StepOverride) -> dict[str, Any]:
    """The fields that a processor may return, of what it got or of what it changed."""
    names = {_RENAMED.get(each.name, each.name): each.name for each in attrs.fields(type(source))}
    values = {name: getattr(source, field) for name, field in names.items() if name in _BRIEF}
    return {name: value for name, value in values.items() if value is not None}


def _fields(when: str, values: Mapping[str, Any], *, content: bool) -> Attributes:
    write = _in_full if content else _in_brief
    return {f"{_PREFIX}.{when}.{name}": write(name, value) for name, value in values.items()}


def _count(value: Any) -> int:
    return len(value)


_BRIEF: Final[dict[str, Callable[[Any], Any]]] = {
    "messages": _count,
    "lasting_messages": _count,
    "system_messages": lambda value: len(system_messages(value)),
    "model": str,
    "tool_choice": lambda value: value.get("toolName", value["type"]),
    "active_tools": list,
    "provider_options": list,
    "model_settings": list,
    "structured_output": lambda value: value["type"],
    # That there is one.
    "experimental_context": lambda _: True,
}


def _in_brief(name: str, value: Any) -> Any:
    return _BRIEF[name](value)


def _in_full(name: str, value: Any) -> Any:
    # Also with content: headers among them may hold keys.
    if name == "model_settings":
        return _in_brief(name, value)
    if name == "system_messages":
        value = system_messages(value)
    if name.endswith("messages"):
        value = list(map(message_to_wire, value))
    return value if isinstance(value, str) else dump_json(value)


def _mutation(mutation: Mutation, *, content: bool) -> str:
    if content:
        messages = list(map(message_to_wire, mutation.messages))
        return dump_json({"kind": mutation.kind, "ids": mutation.ids, "messages": messages})
    return " ".join((mutation.kind, *mutation.ids))


def _kind(result: object) -> str:
    if result is None:
        return "nothing"
    if isinstance(result, MessageList):
        return "message_list"
    return "fields" if isinstance(result, StepOverride | Mapping) else "messages"
