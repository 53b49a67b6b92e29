"""The content of a step, from the model and the tools, and the messages that the loop makes of it.

The rules are named in `agentcore.requirements.rules`; where one is applied, its name stands beside the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Final, Literal, TypeAlias, cast, get_args

import attrs
from attrs import field
from immutabledict import immutabledict

from agentcore.errors import (
    InvalidMessageError,
    InvalidToolApprovalError,
    ToolCallNotFoundForApprovalError,
)
from agentcore.messages.converters import error, input_json, output, part_metadata, source_fields
from agentcore.messages.messages import (
    OUTPUT_TYPES,
    AssistantMessage,
    AssistantPart,
    ErrorJsonOutput,
    ErrorTextOutput,
    ExecutionDeniedOutput,
    FilePart,
    JsonOutput,
    Message,
    ReasoningPart,
    TextOutput,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolPart,
    ToolResultPart,
)
from agentcore.messages.values import (
    NO_ITEMS,
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    dump_json,
    frozen_list,
    maker,
    sealed,
    strict_key,
    vector,
)

__all__ = [
    "Approval",
    "Approvals",
    "ContentPart",
    "FieldTypes",
    "GeneratedFile",
    "GeneratedReasoning",
    "GeneratedText",
    "Source",
    "ToolApprovalRequest",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "Usage",
    "approval_messages",
    "check_content",
    "check_part",
    "check_type",
    "collect_approvals",
    "error_text",
    "to_response_messages",
]

# What model calls cost, in tokens.


@sealed
@attrs.frozen
class Usage:
    """Tokens that were paid for; the cached ones are among the input, those of reasoning among the output."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = field(default=0, kw_only=True)
    reasoning_tokens: int = field(default=0, kw_only=True)

    @property
    def total_tokens(self) -> int:
        """Input and output."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: object) -> Usage:
        if not isinstance(other, Usage):
            return NotImplemented
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@sealed
@attrs.frozen
class GeneratedText:
    """Text that the model wrote."""

    type: ClassVar[Literal["text"]] = "text"
    text: str
    provider_metadata: JsonObject | None = field(default=None, converter=part_metadata, eq=strict_key)


@sealed
@attrs.frozen
class GeneratedReasoning:
    """Reasoning that the model wrote."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    text: str
    provider_metadata: JsonObject | None = field(default=None, converter=part_metadata, eq=strict_key)


@sealed
@attrs.frozen
class GeneratedFile:
    """A file that the model made; `data` is base64 text."""

    type: ClassVar[Literal["file"]] = "file"
    data: str
    media_type: str
    provider_metadata: JsonObject | None = field(
        default=None, converter=part_metadata, eq=strict_key, kw_only=True
    )


@sealed
@attrs.frozen
class Source:
    """A source that the model cites, as JSON (`sourceType`, `id`, `url`, ...); no message ever holds it."""

    type: ClassVar[Literal["source"]] = "source"
    fields: JsonObject = field(converter=source_fields, eq=strict_key)


@sealed
@attrs.frozen(kw_only=True)
class ToolCall:
    """A tool call of the model.

    A call that cannot be run is `invalid`, with the `error` text: an adapter could not read its input, or the
    step does not offer its tool. A `dynamic` call is of a tool that nobody declared.
    """

    type: ClassVar[Literal["tool-call"]] = "tool-call"
    tool_call_id: str
    tool_name: str
    input: JsonValue = field(converter=input_json, eq=strict_key)
    provider_executed: bool | None = None
    dynamic: bool | None = None
    invalid: bool | None = None
    error: str | None = None
    title: str | None = None
    provider_metadata: JsonObject | None = field(default=None, converter=part_metadata, eq=strict_key)


@sealed
@attrs.frozen(kw_only=True)
class ToolResult:
    """The result of a call; `model_output` is the tool's own conversion of it for the model, if any."""

    type: ClassVar[Literal["tool-result"]] = "tool-result"
    tool_call_id: str
    tool_name: str
    input: JsonValue = field(default=None, converter=input_json, eq=strict_key)
    output: JsonValue = field(converter=output, eq=strict_key)
    model_output: ToolOutput | None = None
    provider_executed: bool | None = None
    dynamic: bool | None = None
    provider_metadata: JsonObject | None = field(default=None, converter=part_metadata, eq=strict_key)


