"""Structured output, and what a call comes to: the answer as an object, whole or so far, and the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, cast, overload

import attrs
from attrs import field
from typing_extensions import TypeVar

from agentcore.agent.events import ChunkEvent, PartDone, PartialObject, TextDelta
from agentcore.agent.telemetry import Timings
from agentcore.agent.tools.contract import Contract, MismatchError, Problem, of_schema, of_type
from agentcore.conversations.conversation import Conversation
from agentcore.conversations.open_turn import OpenTurn, first_turn_of
from agentcore.errors import AgentCoreError, InvalidJsonError
from agentcore.machine.effects import Done
from agentcore.machine.hooks import StepRecord
from agentcore.machine.pending import Pending, pending_of
from agentcore.machine.processors import State, Tripwire, new_state
from agentcore.machine.run import Interrupted, Run
from agentcore.messages.content import ContentPart, GeneratedText, Usage
from agentcore.messages.converters import answer_schema
from agentcore.messages.interrupts import Interrupt
from agentcore.messages.messages import Message
from agentcore.messages.values import (
    NO_ITEMS,
    JsonObject,
    JsonValue,
    Vector,
    dump_json,
    freeze,
    parse_json,
    sealed,
    strict_key,
)

__all__ = ["AgentResult", "NoObjectError", "OtherOutputError", "Output", "OutputError", "PartialObjects"]

_T = TypeVar("_T")
_Kind = TypeVar("_Kind")
_SHOWN: Final = 100


class OutputError(MismatchError):
    """The answer of a model is not the output that was asked for.

    `path` and `problems` say what is wrong, `excerpt` what the text has there.
    """

    wire_name = "AI_NoObjectGeneratedError"

    @property
    def excerpt(self) -> str:
        """The value at `path`, shortened."""
        return self.problems[0].given

    def __str__(self) -> str:
        return f"the answer is not the output that was asked for:\n{super().__str__()}"


@sealed
@attrs.frozen
class Output(Generic[_T]):
    """The type or schema that the answer of a run has to fit; made by `Output.of` or `Output.json_schema`."""

    schema: JsonObject = field(converter=answer_schema, eq=strict_key)
    # Made anew for every output, so equality is that of the schema.
    read: Callable[[JsonValue], _T] = field(eq=False, repr=False)
    name: str | None = field(default=None, kw_only=True)

    # A union or a Literal is no `type[...]` to a type checker, and its value Any.
    @overload
    @staticmethod
    def of(kind: type[_Kind], *, name: str | None = None) -> Output[_Kind]: ...
    @overload
    @staticmethod
    def of(kind: Any, *, name: str | None = None) -> Output[Any]: ...
    @staticmethod
    def of(kind: Any, *, name: str | None = None) -> Output[Any]:
        """Return the output whose value is an instance of a type.

        Models can only be asked for objects, so another type is asked for as `{"result": ...}`.

        Args:
            kind: a pydantic model, a dataclass, a TypedDict, a list, a union, an enum, ...
            name: the schema's name for providers that want one; by default that of the type.

        Returns:
            The output; its schema is made of the type by pydantic.

        Raises:
            TypeError: if pydantic does not know the type.
        """
        name = name or getattr(kind, "__name__", None)
        contract = of_type(kind)
        if contract.schema.get("type") == "object":
            return Output(contract.schema, contract.read, name=name)
        from pydantic import create_model  # noqa: PLC0415 - with the first type, as in `contract`

        wrapped: Contract[Any] = of_type(create_model("Output", result=(kind, ...)))
        return Output(wrapped.schema, lambda value: wrapped.read(value).result, name=name)

    @staticmethod
    def json_schema(schema: Mapping[str, object], *, name: str | None = None) -> Output[JsonValue]:
        """Return the output whose value is frozen JSON that a JSON Schema allows.

        Args:
            schema: the JSON Schema; providers take that of an object only.
            name: the schema's name for providers that want one.

        Returns:
            The output.

        Raises:
            TypeError: if it is not a JSON Schema.
        """
        contract = of_schema(answer_schema(schema))
        return Output(contract.schema, contract.read, name=name)

    @staticmethod
    def of_format(response_format: Mapping[str, object]) -> Output[JsonValue]:
        """Return the output whose value is frozen JSON that a response format asks for.

        Args:
            response_format: a format of the type `json`, with `schema` and `name` or without; any JSON is
                allowed without a schema.

        Returns:
            The output.

        Raises:
            TypeError: if its schema is not a JSON Schema.
        """
        schema = cast("Mapping[str, object]", response_format.get("schema", {}))
        return Output.json_schema(schema, name=cast("str | None", response_format.get("name")))

    @property
    def response_format(self) -> JsonObject:
        """The `response_format` of a model request for this output."""
        named = {} if self.name is None else {"name": self.name}
        return cast("JsonObject", freeze({"type": "json", "schema": self.schema, **named}))

    def parse(self, text: str) -> _T:
        """Return the object that an answer's `text` stands for.

        Raises:
            OutputError: if the text is not JSON, or not the JSON that was asked for.
        """
        try:
            value = freeze(parse_json(text))
        except InvalidJsonError as error:
            raise OutputError((Problem(error.path, error.reason, _ends(text)),)) from None
        try:
            return self.read(value)
        except MismatchError as error:
            raise OutputError(error.problems) from error.__cause__


def _ends(text: str) -> str:
    # Both ends: an answer that was cut short and one that has more than JSON are told apart by them.
    return text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} … {text[-_SHOWN:]}"


# The text is read again when it has grown by one part in so many: all readings of a text of n characters
# have at most about 20 n characters, where one reading a delta would have n squared.
_GROWTH: Final = 20


class PartialObjects:
    """The partial objects of one step (rule output.partial)."""

    def __init__(self, step_number: int) -> None:
        self._step_number = step_number
        # Of the parts that are done, then of the one that is going on.
        self._done: list[str] = []
        self._deltas: list[str] = []
        self._done_length = self._length = 0
        self._read_at = 0
        self._key: str | None = None

    def after(self, event: ChunkEvent) -> PartialObject | None:
        """Takes an event of the stream; returns the partial object if it is another one now."""
        if isinstance(event, TextDelta):
            self._deltas.append(event.text)
            self._length += len(event.text)
        elif isinstance(event, PartDone) and isinstance(event.part, GeneratedText):
            # The part says what its text is, whatever deltas there were.
            self._done.append(event.part.text)
            self._done_length += len(event.part.text)
            self._deltas.clear()
            self._length = self._done_length
        is_due = self._length > self._read_at + self._read_at // _GROWTH
        return self._changed("".join((*self._done, *self._deltas))) if is_due else None

    def take_answer(self, content: Iterable[ContentPart]) -> PartialObject | None:
        """Takes the whole answer; returns its object if no event has had that yet."""
        return self._changed("".join(part.text for part in content if isinstance(part, GeneratedText)))

    def _changed(self, text: str) -> PartialObject | None:
        self._read_at = len(text)
        try:
            value = freeze(_read(text))
        except (TypeError, ValueError):  # no JSON so far, or half a surrogate pair: the whole answer decides
            return None
        # Not by ==, for which true and 1 are one value: a reader has to see each.
        key = strict_key(value)
        if key == self._key:
            return None
        self._key = key
        return PartialObject(self._step_number, value)


def _read(text: str) -> Any:
    # Texts and names that are not complete are left out, and so is a number that cannot end there.
    from pydantic_core import from_json  # noqa: PLC0415 - as above

    return from_json(text, allow_inf_nan=False, allow_partial=True)


# ---------------------------------------------------------------- what a call comes to

# From typing_extensions for its default: without an output, the object is None.
_Object = TypeVar("_Object", default=None)
_S = TypeVar("_S")


class NoObjectError(AgentCoreError):
    """The object of a run was asked for that ended before its model had given it."""

    wire_name = "AI_NoOutputGeneratedError"

    def __str__(self) -> str:
        return (
            "the run has no object: it ended with tool calls, by a stop condition, by a processor, "
            "or with approvals, calls or questions that wait (its `pending`)"
        )


class OtherOutputError(AgentCoreError):
    """An object was asked for as an output that the last step was not asked for.

    `asked` is the response format that the step was asked for, None for text; `wanted` is the output's.
    """

    wire_name = "OtherOutputError"

    def __init__(self, asked: JsonObject | None, wanted: JsonObject) -> None:
        super().__init__(asked, wanted)
        self.asked = asked
        self.wanted = wanted

    def __str__(self) -> str:
        asked = "text" if self.asked is None else dump_json(self.asked)
        return (
            f"the last step was asked for {asked}, not for {dump_json(self.wanted)}; read its object by "
            "`object`, or pass the output that it was asked for"
        )


@sealed
@attrs.frozen(kw_only=True)
class AgentResult(Generic[_Object, State]):
    """The result of a call of an agent.

    `run` is the whole run, with every step, and `timings` says how long its parts took. `invocation_state` is
    the dict that the call's handlers, tools and hooks shared (rule context.shared). `response_format` is the
    output that the last step was asked for, by its hooks or else by the agent; None for text.
    """

    run: Run
    timings: Timings = field(eq=False)
    invocation_state: State = field(factory=new_state, eq=False, repr=False)
    response_format: JsonObject | None = field(default=None, eq=strict_key, repr=False)
    # Empty if there is none.
    _objects: tuple[_Object, ...] = field(repr=False)
    # The turn that the run makes of the conversation that it began with; None: it began with none.
    _turn: OpenTurn | None = field(default=None, eq=False, repr=False)
    _conversation: Conversation | None = field(init=False, default=None, eq=False, repr=False)

    @property
    def text(self) -> str:
        """The text of the last step; empty if none has finished."""
        return self.steps[-1].text if self.steps else ""

    @property
    def tripwire(self) -> Tripwire | None:
        """The abort by which a processor ended the run; None if none did."""
        return self.run.pending.result.tripwire if isinstance(self.run.pending, Done) else None

    @property
    def interrupts(self) -> tuple[Interrupt, ...]:
        """The questions that the run waits for; `pending` has approvals and calls as well."""
        return self.run.pending.interrupts if isinstance(self.run.pending, Interrupted) else NO_ITEMS

    @property
    def pending(self) -> Sequence[Pending]:
        """What the run waits for: approvals, questions and calls. Empty if it has ended.

        The run goes on by `agent.resume(result.run, answers={one.id: ... for one in result.pending})`.
        """
        return pending_of(self.run)

    @property
    def conversation(self) -> Conversation:
        """The conversation that the run began with, and the turn that it made.

        The next turn is `agent.generate(prompt, conversation=result.conversation)`. As a sequence it is the
        messages that the run began with and those it has produced, or what a lasting edit made of them. While
        an approval or a call is pending, its answer comes before another prompt.
        """
        if self._conversation is None:
            turn = first_turn_of(self.run) if self._turn is None else self._turn
            # Made when it is asked for: most callers of a single question never ask, and a turn reads the
            # whole run.
            object.__setattr__(self, "_conversation", turn.after(self.run))
        return cast("Conversation", self._conversation)

    @property
    def object(self) -> _Object:
        """The text of the last step as the output that it was asked for; None if it was asked for text.

        That is the agent's output, which it is typed by, unless a hook asked for another one in the last
        step (rule output.of-the-last-step): `object_as` is typed by that one.

        Raises:
            NoObjectError: if the run ended before the model had answered.
        """
        if not self._objects:
            raise NoObjectError
        return self._objects[0]

    def object_as(self, output: Output[_S]) -> _S:
        """Return the text of the last step as an output that a hook asked for, typed by that.

        Args:
            output: the output that the hook returned for the last step.

        Returns:
            The output's value.

        Raises:
            NoObjectError: if the run ended before the model had answered.
            OtherOutputError: if the last step was asked for another output, or for text.
            OutputError: if the text is not that output; a saved run is read by its JSON Schema only.
        """
        if not self._objects:
            raise NoObjectError
        if strict_key(self.response_format) != strict_key(output.response_format):
            raise OtherOutputError(self.response_format, output.response_format)
        return output.parse(self.text)

    @property
    def steps(self) -> Vector[StepRecord]:
        """The finished steps."""
        return self.run.steps

    @property
    def messages(self) -> Vector[Message]:
        """The messages that the run produced; they follow those that it was given."""
        return self.run.chains.response

    @property
    def finish_reason(self) -> str:
        """Why the model stopped in the last step; also `interrupt` (it waits) or `tripwire`."""
        if isinstance(self.run.pending, Done):
            return self.run.pending.result.finish_reason
        return "interrupt" if self.interrupts else self.steps[-1].finish_reason

    @property
    def usage(self) -> Usage:
        """The usage of all steps together."""
        return self.run.usage
