"""Typed errors: each says whose fault it is, where, and what to do.

`wire_name` is the name an error has in a trace. Names that begin with `AI_` are those of ai@6.0.134,
and traces are compared by them; the texts are our own.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

__all__ = [
    "AgentCoreError",
    "AnswersError",
    "ClosedMessageListError",
    "ConflictingResultError",
    "ForeignMessageListError",
    "ImmutableWriteError",
    "InvalidConversationError",
    "InvalidDataContentError",
    "InvalidJsonError",
    "InvalidMessageError",
    "InvalidMessageRoleError",
    "InvalidOverrideError",
    "InvalidProcessorError",
    "InvalidPromptError",
    "InvalidToolApprovalError",
    "MissingToolResultsError",
    "NoSuchToolError",
    "NotInConversationError",
    "ProcessorFailedError",
    "RefusedPromptError",
    "RunCancelledError",
    "SavedError",
    "SavedRunError",
    "ToolCallNotFoundForApprovalError",
    "ToolChoiceViolationError",
    "UnexpectedOutcomeError",
    "UnknownMessageError",
    "UnknownStepError",
    "UnknownToolCallError",
    "UnsupportedModelError",
    "WireError",
]


class AgentCoreError(Exception):
    """Base of all errors raised by this package.

    `path` is a JSON path such as `$.messages[2].content[0].text`, or None where no value is to blame.
    """

    wire_name: ClassVar[str] = "AgentCoreError"
    path: str | None = None

    def text_at_step(self) -> str:
        """Return name and text for a line that has named the step: an error with a step leaves it out."""
        return _named(self, str(self))


def text_at_step(error: BaseException | None) -> str:
    """Return the name and the text of any error, as `AgentCoreError.text_at_step` does."""
    return error.text_at_step() if isinstance(error, AgentCoreError) else _named(error, str(error))


def _named(error: BaseException | None, text: str) -> str:
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class _LocatedError(AgentCoreError):
    """An error about one place in a value: `path` is where, `reason` is what is wrong and what to do."""

    path: str

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class InvalidJsonError(_LocatedError, ValueError):
    """A value that was to be JSON is not JSON, or a text that was to be JSON text is not."""

    wire_name = "InvalidJsonError"


class InvalidMessageError(_LocatedError, TypeError):
    """A message or part was made with a field of the wrong type."""

    wire_name = "InvalidMessageError"


class WireError(_LocatedError, ValueError):
    """JSON that is not a `ModelMessage`."""

    wire_name = "WireError"


# An attribute write is an AttributeError in Python and an item write a TypeError: code that expects either of
# them from a frozen value goes on working.
class ImmutableWriteError(_LocatedError, AttributeError, TypeError):
    """A write in place into a value that cannot change; `reason` says what to return instead.

    `path` begins at what the hook was given; `hook` is its name and `step_number` its step (None before the
    steps). Both are None where no hook was running.
    """

    wire_name = "ImmutableWriteError"

    def __init__(
        self, path: str, reason: str, *, hook: str | None = None, step_number: int | None = None
    ) -> None:
        super().__init__(path, reason)
        self.hook = hook
        self.step_number = step_number

    def __reduce__(self) -> tuple[Any, ...]:
        return _immutable_write_error, (self.path, self.reason, self.hook, self.step_number)


def _immutable_write_error(
    path: str, reason: str, hook: str | None, step_number: int | None
) -> ImmutableWriteError:
    return ImmutableWriteError(path, reason, hook=hook, step_number=step_number)


class InvalidPromptError(AgentCoreError):
    """The messages given to a run are not a list of one or more ModelMessages."""

    wire_name = "AI_InvalidPromptError"

    def __init__(self, reason: str, path: str | None = None) -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        return self.reason if self.path is None else f"{self.path}: {self.reason}"


class InvalidMessageRoleError(AgentCoreError):
    """A message with an unknown role was to go into a prompt."""

    wire_name = "AI_InvalidMessageRoleError"

    def __init__(self, role: object, path: str | None = None) -> None:
        super().__init__(role, path)
        self.role = role
        self.path = path

    def __str__(self) -> str:
        where = "" if self.path is None else f"{self.path}: "
        return f"{where}unknown role {self.role!r}; use one of system, user, assistant, tool"


class _PromptFaultError(AgentCoreError):
    """What is raised of a prompt before a model is asked.

    `returned_by` is the hook, processor or middleware that returned the messages, at step `step_number`, or
    before the steps if that is None. Without `returned_by` the messages are those that the call was given,
    and what the run made of its steps.
    """

    reason: str
    returned_by: str | None = None
    step_number: int | None = None
    # Whether that is the step that failed: a line that has named it does not name it again.
    is_of_the_step: bool = False

    def by(self, returned_by: str, step_number: int | None, *, is_of_the_step: bool = False) -> Self:
        """Return the same error with who returned the messages; `is_of_the_step`: at the step that failed."""
        named = type(self)(*self.args)
        named.returned_by, named.step_number = returned_by, step_number
        named.is_of_the_step = is_of_the_step
        return named

    def __str__(self) -> str:
        return self._text("before the steps" if self.step_number is None else f"at step {self.step_number}")

    def text_at_step(self) -> str:
        """Return name and text, without the step if it is the one that failed."""
        return _named(self, self._text("")) if self.is_of_the_step else super().text_at_step()

    def _text(self, when: str) -> str:
        where = "" if self.path is None else f"{self.path}: "
        whose = "" if self.returned_by is None else f" (returned by {f'{self.returned_by} {when}'.strip()})"
        return f"{where}{self.reason}{whose}"


class RefusedPromptError(_PromptFaultError, InvalidPromptError):
    """A prompt that providers refuse; no model was asked (difference.prompts-validated).

    `path` is the place of the fault, `reason` what is wrong and how to mend it, `rule` the name of the rule
    that is broken, and `tool_call_id` the call that it is about, if it is about one. `repair` mends
    histories; an agent with `validate_prompt=False` asks the model all the same.
    """

    def __init__(
        self, reason: str, path: str | None = None, rule: str = "", tool_call_id: str | None = None
    ) -> None:
        super().__init__(reason, path)
        self.args = (reason, path, rule, tool_call_id)
        self.rule = rule
        self.tool_call_id = tool_call_id


class MissingToolResultsError(_PromptFaultError):
    """Tool calls went into a prompt without their results; `path` is the place of the first of them.

    `waiting` are the ids of the approvals among their requests that nobody has answered.
    """

    wire_name = "AI_MissingToolResultsError"

    def __init__(
        self, tool_call_ids: tuple[str, ...], path: str | None = None, waiting: tuple[str, ...] = ()
    ) -> None:
        super().__init__(tool_call_ids, path, waiting)
        self.tool_call_ids = tool_call_ids
        self.waiting = waiting
        mend = "keep or drop an assistant message and its results together"
        if waiting:
            mend = f"first resume the run that asked and answer {', '.join(waiting)}; False denies"
        self.reason = f"no result for tool calls: {', '.join(tool_call_ids)}; {mend}"
        self.path = path


class ToolCallNotFoundForApprovalError(AgentCoreError):
    """An approval request names a tool call that the messages do not have."""

    wire_name = "AI_ToolCallNotFoundForApprovalError"

    def __init__(self, tool_call_id: str, approval_id: str) -> None:
        super().__init__(tool_call_id, approval_id)
        self.tool_call_id = tool_call_id
        self.approval_id = approval_id

    def __str__(self) -> str:
        return f"approval {self.approval_id} is about tool call {self.tool_call_id}, which no message has"


class InvalidToolApprovalError(AgentCoreError):
    """An approval response answers a request that the messages do not have."""

    wire_name = "AI_InvalidToolApprovalError"

    def __init__(self, approval_id: str) -> None:
        super().__init__(approval_id)
        self.approval_id = approval_id

    def __str__(self) -> str:
        return f"the response to approval {self.approval_id} answers no request; keep the message that asks"


class NoSuchToolError(AgentCoreError):
    """A tool was called that the run was not given."""

    wire_name = "AI_NoSuchToolError"

    def __init__(self, tool_name: str, available_tools: tuple[str, ...] | None = None) -> None:
        super().__init__(tool_name, available_tools)
        self.tool_name = tool_name
        self.available_tools = available_tools

    def __str__(self) -> str:
        # The model is shown this text as the result of its call, so it is that of ai@6.0.134 to the letter.
        if self.available_tools is None:
            offer = "No tools are available."
        else:
            offer = f"Available tools: {', '.join(self.available_tools)}."
        return f"Model tried to call unavailable tool '{self.tool_name}'. {offer}"


class ToolChoiceViolationError(AgentCoreError):
    """A model did not call what the step's tool choice requires."""

    wire_name = "AI_ToolChoiceViolationError"

    def __init__(self, tool_name: str | None = None) -> None:
        super().__init__(tool_name)
        self.tool_name = tool_name

    def __str__(self) -> str:
        wanted = "a tool" if self.tool_name is None else f"the tool {self.tool_name!r}"
        return f"the step requires the model to call {wanted}, and it did not"


