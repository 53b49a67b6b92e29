"""The text of an AgentError names the step once, and whose fault it was."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from agent.kit import USER, adding, call, run_by, scripted, text
from agentcore.agent.agent import Agent, AgentError
from agentcore.agent.middleware import AgentStreamStage, ExecuteToolStage, InvokeModelStage
from agentcore.agent.output import Output
from agentcore.errors import (
    AgentCoreError,
    ConflictingResultError,
    ForeignMessageListError,
    ImmutableWriteError,
    InvalidOverrideError,
    ProcessorFailedError,
    UnsupportedModelError,
    text_at_step,
)
from agentcore.machine.processors import InputArguments, StepArguments
from agentcore.messages.messages import ToolApprovalResponsePart, ToolMessage
from test_errors import EXAMPLES

BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
pytestmark = pytest.mark.anyio


def broken(*_: Any) -> Any:
    raise ValueError("broken")


def at(step_number: int, hook: Callable[[Any], Any] = broken) -> Callable[[Any], Any]:
    """A hook of one step."""
    return lambda step: hook(step) if step.step_number == step_number else None


def write(step: StepArguments) -> None:
    step.messages[-1].content = "x"  # type: ignore[misc] # what it refuses


def kept() -> Callable[[StepArguments], Any]:
    """A processor that returns the list of the step before."""
    lists: list[Any] = []

    def processor(step: StepArguments) -> Any:
        lists.append(step.message_list)
        return lists[0] if len(lists) > 1 else None

    return processor


class Intake:
    """A processor of the input of a run."""

    id = "intake"

    def process_input(self, given: InputArguments) -> None:
        broken(given)


class Twice:
    """A processor that says in two ways what its step is made of."""

    id = "twice"

    def process_input_step(self, step: StepArguments) -> Any:
        step.message_list.add(USER)
        return {"messages": [USER]}


LOST = ToolMessage([ToolApprovalResponsePart("lost", approved=True)])
# Made anew for each test: some have a state.
CASES: list[tuple[Callable[[], dict[str, Any]], str]] = [
    (lambda: {"prepare_step": at(0)}, "step 0: processor 'prepare_step': ValueError: broken"),
    (lambda: {"prepare_step": at(1)}, "step 1: processor 'prepare_step': ValueError: broken"),
    (
        lambda: {"prepare_step": at(1, write)},
        "step 1: processor 'prepare_step': ImmutableWriteError: $.messages[2].content: ",
    ),
    (
        lambda: {"prepare_step": at(0, lambda _: {"temperature": 1})},
        "step 0: processor 'prepare_step': InvalidOverrideError: $.temperature: ",
    ),
    (
        lambda: {"prepare_step": at(1, lambda _: {"model": 7})},
        "step 1: processor 'prepare_step': UnsupportedModelError: $.model: ",
    ),
    (
        lambda: {"input_processors": [Twice()]},
        "step 0: processor 'twice': ConflictingResultError: $.messages: ",
    ),
    (lambda: {"input_processors": [kept()]}, "step 1: processor 'processor': ForeignMessageListError: "),
    (lambda: {"input_processors": [Intake()]}, "before the steps: processor 'intake': ValueError: broken"),
    (lambda: {"messages": [USER, LOST]}, "before the steps: InvalidToolApprovalError: "),
    (lambda: {"on_start": broken}, "step 0: "),
    (lambda: {"on_step_start": at(1)}, "step 1: "),
    (lambda: {"on_step_finish": at(0)}, "step 0: "),
    (lambda: {"on_step_finish": at(1)}, "step 1: "),
    (lambda: {"checkpoint": broken}, "step 0: "),
    (lambda: {"stop_when": broken}, "step 0: "),
    (lambda: {"on_finish": broken}, "step 1: "),
    (lambda: {"middleware": [InvokeModelStage.input(at(1))]}, "step 1: ValueError: broken"),
    (lambda: {"middleware": [ExecuteToolStage.input(broken)]}, "step 0: ValueError: broken"),
    (lambda: {"middleware": [AgentStreamStage.output(broken)]}, "step 1: ValueError: broken"),
    (lambda: {"middleware": [AgentStreamStage.input(broken)]}, "step 0: ValueError: broken"),
    (lambda: {"model": scripted([call(a=1)], ValueError())}, "step 1: ValueError"),
    (lambda: {"output": Output.of(int)}, "step 1: OutputError: "),
]


@BOTH
@pytest.mark.parametrize(("made", "said"), CASES, ids=[said for _, said in CASES])
async def test_a_failure_names_its_step_once(
    path: str, made: Callable[[], dict[str, Any]], said: str
) -> None:
    fields = {"messages": [USER]} | made()
    with pytest.raises(AgentError) as raised:
        await run_by(path, adding(), **fields)
    error = raised.value
    assert str(error).startswith(said)
    assert str(error).count("step 0") + str(error).count("step 1") == (not said.startswith("before"))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    cause = error.__cause__
    assert isinstance(cause, ProcessorFailedError | InvalidOverrideError) == ("processor '" in said)


@pytest.mark.measured
@pytest.mark.parametrize("error", [error for error, *_ in EXAMPLES], ids=lambda error: type(error).__name__)
def test_an_error_at_a_step_has_its_whole_text_but_for_the_step(error: AgentCoreError) -> None:
    line = text_at_step(error)
    assert type(error).__name__ in line or isinstance(error, ProcessorFailedError)
    number = getattr(error, "step_number", None)
    whose = getattr(error, "processor_id", None)
    if isinstance(error, ProcessorFailedError | InvalidOverrideError):
        assert f"step {number}" not in line
        assert "before the steps" not in line
        assert (whose is None) == ("processor" not in line)
    else:
        assert line == f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ProcessorFailedError("p", 1, KeyError("k")), "processor 'p': KeyError: 'k'"),
        (ProcessorFailedError("p", None, ValueError()), "processor 'p': ValueError"),
        (
            ProcessorFailedError("p", 1, ImmutableWriteError("$.a", "r")),
            "processor 'p': ImmutableWriteError: $.a: r",
        ),
        (InvalidOverrideError("$.a", "r", "p", 2), "processor 'p': InvalidOverrideError: $.a: r"),
        (ForeignMessageListError("$", "r", "p"), "processor 'p': ForeignMessageListError: $: r"),
        (ConflictingResultError("$.a", "r", "p", 0), "processor 'p': ConflictingResultError: $.a: r"),
        (UnsupportedModelError("$.model", "r"), "UnsupportedModelError: $.model: r"),
        (ValueError(), "ValueError"),
        (KeyError("k"), "KeyError: 'k'"),
    ],
)
def test_what_went_wrong_is_named_with_its_processor(error: Exception, line: str) -> None:
    assert text_at_step(error) == line


async def test_the_fields_of_what_went_wrong_are_kept() -> None:
    with pytest.raises(AgentError) as raised:
        await adding(prepare_step=at(1)).generate("q")
    cause = raised.value.__cause__
    assert isinstance(cause, ProcessorFailedError)
    assert (cause.processor_id, cause.step_number) == ("prepare_step", 1)
    assert str(cause) == "processor 'prepare_step' at step 1: ValueError: broken"


async def test_an_agent_in_a_tool_names_its_own_step() -> None:
    inner = Agent(scripted(ValueError("down")))

    async def ask(_: Any) -> None:
        await inner.generate("q")

    with pytest.raises(AgentError) as raised:
        await Agent(scripted(text()), prepare_step=ask).generate("q")
    assert str(raised.value) == "step 0: processor 'prepare_step': AgentError: step 0: ValueError: down"