@sealed
@attrs.frozen(kw_only=True)
class ToolError:
    """The error of a call: a text, or JSON if the provider executed the call."""

    type: ClassVar[Literal["tool-error"]] = "tool-error"
    tool_call_id: str
    tool_name: str
    input: JsonValue = field(default=None, converter=input_json, eq=strict_key)
    error: JsonValue = field(converter=error, eq=strict_key)
    provider_executed: bool | None = None
    dynamic: bool | None = None
    provider_metadata: JsonObject | None = field(default=None, converter=part_metadata, eq=strict_key)


@sealed
@attrs.frozen
class ToolApprovalRequest:
    """A call that waits for somebody's approval."""

    type: ClassVar[Literal["tool-approval-request"]] = "tool-approval-request"
    approval_id: str
    tool_call: ToolCall


ContentPart: TypeAlias = (
    GeneratedText
    | GeneratedReasoning
    | GeneratedFile
    | Source
    | ToolCall
    | ToolResult
    | ToolError
    | ToolApprovalRequest
)


# ---------------------------------------------------------------- checks of what others made

# By annotation; an empty tuple where converters have frozen any JSON, or where somebody else looks inside.
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "int": (int,),
    "str | None": (type(None), str),
    "bool | None": (type(None), bool),
    "JsonValue": (),
    "JsonObject": (immutabledict, Mapping),
    "JsonObject | None": (type(None), immutabledict, Mapping),
    "ToolOutput | None": (type(None), *OUTPUT_TYPES),
    "ToolCall": (ToolCall,),
    "Usage": (Usage,),
    "Vector[ContentPart]": (),
    "ContentPart": (),
    "tuple[str, ...]": (),
}


class FieldTypes:
    """Which types the fields of a value class may have, by their annotations; `others` say so by name.

    Raises:
        KeyError: For a field whose annotation is not known here.
    """

    def __init__(self, cls: type, **others: tuple[type, ...]) -> None:
        types = {
            each.name: _TYPES[cls.__annotations__[each.name]] for each in attrs.fields(cast("Any", cls))
        } | others
        self._types = {name: allowed for name, allowed in types.items() if allowed}
        # All at once, in a third of the time; of fewer than two it would give no tuple.
        self._values = attrgetter(*self._types) if len(self._types) > 1 else self._few
        # Combinations that are right: there are few, and nearly every value has one of them.
        self._known: set[tuple[type, ...]] = set()

    def check(self, value: object, path: str) -> None:
        """Checks the fields of a value. Raises InvalidMessageError for one of another type, with its path."""
        values = self._values(value)
        types = (*map(type, values),)
        if types in self._known:
            return
        for (name, allowed), given in zip(self._types.items(), values, strict=True):
            check_type(given, allowed, f"{path}.{name}")
        if all(kind in allowed for kind, allowed in zip(types, self._types.values(), strict=True)):
            self._known.add(types)

    def _few(self, value: object) -> tuple[object, ...]:
        return tuple(getattr(value, name) for name in self._types)


def check_type(given: object, allowed: tuple[type, ...], path: str) -> None:
    """Checks that something has one of the types. Raises InvalidMessageError if not; a flag is no number."""
    if type(given) in allowed or (isinstance(given, allowed) and type(given) is not bool):
        return
    expected = " or ".join("None" if one is type(None) else one.__name__ for one in reversed(allowed))
    raise InvalidMessageError(path, f"expected {expected}, got {type(given).__name__}")


_PART_TYPES: Final[dict[type, FieldTypes]] = {cls: FieldTypes(cls) for cls in get_args(ContentPart)}


def check_content(content: object, path: str = "$") -> None:
    """Checks what somebody gives as the content of a step.

    Raises:
        InvalidMessageError: With the path, if it is no list of content parts, or a field of a part has
            another type than it is declared with.
    """
    if isinstance(content, str | bytes) or not isinstance(content, Sequence):
        raise InvalidMessageError(path, f"expected a list of content parts, got {type(content).__name__}")
    for index, part in enumerate(content):
        check_part(part, f"{path}[{index}]")