class InvalidDataContentError(_LocatedError, ValueError):
    """The data of an image or a file is neither bytes nor base64 text nor a URL."""

    wire_name = "InvalidDataContentError"


class InvalidOverrideError(_LocatedError, ValueError):
    """A step hook returned something that is no override.

    `processor_id` and `step_number` say whose it was; the step is None for `process_input`.
    """

    wire_name = "InvalidOverrideError"

    def __init__(
        self, path: str, reason: str, processor_id: str | None = None, step_number: int | None = None
    ) -> None:
        super().__init__(path, reason)
        self.processor_id = processor_id
        self.step_number = step_number

    def by(self, processor_id: str, step_number: int | None) -> Self:
        """The same error, with whose result it was."""
        return type(self)(self.path, self.reason, processor_id, step_number)

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.processor_id is None else f"{_whose(self.processor_id, self.step_number)}: {text}"

    def text_at_step(self) -> str:
        """Return the processor, if there is one, then name and text."""
        text = _named(self, super().__str__())
        return text if self.processor_id is None else f"processor {self.processor_id!r}: {text}"


class ForeignMessageListError(InvalidOverrideError):
    """A processor returned a message list that is not the one it got (rule processor.own-list)."""

    wire_name = "ForeignMessageListError"


class ConflictingResultError(InvalidOverrideError):
    """A processor said in two ways what a step is made of (rule processor.said-once)."""

    wire_name = "ConflictingResultError"


