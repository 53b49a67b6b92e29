"""Folding `step` over the records of an agent's run gives the run's chains (rule step.folded)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio
import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.kit import add, call, run_by, text
from agentcore.agent.agent import Agent, AgentError, AgentResult
from agentcore.agent.models import ScriptedModel
from agentcore.agent.tools import Tool, ToolContext, tool
from agentcore.machine.pending import pending_of
from agentcore.machine.processors import InputArguments, StepArguments, abort
from agentcore.machine.run import Run
from agentcore.machine.step import prompt_of, step
from agentcore.messages.content import ContentPart
from agentcore.messages.messages import SystemMessage, UserMessage

NOTE: Final = UserMessage("note")
SUMMARY: Final = UserMessage("summary")


@tool(needs_approval=True)
def delete(name: str) -> str:
    return f"{name} is gone"


@tool
def confirm(name: str, context: ToolContext) -> Any:
    return context.interrupt("sure", reason=name)


@tool
def broken() -> None:
    raise ValueError("broke")


LATER: Final[Tool] = Tool("later", {"type": "object"})  # somebody else runs it
TOOLS: Final = (add, delete, confirm, broken, LATER)
CALLS: Final = (
    call("add", "a", a=1),
    call("delete", "d", name="x"),
    call("confirm", "q", name="x"),
    call("broken", "b"),
    call("later", "l"),
    call("nobody", "n"),
    call("add", "w", a="no number"),
)


def listing(arguments: Any) -> object:
    arguments.message_list.add(NOTE)
    arguments.message_list.remove_by_ids(arguments.message_list.ids[:1])
    return {"lasting_messages": arguments.message_list}


HOOKS: Final[dict[str, Callable[[StepArguments[Any]], object]]] = {
    "nothing": lambda _: None,
    "remind": lambda given: {"messages": [*given.messages, NOTE]},
    "forget": lambda given: given.messages[-1:],
    "compact": lambda _: {"lasting_messages": [SUMMARY]},
    "extend": lambda given: {"lasting_messages": [*given.lasting_messages, NOTE]},
    "both": lambda given: {"lasting_messages": [SUMMARY], "messages": [NOTE, *given.messages]},
    "list": listing,
    "system": lambda given: {"system": "other", "messages": [*given.messages, SystemMessage("more")]},
    "settings": lambda _: {"model_settings": {"temperature": 0}, "provider_options": {"p": {"a": 1}}},
    "wrong": lambda _: {"messages": [7]},
    "stop": lambda _: abort("enough"),
}


class Edits:
    """A processor that does another thing at each step."""

    def __init__(self, name: str, acts: list[str], first: bool) -> None:
        self.id = name
        self.acts = acts
        self.first = first

    def process_input(self, given: InputArguments[Any]) -> object:
        return [*given.messages, UserMessage(self.id)] if self.first else None

    def process_input_step(self, given: StepArguments[Any]) -> object:
        return HOOKS[self.acts[given.step_number % len(self.acts)]](given)


@attrs.frozen(kw_only=True)
class Talk:
    """What happens in a run: the model's answers, what each processor does at each step, and how it runs."""

    answers: list[list[ContentPart]]
    acts: list[list[str]]
    first: bool = False
    path: str = "generate"

    @property
    def agent(self) -> Agent[None]:
        script: list[Any] = [*self.answers, *([text("done")] * 12)]
        edits: list[Any] = [Edits(f"p{n}", acts, self.first) for n, acts in enumerate(self.acts)]
        return Agent(
            ScriptedModel(script), tools=TOOLS, system="s", input_processors=edits, validate_prompt=False
        )


ACTS: Final = st.lists(st.sampled_from([*HOOKS]), min_size=1, max_size=4)
CONTENTS: Final = st.lists(st.sampled_from([*CALLS, *text("a")]), max_size=3, unique_by=str)
TALKS: Final = st.builds(
    Talk,
    answers=st.lists(CONTENTS, max_size=4),
    acts=st.lists(ACTS, max_size=2),
    first=st.booleans(),
    path=st.sampled_from(["generate", "stream"]),
)


async def run_of(talk: Talk) -> Run:
    """The run of the talk at its end; all that it waits for on the way is answered."""
    agent = talk.agent
    try:
        result: AgentResult[Any] = await run_by(talk.path, agent, "u")
        while pending_of(result.run):
            answers = {one.id: _answer_to(one.kind) for one in pending_of(result.run)}
            result = await agent.resume(result.run, answers=answers)
    except AgentError as error:
        return error.run
    return result.run


def _answer_to(kind: str) -> object:
    return True if kind == "approval" else {"for": kind}


def check(run: Run) -> int:
    """Checks the law at each state that the run keeps; returns how many records it was checked on."""
    first, *after = run.history or (run,)
    folded = first.chains
    records = after[-1].steps if after else first.steps
    assert len(records) == len(after)
    for record, state in zip(records, after, strict=True):
        assert prompt_of(folded, record.results) == record.prompt
        folded = step(folded, record.results)
        assert (folded, folded.ids) == (state.chains, state.chains.ids)
        assert folded.step_input == state.conversation
    return len(records)


@given(TALKS)
@example(Talk(answers=[[CALLS[1], CALLS[2]], [CALLS[4]]], acts=[["nothing", "compact"], ["extend"]]))
@example(Talk(answers=[[CALLS[0]], [CALLS[3], CALLS[6]]], acts=[["list", "both"], ["remind"]], first=True))
def test_folding_step_over_the_records_of_an_agents_run_gives_its_chains(talk: Talk) -> None:
    check(anyio.run(run_of, talk))


@pytest.mark.parametrize(
    ("talk", "steps"),
    [
        (Talk(answers=[[CALLS[0]], [CALLS[1]], [CALLS[2]], [CALLS[4]]], acts=[["extend"]]), 5),
        (Talk(answers=[[CALLS[0]], [CALLS[0]]], acts=[["nothing", "stop"]]), 1),
        (Talk(answers=[[CALLS[0]], [CALLS[0]]], acts=[["compact", "list", "wrong"]]), 2),
    ],
)
def test_the_law_holds_with_questions_a_tripwire_and_a_failure(talk: Talk, steps: int) -> None:
    assert check(anyio.run(run_of, talk)) == steps


def test_the_law_does_not_hold_without_what_the_hooks_returned() -> None:
    run = anyio.run(run_of, Talk(answers=[[CALLS[0]]], acts=[["compact"]]))
    record = run.steps[0]
    assert step(run.history[0].chains, attrs.evolve(record.results, edits=())) != run.history[1].chains
    assert step(run.history[0].chains, attrs.evolve(record.results, content=())) != run.history[1].chains