def check_part(part: object, path: str) -> None:
    """Checks one content part. Raises InvalidMessageError, with the path of what is wrong."""
    types = _PART_TYPES.get(type(part))
    if types is None:
        reason = f"expected a content part such as GeneratedText or ToolCall, got {type(part).__name__}"
        raise InvalidMessageError(path, reason)
    types.check(part, path)
    if type(part) is ToolApprovalRequest:
        check_part(part.tool_call, f"{path}.tool_call")


# ---------------------------------------------------------------- content to messages

# For what is right already: parts that were checked, and JSON that was frozen.
_new_assistant: Final = maker(AssistantMessage)
_new_tool_message: Final = maker(ToolMessage)
_new_text: Final = maker(TextOutput)
_new_json: Final = maker(JsonOutput)


def to_response_messages(content: Iterable[ContentPart]) -> Vector[Message]:
    """The messages of one step: at most one assistant message, then at most one tool message (claim C7)."""
    parts: list[AssistantPart] = []
    results: list[ToolPart] = []
    for generated in content:
        convert = _CONVERTED.get(type(generated))
        part = None if convert is None else convert(generated)
        if type(part) is ToolResultPart and not cast("Any", generated).provider_executed:
            results.append(part)  # content.one-tool-message
        elif part is not None:
            parts.append(part)  # content.one-assistant-message, content.provider-results-stay
    messages: list[Message] = []
    if parts:  # content.no-empty-message
        messages.append(_new_assistant(vector(parts)))
    if results:
        messages.append(_new_tool_message(vector(results)))
    return vector(messages)


def _to_text_part(generated: GeneratedText) -> TextPart | None:
    if not generated.text:  # content.empty-text-dropped
        return None
    return TextPart(generated.text, generated.provider_metadata)


def _to_call_part(call: ToolCall) -> ToolCallPart:
    return ToolCallPart(
        call.tool_call_id,
        call.tool_name,
        input=call.input,
        provider_executed=call.provider_executed,
        provider_options=call.provider_metadata,
    )


def _to_result_part(generated: ToolResult | ToolError, output: ToolOutput) -> ToolResultPart:
    return ToolResultPart(
        generated.tool_call_id,
        generated.tool_name,
        output=output,
        provider_options=generated.provider_metadata,
    )


def _to_reasoning_part(generated: GeneratedReasoning) -> ReasoningPart:
    return ReasoningPart(generated.text, generated.provider_metadata)


def _to_file_part(generated: GeneratedFile) -> FilePart:
    return FilePart(generated.data, generated.media_type, provider_options=generated.provider_metadata)


def _to_request_part(generated: ToolApprovalRequest) -> ToolApprovalRequestPart:
    return ToolApprovalRequestPart(generated.approval_id, generated.tool_call.tool_call_id)


# A source has none: content.sources-dropped. In each of them content.metadata-becomes-options.
_CONVERTED: Final[dict[type, Callable[[Any], AssistantPart | None]]] = {
    GeneratedText: _to_text_part,
    GeneratedReasoning: _to_reasoning_part,
    GeneratedFile: _to_file_part,
    ToolCall: _to_call_part,
    ToolResult: lambda result: _to_result_part(result, result_output(result)),
    ToolError: lambda failed: _to_result_part(failed, error_output(failed)),
    ToolApprovalRequest: _to_request_part,
}


def result_output(result: ToolResult) -> ToolOutput:
    """Return a tool's output as the model gets it (rules output.model-output-once, output.text-or-json)."""
    if result.model_output is not None:
        return result.model_output
    if isinstance(result.output, str):
        return _new_text(result.output)
    return _new_json(result.output)


def error_output(failed: ToolError) -> ToolOutput:
    """Return an error as the model gets it (rules output.client-error-text, output.provider-error-json)."""
    if failed.provider_executed:
        return ErrorJsonOutput(failed.error)
    return ErrorTextOutput(error_text(failed.error))


def error_text(error: JsonValue) -> str:
    """The text of an error: itself if it is text, `unknown error` for None, else its JSON text."""
    if error is None:
        return "unknown error"
    return error if isinstance(error, str) else dump_json(error)