class UnsupportedModelError(InvalidOverrideError):
    """A processor returned a model that agents cannot call (rule processor.model-kind)."""

    wire_name = "UnsupportedModelError"


class ProcessorFailedError(AgentCoreError):
    """A processor raised; `__cause__` is what (rule processor.failure-named).

    `step_number` is None for `process_input`, which comes before the steps.
    """

    wire_name = "ProcessorFailedError"

    def __init__(self, processor_id: str, step_number: int | None, cause: Exception) -> None:
        super().__init__(f"{_whose(processor_id, step_number)}: {text_at_step(cause)}")
        self.processor_id = processor_id
        self.step_number = step_number
        self.__cause__ = cause
        self.path = cause.path if isinstance(cause, AgentCoreError) else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.processor_id, self.step_number, self.__cause__)

    def text_at_step(self) -> str:
        """Return the processor, and name and text of what it raised."""
        return f"processor {self.processor_id!r}: {text_at_step(self.__cause__)}"


class ClosedMessageListError(AgentCoreError):
    """A message list was used after the processor that got it had returned or raised."""

    wire_name = "ClosedMessageListError"

    def __init__(self, processor_id: str, step_number: int | None) -> None:
        super().__init__(processor_id, step_number)
        self.processor_id = processor_id
        self.step_number = step_number

    def __str__(self) -> str:
        whose = _whose(self.processor_id, self.step_number)
        return f"the message list of {whose} is closed; use the one that each call of a processor gets"


class UnknownMessageError(AgentCoreError, LookupError):
    """A message list has no message of that id."""

    wire_name = "UnknownMessageError"

    def __init__(self, message_id: str) -> None:
        super().__init__(message_id)
        self.message_id = message_id

    def __str__(self) -> str:
        return f"no message {self.message_id!r} in the list; its `ids` are those there are"


class InvalidProcessorError(AgentCoreError, ValueError):
    """A value given as a processor is not one, or has no name of its own."""

    wire_name = "InvalidProcessorError"

    def __init__(self, processor: str, reason: str) -> None:
        super().__init__(processor, reason)
        self.processor = processor
        self.reason = reason

    def __str__(self) -> str:
        return f"processor {self.processor!r}: {self.reason}"


def _whose(processor_id: str, step_number: int | None) -> str:
    where = "before the steps" if step_number is None else f"at step {step_number}"
    return f"processor {processor_id!r} {where}"


