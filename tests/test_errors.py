from __future__ import annotations

import inspect
import pickle
from typing import Final

import pytest

from agentcore import errors
from agentcore.errors import (
    AgentCoreError,
    AnswersError,
    ClosedMessageListError,
    ConflictingResultError,
    ForeignMessageListError,
    ImmutableWriteError,
    InvalidConversationError,
    InvalidDataContentError,
    InvalidJsonError,
    InvalidMessageError,
    InvalidMessageRoleError,
    InvalidOverrideError,
    InvalidProcessorError,
    InvalidPromptError,
    InvalidToolApprovalError,
    MissingToolResultsError,
    NoSuchToolError,
    NotInConversationError,
    ProcessorFailedError,
    RefusedPromptError,
    RunCancelledError,
    SavedError,
    SavedRunError,
    ToolCallNotFoundForApprovalError,
    ToolChoiceViolationError,
    UnexpectedOutcomeError,
    UnknownMessageError,
    UnknownStepError,
    UnknownToolCallError,
    UnsupportedModelError,
    WireError,
)

# Each error with its name in a trace, its path and something that its text says.
EXAMPLES: Final[list[tuple[AgentCoreError, str, str | None, str]]] = [
    (AgentCoreError("x"), "AgentCoreError", None, "x"),
    (AnswersError(("a",), ()), "AnswersError", None, "there is no question a"),
    (AnswersError((), ("b",)), "AnswersError", None, "give an answer to b"),
    (InvalidJsonError("$.a", "r"), "InvalidJsonError", "$.a", "$.a: r"),
    (InvalidMessageError("$.a", "r"), "InvalidMessageError", "$.a", "$.a: r"),
    (InvalidConversationError("$.a", "r"), "InvalidConversationError", "$.a", "$.a: r"),
    (NotInConversationError("turn", "t"), "NotInConversationError", None, "no turn 't'"),
    (WireError("$.a", "r"), "WireError", "$.a", "$.a: r"),
    (ImmutableWriteError("$.a", "r"), "ImmutableWriteError", "$.a", "$.a: r"),
    (InvalidDataContentError("$.a", "r"), "InvalidDataContentError", "$.a", "$.a: r"),
    (InvalidOverrideError("$.a", "r"), "InvalidOverrideError", "$.a", "$.a: r"),
    (
        InvalidOverrideError("$.a", "r", "p", 2),
        "InvalidOverrideError",
        "$.a",
        "processor 'p' at step 2: $.a: r",
    ),
    (ForeignMessageListError("$", "r", "p"), "ForeignMessageListError", "$", "'p' before the steps: $: r"),
    (ConflictingResultError("$.a", "r"), "ConflictingResultError", "$.a", "$.a: r"),
    (UnsupportedModelError("$.model", "r"), "UnsupportedModelError", "$.model", "$.model: r"),
    (
        ProcessorFailedError("p", 1, ImmutableWriteError("$.a", "r")),
        "ProcessorFailedError",
        "$.a",
        "processor 'p' at step 1: ImmutableWriteError: $.a: r",
    ),
    (ProcessorFailedError("p", None, KeyError("k")), "ProcessorFailedError", None, "KeyError: 'k'"),
    (ClosedMessageListError("p", 1), "ClosedMessageListError", None, "of processor 'p' at step 1 is closed"),
    (UnknownMessageError("initial-9"), "UnknownMessageError", None, "no message 'initial-9' in the list"),
    (InvalidProcessorError("p", "r"), "InvalidProcessorError", None, "processor 'p': r"),
    (InvalidPromptError("r"), "AI_InvalidPromptError", None, "r"),
    (InvalidPromptError("r", "$.a"), "AI_InvalidPromptError", "$.a", "$.a: r"),
    (InvalidMessageRoleError("x"), "AI_InvalidMessageRoleError", None, "unknown role 'x'; use one of system"),
    (InvalidMessageRoleError(1, "$[0]"), "AI_InvalidMessageRoleError", "$[0]", "$[0]: unknown role 1"),
    (
        MissingToolResultsError(("a", "b")),
        "AI_MissingToolResultsError",
        None,
        "tool calls: a, b;",
    ),
    (MissingToolResultsError(("a",), "$[1]"), "AI_MissingToolResultsError", "$[1]", "$[1]: no result"),
    (
        MissingToolResultsError(("a",), "$[1]").by("p", 2),
        "AI_MissingToolResultsError",
        "$[1]",
        "results together (returned by p at step 2)",
    ),
    (RefusedPromptError("r"), "AI_InvalidPromptError", None, "r"),
    (RefusedPromptError("r", "$[1]", "prompt.one-result", "c"), "AI_InvalidPromptError", "$[1]", "$[1]: r"),
    (
        RefusedPromptError("r", "$[1]", "prompt.one-result", "c").by("p", None),
        "AI_InvalidPromptError",
        "$[1]",
        "$[1]: r (returned by p before the steps)",
    ),
    (ToolCallNotFoundForApprovalError("c", "a"), "AI_ToolCallNotFoundForApprovalError", None, "tool call c"),
    (InvalidToolApprovalError("a"), "AI_InvalidToolApprovalError", None, "approval a answers no request"),
    (ToolChoiceViolationError(), "AI_ToolChoiceViolationError", None, "to call a tool"),
    (ToolChoiceViolationError("t"), "AI_ToolChoiceViolationError", None, "to call the tool 't'"),
    (NoSuchToolError("t"), "AI_NoSuchToolError", None, "'t'. No tools are available."),
    (NoSuchToolError("t", ("u", "v")), "AI_NoSuchToolError", None, "Available tools: u, v."),
    (UnknownToolCallError("c"), "UnknownToolCallError", None, "tool call c"),
    (UnexpectedOutcomeError("r"), "UnexpectedOutcomeError", None, "r"),
    (AnswersError(("x",), ()), "AnswersError", None, "there is no question x"),
    (AnswersError((), ("y", "z")), "AnswersError", None, "give an answer to y, z"),
    (AnswersError((), (), (("$.answers.a", "r"),), "n"), "AnswersError", "$.answers.a", "$.answers.a: r; n"),
    (AnswersError((), ()), "AnswersError", None, "the run asks nothing"),
    (UnknownStepError(3, 2), "UnknownStepError", None, "step 3 is not there; the run has steps 0 to 1"),
    (SavedRunError("$.version", "r"), "SavedRunError", "$.version", "$.version: r"),
    (SavedError("ModelError", "down"), "SavedError", None, "down"),
    (RunCancelledError(), "RunCancelledError", None, "cancelled"),
]


@pytest.mark.parametrize(("error", "wire_name", "path", "text"), EXAMPLES, ids=lambda x: type(x).__name__)
def test_an_error_has_its_trace_name_its_path_and_a_text(
    error: AgentCoreError, wire_name: str, path: str | None, text: str
) -> None:
    assert error.wire_name == wire_name
    assert error.path == path
    assert text in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), vars(again), str(again)) == (type(error), vars(error), str(error))


def test_every_error_is_in_the_table_and_exported() -> None:
    public = {
        name
        for name, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, AgentCoreError) and name[0] != "_"
    }
    assert {type(error).__name__ for error, *_ in EXAMPLES} == public == set(errors.__all__)