# ---------------------------------------------------------------- approvals in the history


@sealed
@attrs.frozen(kw_only=True)
class Approval:
    """A response in the history with the request that it answers and the call that both are about."""

    request: ToolApprovalRequestPart
    response: ToolApprovalResponsePart
    call: ToolCallPart


@sealed
@attrs.frozen
class Approvals:
    """The answered approvals that the last message brings, in the order of the responses."""

    approved: tuple[Approval, ...] = field(default=NO_ITEMS, converter=frozen_list)
    denied: tuple[Approval, ...] = field(default=NO_ITEMS, converter=frozen_list)

    @property
    def to_run(self) -> tuple[ToolCallPart, ...]:
        """The approved calls that are ours to run."""
        return FrozenList(approval.call for approval in self.approved if not approval.call.provider_executed)


def collect_approvals(messages: Sequence[Message]) -> Approvals:
    """The approvals that a run begins with: those in the last message, if that is a tool message (claim X14).

    Raises:
        InvalidToolApprovalError: for a response to no request.
        ToolCallNotFoundForApprovalError: for a request about no call.
    """
    last = messages[-1] if messages else None
    if not isinstance(last, ToolMessage):  # approval.last-message
        return Approvals()
    responses = [part for part in last.content if isinstance(part, ToolApprovalResponsePart)]
    if not responses:
        return Approvals()
    answered = {part.tool_call_id for part in last.content if isinstance(part, ToolResultPart)}
    calls, requests = _calls_and_requests(messages)
    found: list[Approval] = []
    for response in responses:
        request = requests.get(response.approval_id)
        if request is None:  # approval.known
            raise InvalidToolApprovalError(response.approval_id)
        if request.tool_call_id in answered:  # approval.answered
            continue
        call = calls.get(request.tool_call_id)
        if call is None:  # approval.known
            raise ToolCallNotFoundForApprovalError(request.tool_call_id, request.approval_id)
        found.append(Approval(request=request, response=response, call=call))
    return Approvals(
        tuple(approval for approval in found if approval.response.approved),
        tuple(approval for approval in found if not approval.response.approved),
    )


def _calls_and_requests(
    messages: Iterable[Message],
) -> tuple[dict[str, ToolCallPart], dict[str, ToolApprovalRequestPart]]:
    calls: dict[str, ToolCallPart] = {}
    requests: dict[str, ToolApprovalRequestPart] = {}
    for message in messages:
        if not isinstance(message, AssistantMessage) or isinstance(message.content, str):
            continue
        for part in message.content:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = part
            elif isinstance(part, ToolApprovalRequestPart):
                requests[part.approval_id] = part
    return calls, requests


def approval_messages(approvals: Approvals, outputs: Iterable[ToolResult | ToolError]) -> Vector[Message]:
    """The tool messages that begin the response chain; `outputs` are those of the approved calls that ran.

    The two paths of ai@6.0.134 differ here, and this follows streamText: approval responses for the provider
    in a first message, results and denials of client calls in a second, no message without parts.
    generateText has the two the other way round, may add a message without parts, and gives a denied
    provider-executed call an execution-denied result as well (Difference.APPROVALS_AS_STREAM).
    """
    everyone = (*approvals.approved, *approvals.denied)
    responses: list[ToolPart] = [
        attrs.evolve(approval.response, provider_executed=True)
        for approval in everyone
        if approval.call.provider_executed  # approval.provider-responses
    ]
    results: list[ToolPart] = [_approved_part(output) for output in outputs]
    results += [  # approval.results-then-denials
        _denied_part(approval) for approval in approvals.denied if not approval.call.provider_executed
    ]
    return vector(ToolMessage(vector(parts)) for parts in (responses, results) if parts)


def _approved_part(output: ToolResult | ToolError) -> ToolResultPart:
    shown = result_output(output) if isinstance(output, ToolResult) else error_output(output)
    return ToolResultPart(output.tool_call_id, output.tool_name, output=shown)


def _denied_part(approval: Approval) -> ToolResultPart:
    denied = ExecutionDeniedOutput(approval.response.reason)
    return ToolResultPart(approval.call.tool_call_id, approval.call.tool_name, output=denied)