class UnknownToolCallError(AgentCoreError):
    """A model's answer has the result of a call that the answer does not have."""

    wire_name = "UnknownToolCallError"

    def __init__(self, tool_call_id: str) -> None:
        super().__init__(tool_call_id)
        self.tool_call_id = tool_call_id

    def __str__(self) -> str:
        return f"the answer has a result of tool call {self.tool_call_id}, but not that call"


class UnexpectedOutcomeError(AgentCoreError):
    """A run was given an outcome that does not answer what it needs, which is the driver's fault."""

    wire_name = "UnexpectedOutcomeError"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class AnswersError(UnexpectedOutcomeError):
    """A run was to go on with other answers than those that it waits for.

    `unknown` are the ids that it asks nothing by, `missing` those of what it waits for that have no answer.
    `wrong` are the places of answers of the wrong kind, each with what to give there; `path` is the first.
    `note` says what the run waits for, or what to do with a run that does not wait.
    """

    wire_name = "AnswersError"

    def __init__(
        self,
        unknown: tuple[str, ...],
        missing: tuple[str, ...],
        wrong: tuple[tuple[str, str], ...] = (),
        note: str | None = None,
    ) -> None:
        super().__init__("the run was given other answers than those it waits for")
        self.args = (unknown, missing)
        self.unknown = unknown
        self.missing = missing
        self.wrong = wrong
        self.note = note
        self.path = wrong[0][0] if wrong else None

    def __str__(self) -> str:
        faults = [
            f"there is no question {', '.join(self.unknown)}" if self.unknown else "",
            f"give an answer to {', '.join(self.missing)}" if self.missing else "",
            *(f"{path}: {reason}" for path, reason in self.wrong),
        ]
        faults = [*filter(None, faults)] or ["the run asks nothing"]
        return "; ".join(faults if self.note is None else [*faults, self.note])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.unknown, self.missing, self.wrong, self.note)


class UnknownStepError(AgentCoreError, LookupError):
    """A step was asked for that the run does not have."""

    wire_name = "UnknownStepError"

    def __init__(self, step_number: int, known: int) -> None:
        super().__init__(step_number, known)
        self.step_number = step_number
        self.known = known

    def __str__(self) -> str:
        steps = f"steps 0 to {self.known - 1}" if self.known else "no step"
        return f"step {self.step_number} is not there; the run has {steps} of that kind"


class SavedRunError(_LocatedError, ValueError):
    """JSON that is not a saved run, has another version, or does not follow from its outcomes.

    `path` is the place in the JSON; `file` is the file that the JSON is of, if it is of one.
    """

    wire_name = "SavedRunError"

    def __init__(self, path: str, reason: str, file: str | None = None) -> None:
        super().__init__(path, reason)
        self.file = file
        self.args = (path, reason, file)

    def in_file(self, file: str) -> Self:
        """Return the same error, with `file` as the name of the file."""
        return type(self)(self.path, self.reason, file)

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.file is None else f"{self.file}: {text}"


class InvalidConversationError(_LocatedError, ValueError):
    """Turns or JSON that do not make a conversation; `path` is the place of the fault."""

    wire_name = "InvalidConversationError"

    def below(self, path: str) -> Self:
        """Return the same error for a value that stands at `path` in another."""
        return type(self)(path + self.path.removeprefix("$"), self.reason)


class NotInConversationError(AgentCoreError, LookupError):
    """A conversation has no turn or no message of that id; `kind` says which of the two, `id` is the id."""

    wire_name = "NotInConversationError"

    def __init__(self, kind: str, id: str) -> None:  # noqa: A002 - what it is in a conversation
        super().__init__(kind, id)
        self.kind = kind
        self.id = id

    def __str__(self) -> str:
        return f"the conversation has no {self.kind} {self.id!r}"


class SavedError(AgentCoreError):
    """An error that was saved with a run: the name of its type, and its text."""

    wire_name = "SavedError"

    def __init__(self, type_name: str, text: str) -> None:
        super().__init__(type_name, text)
        self.type_name = type_name
        self.text = text

    def __str__(self) -> str:
        return self.text


class RunCancelledError(AgentCoreError):
    """A run was cancelled from outside; its finished steps are kept."""

    wire_name = "RunCancelledError"

    def __str__(self) -> str:
        return "the run was cancelled"
