"""A run waits for a person: what for, and how `resume` goes on with the answers, or says why it cannot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anyio
import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.kit import USER, add, adding, call, echo, outputs, roles, run_by, scripted, text
from agentcore.agent.agent import Agent, AgentError, ResumeError
from agentcore.agent.call.config import step_count_is
from agentcore.agent.middleware import (
    AgentStreamContext,
    AgentStreamStage,
    ExecuteToolContext,
    ExecuteToolStage,
    InvokeModelContext,
    InvokeModelStage,
)
from agentcore.agent.models import ModelRequest, ScriptedModel
from agentcore.agent.output import AgentResult, NoObjectError, Output
from agentcore.agent.tools import Tool, ToolContext, tool, tool_without_execute
from agentcore.errors import AnswersError, ImmutableWriteError, InvalidJsonError
from agentcore.machine.pending import Pending
from agentcore.machine.run import Run
from agentcore.messages.content import GeneratedText, ToolApprovalRequest, ToolCall
from agentcore.messages.messages import (
    ErrorTextOutput,
    ExecutionDeniedOutput,
    JsonOutput,
    Message,
    TextOutput,
    ToolApprovalResponsePart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.values import dump_json, freeze, parse_json
from agentcore.records.history import fork
from agentcore.records.saved import from_json, to_json
from agentcore.requirements.rules import Rule
from rulebook import states

BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
pytestmark = pytest.mark.anyio

CHOOSE = tool_without_execute("choose", {"type": "object"})
SEARCH = ToolCall(tool_call_id="s", tool_name="search", input={"q": 1}, provider_executed=True, dynamic=True)


@tool(needs_approval=True)
async def delete(name: str) -> str:
    """Delete a file."""
    return f"deleted {name}"


@tool(needs_approval=lambda arguments, _: arguments["amount"] > 10)
def pay(amount: int) -> int:
    """Pay, which needs approval for large amounts."""
    return amount


@tool
async def ask(name: str, about: ToolContext) -> str:
    """Ask under this name."""
    return f"{name}: {about.interrupt(name, reason={'about': name})}"


TOOLS: list[Tool[..., Any]] = [add, delete, pay, ask, CHOOSE]


def agent_of(*script: Any, **fields: Any) -> Agent[Any]:
    return Agent(scripted(*script, text()), tools=TOOLS, **fields)


async def go_on(path: str, agent: Agent[Any], run: Run, **fields: Any) -> AgentResult[Any]:
    if path == "generate":
        return await agent.resume(run, **fields)
    async with agent.resume_stream(run, **fields) as stream:
        async for _ in stream:
            pass
    return stream.result()


def again(run: Run) -> Run:
    """The run, from the text that it was saved as."""
    return from_json(parse_json(dump_json(to_json(run))))


def answer_to(one: Pending) -> Any:
    """An answer of any kind, by what is asked."""
    if one.kind == "approval":
        number = len(f"{one.tool_call_id}{one.input}") % 3
        return [True, False, {"approved": False, "reason": "not now"}][number]
    return {"for": one.name or one.tool_name}


def answers_to(result: AgentResult[Any]) -> dict[str, Any]:
    return {one.id: answer_to(one) for one in result.pending}


# ---------------------------------------------------------------- what a run waits for


@BOTH
@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (call("delete", "c", name="a"), ("approval", "approval-c", "delete", {"name": "a"}, "c", None)),
        (call("pay", "d", amount=11), ("approval", "approval-d", "pay", {"amount": 11}, "d", None)),
        (call("choose", "c", of="x"), ("call", "c", "choose", {"of": "x"}, "c", None)),
        (call("ask", "c", name="n"), ("question", "tool/0/c/n", "ask", {"name": "n"}, "c", "n")),
    ],
)
async def test_a_run_that_waits_says_for_what(path: str, made: ToolCall, expected: Any) -> None:
    agent = agent_of([made])
    result = await run_by(path, agent, "q")
    kind, id_, tool_name, given_input, call_id, name = expected
    assert list(result.pending) == [
        Pending(
            kind=kind,
            id=id_,
            step_number=0,
            tool_call_id=call_id,
            tool_name=tool_name,
            input=given_input,
            name=name,
            reason=None if name is None else {"about": name},
        )
    ]
    for run in (result.run, again(result.run)):
        ended = await go_on(
            path, attrs.evolve(agent, model=scripted(text())), run, answers=answers_to(result)
        )
        assert (ended.text, list(ended.pending), ended.finish_reason) == ("done", [], "stop")
        assert len(ended.steps) == 2


async def test_what_waits_cannot_be_changed() -> None:
    result = await agent_of([call("delete", "a", name="x")]).generate("q")
    writes: list[Any] = [
        lambda: result.pending.append(1),  # type: ignore[attr-defined] # what it refuses
        result.conversation.clear,  # type: ignore[attr-defined] # as above
        lambda: result.pending[0].input.update(name="y"),  # type: ignore[union-attr] # as above
        lambda: setattr(result.pending[0], "kind", "call"),
    ]
    for write in writes:
        with pytest.raises(ImmutableWriteError):
            write()
    assert [one.input for one in result.pending] == [freeze({"name": "x"})]


@BOTH
async def test_a_run_that_waits_for_nothing_has_nothing_pending(path: str) -> None:
    assert list((await run_by(path, adding(), "q")).pending) == []
    below_the_limit = agent_of([call("pay", amount=10)])
    assert list((await run_by(path, below_the_limit, "q")).pending) == []
    tripped = adding(input_processors=[lambda step: step.abort("no")])
    assert list((await run_by(path, tripped, "q")).pending) == []


@BOTH
async def test_a_provider_waits_for_approval_as_well_and_is_given_it(path: str) -> None:
    request = ToolApprovalRequest("p", SEARCH)
    agent = Agent(scripted([SEARCH, request], text('{"result": 7}')), output=Output.of(int))
    result = await run_by(path, agent, "q")
    assert [(one.kind, one.id, one.tool_name) for one in result.pending] == [("approval", "p", "search")]
    with pytest.raises(NoObjectError, match="wait"):
        _ = result.object
    ended = await go_on(path, agent, again(result.run), answers={"p": True})
    assert ended.object == 7
    assert list(ended.messages[2].content) == [
        ToolApprovalResponsePart("p", approved=True, provider_executed=True)
    ]


@BOTH
async def test_questions_of_handlers_wait_with_the_approvals_of_the_step(path: str) -> None:
    def around_tools(context: ExecuteToolContext) -> None:
        context.interrupt("tool")

    def around_all(context: AgentStreamContext, result: AgentResult[Any]) -> None:
        assert result is not None
        context.interrupt("all")

    middleware = [ExecuteToolStage.input(around_tools), AgentStreamStage.output(around_all)]
    agent = agent_of([call("delete", "a", name="x"), call("add", "b", a=1)], middleware=middleware)
    result = await run_by(path, agent, "q")
    asked = ["execute-tool/0/b/tool", "agent-stream/all", "approval-a"]
    assert [one.id for one in result.pending] == asked
    # Its approved call is run through the handlers as well, at the step that follows.
    more = await go_on(path, agent, again(result.run), answers=dict.fromkeys(asked, True))
    assert [(one.id, one.tool_name) for one in more.pending] == [("execute-tool/1/a/tool", "delete")]
    ended = await go_on(path, agent, more.run, answers={"execute-tool/1/a/tool": None})
    assert roles(ended.messages) == ["assistant", "tool", "tool", "tool", "assistant"]


# ---------------------------------------------------------------- the same as by hand


@BOTH
@states(Rule.PENDING_REPLY)
async def test_a_mixed_step_goes_on_with_one_call(path: str) -> None:
    ran: list[str] = []

    def note(context: ExecuteToolContext) -> None:
        ran.append(context.call.tool_call_id)

    calls = [
        call("ask", "a", name="n"),
        call("delete", "b", name="x"),
        call("add", "c", a=1),
        call("delete", "d", name="y"),
        call("choose", "e"),
    ]
    finished: list[int] = []
    agent = agent_of(
        calls,
        middleware=[ExecuteToolStage.input(note)],
        on_finish=lambda told: finished.append(len(told.steps)),
    )
    result = await run_by(path, agent, "q")
    assert [one.kind for one in result.pending] == ["question", "approval", "approval", "call"]
    answers = {
        "tool/0/a/n": 7,
        "approval-b": True,
        "approval-d": {"approved": False, "reason": "late"},
        "e": "left",
    }
    ended = await go_on(path, agent, again(result.run), answers=answers)
    assert outputs(ended) == ["n: 7", 2]
    assert [list(message.content) for message in ended.messages[2:4]] == [
        [
            ToolApprovalResponsePart("approval-b", approved=True),
            ToolApprovalResponsePart("approval-d", approved=False, reason="late"),
            ToolResultPart("e", "choose", output=TextOutput("left")),
        ],
        [
            ToolResultPart("b", "delete", output=TextOutput("deleted x")),
            ToolResultPart("d", "delete", output=ExecutionDeniedOutput("late")),
        ],
    ]
    assert (ran.count("b"), ran.count("c"), ran.count("d")) == (1, 1, 0)
    assert finished == [2]
    assert len(ended.steps) == 2


def by_hand(result: AgentResult[Any]) -> list[Message]:
    """What somebody without `resume` passes on."""
    parts: list[Any] = []
    for one in result.pending:
        answer = answer_to(one)
        if one.kind == "approval":
            given = answer if isinstance(answer, dict) else {"approved": answer}
            parts.append(ToolApprovalResponsePart(one.id, **given))
        else:
            parts.append(ToolResultPart(one.id, str(one.tool_name), output=JsonOutput(answer)))
    return [*result.run.chains.initial, *result.messages, ToolMessage(parts)]


kinds = st.sampled_from(
    [
        ("add", {"a": 1}),
        ("delete", {"name": "x"}),
        ("delete", {"name": "other"}),
        ("pay", {"amount": 5}),
        ("pay", {"amount": 50}),
        ("ask", {"name": "n"}),
        ("choose", {}),
        ("nobody", {}),
    ]
)
scripts = st.lists(st.lists(kinds, min_size=1, max_size=4), max_size=3)


def model_of(script: list[list[Any]]) -> ScriptedModel:
    """Answers by how many answers there are already, whoever asks."""

    def answer(request: ModelRequest) -> Any:
        number = sum(message.role == "assistant" for message in request.prompt)
        if number >= len(script):
            return [GeneratedText("done")]
        return [
            call(name, f"{number}.{index}", **arguments)
            for index, (name, arguments) in enumerate(script[number])
        ]

    return ScriptedModel(answer)


def prompts(model: ScriptedModel) -> list[list[Message]]:
    return [list(request.prompt) for request in model.calls]


async def resumed_to_the_end(path: str, agent: Agent[Any], *, is_saved: bool) -> AgentResult[Any]:
    result = await run_by(path, agent, messages=[USER])
    while result.pending:
        run = again(result.run) if is_saved else result.run
        result = await go_on(path, agent, run, answers=answers_to(result))
    return result


async def by_hand_to_the_end(path: str, agent: Agent[Any]) -> list[Message]:
    """Questions are answered by `resume`, approvals and calls by another run."""
    result = await run_by(path, agent, messages=[USER])
    while result.pending:
        result = await run_by(path, agent, messages=by_hand(result))
    return [*result.run.chains.initial, *result.messages]


@pytest.mark.slow
@BACKENDS
@BOTH
@settings(max_examples=max(settings().max_examples // 3, 1))
@given(script=scripts, is_saved=st.booleans())
@example(script=[[("delete", {"name": "x"}), ("choose", {})], [("pay", {"amount": 50})]], is_saved=True)
def test_resume_makes_the_messages_that_are_made_by_hand(
    backend: str, path: str, script: list[list[Any]], *, is_saved: bool
) -> None:
    @tool(name="ask")
    async def answered(name: str) -> str:
        return f"{name}: {freeze({'for': name})}"

    one, other = model_of(script), model_of(script)
    agent = Agent(one, tools=[add, delete, pay, ask, CHOOSE])
    plain = Agent(other, tools=[add, delete, pay, answered, CHOOSE])
    result = anyio.run(lambda: resumed_to_the_end(path, agent, is_saved=is_saved), backend=backend)
    manual = anyio.run(lambda: by_hand_to_the_end(path, plain), backend=backend)
    assert list(result.conversation) == manual
    assert [USER, *result.messages] == manual
    assert prompts(one) == prompts(other)
    assert [record.step_number for record in result.steps] == list(range(len(result.steps)))


# ---------------------------------------------------------------- a resume that cannot go on


async def refused(kind: type[Exception], agent: Agent[Any], run: Run, **fields: Any) -> Any:
    """The error of both ways."""
    with pytest.raises(kind) as raised:
        await agent.resume(run, **fields)
    with pytest.raises(kind) as streamed:
        async with agent.resume_stream(run, **fields):
            raise AssertionError
    assert str(raised.value) == str(streamed.value)
    return raised.value


@states(Rule.PENDING_ANSWERED_TOGETHER)
@pytest.mark.parametrize("is_saved", [False, True])
async def test_a_resume_without_all_answers_says_what_the_run_waits_for(is_saved: bool) -> None:
    agent = agent_of([call("delete", "a", name="x"), call("ask", "b", name="n"), call("choose", "c")])
    result = await agent.generate("q")
    run = again(result.run) if is_saved else result.run
    waits = (
        'the run waits for tool/0/b/n (n {"about":"n"}, asked by ask({"name":"n"})), '
        'approval-a (may delete({"name":"x"}) run?), c (the result of choose({}))'
    )
    error = await refused(AnswersError, agent, run)
    assert (error.missing, error.unknown) == (("tool/0/b/n", "approval-a", "c"), ())
    assert str(error) == f"give an answer to tool/0/b/n, approval-a, c; {waits}"
    error = await refused(AnswersError, agent, run, answers={"c": 1, "tool/0/b/n": 1})
    assert str(error) == f"give an answer to approval-a; {waits}"
    error = await refused(AnswersError, agent, run, answers={"x": 1})
    assert (error.unknown, error.note) == (("x",), waits)
    error = await refused(
        AnswersError, agent, run, answers={"c": 1, "tool/0/b/n": 1, "approval-a": {"approved": "yes"}}
    )
    assert error.path == '$.answers["approval-a"].approved'
    error = await refused(InvalidJsonError, agent, run, answers={"c": object()})
    assert error.path == "$.answers.c"
    ended = await agent.resume(run, answers={"c": 1, "tool/0/b/n": 1, "approval-a": True})
    assert ended.text == "done"


async def test_a_run_that_ends_without_a_person_is_told_apart_from_one_that_waits() -> None:
    agent = agent_of([call("delete", "a", name="x")])
    waits = await agent.generate("q")
    assert (await refused(AnswersError, agent, waits.run)).missing == ("approval-a",)
    done = await agent.resume(waits.run, answers={"approval-a": True})
    error = await refused(AnswersError, agent, done.run, answers={"approval-a": True})
    assert str(error) == (
        "there is no question approval-a; the run is done and waits for nothing; "
        "begin another turn with agent.generate(prompt, messages=run.conversation)"
    )
    assert await agent.resume(done.run) == done
    assert await agent.resume(done.run, answers={}) == done


async def test_a_run_that_does_not_wait_yet_says_so() -> None:
    agent = agent_of([call("delete", "a", name="x")], on_step_finish=lambda _: 1 // 0)
    with pytest.raises(AgentError) as raised:
        await agent.generate("q")
    agent = attrs.evolve(agent, on_step_finish=None)
    error = await refused(AnswersError, agent, raised.value.run, answers={"approval-a": True})
    assert "the run waits for nothing yet; resume it without answers" in str(error)
    waits = await agent.resume(raised.value.run)
    assert (await agent.resume(waits.run, answers={"approval-a": True})).text == "done"


LOST = ToolMessage([ToolApprovalResponsePart("lost", approved=True)])


@pytest.mark.parametrize("middle", [[], [UserMessage("and")], [UserMessage("a"), UserMessage("b")]])
async def test_a_run_that_fails_on_its_messages_is_not_tried_again(middle: list[Message]) -> None:
    agent = agent_of()
    with pytest.raises(AgentError) as raised:
        await agent.generate(messages=[USER, *middle, LOST])
    for run in (raised.value.run, attrs.evolve(raised.value.run)):
        error = await refused(ResumeError, agent, run)
        assert "fails on its messages as often as it is resumed (InvalidToolApprovalError: " in str(error)
        assert str(error).endswith(
            "start another one with other messages: agent.generate(prompt, messages=...)"
        )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"model": scripted(model_id="other")}, "pass the run's model as `model`"),
        ({"tools": [add]}, "the run has a tool 'delete' that can be executed; give it in `tools`"),
        ({"tools": [*TOOLS[:-1], echo]}, "a tool 'choose' that is executed by somebody else; give it in"),
    ],
)
async def test_an_agent_for_another_run_is_refused_before_its_answers_are_read(
    fields: Any, said: str
) -> None:
    agent = agent_of([call("delete", "a", name="x")])
    run = (await agent.generate("q")).run
    assert said in str(await refused(ResumeError, attrs.evolve(agent, **fields), run, answers={"x": 1}))


# ---------------------------------------------------------------- the next turn


@BOTH
async def test_the_next_turn_begins_with_the_conversation(path: str) -> None:
    agent = Agent(scripted([call(a=2)], text("three"), text("four")), tools=[add])
    first = await run_by(path, agent, USER)
    assert list(first.conversation) == [USER, *first.messages]
    second = await run_by(path, agent, "more", messages=first.conversation)
    assert list(second.conversation) == [USER, *first.messages, UserMessage("more"), *second.messages]
    assert list(again(second.run).conversation) == list(second.conversation)


@BOTH
async def test_a_compaction_is_in_the_conversation(path: str) -> None:
    summary = UserMessage("summary")
    agent = adding(prepare_step=lambda step: {"lasting_messages": [summary]} if step.step_number else None)
    result = await run_by(path, agent, "q")
    assert list(result.conversation) == [summary, result.messages[2]]
    forked = fork(result.run, len(result.steps))
    assert forked.pending.step.messages == result.conversation.messages  # type: ignore[union-attr] # it is about to prepare a step


async def test_a_stream_and_an_error_have_the_conversation_as_far_as_it_has_come() -> None:
    agent = adding()
    async with agent.stream(USER) as stream:
        assert list(stream.conversation) == [USER]
        async for _ in stream:
            pass
    assert stream.conversation == stream.result().conversation
    failing = Agent(scripted([call(a=2)], ValueError("down")), tools=[add])
    with pytest.raises(AgentError) as raised:
        await failing.generate(USER)
    assert roles(raised.value.conversation) == ["user", "assistant", "tool"]
    assert (await adding().generate("again", messages=raised.value.conversation)).steps


async def test_a_failed_step_keeps_its_lasting_edit() -> None:
    summary = UserMessage("summary")
    agent = Agent(scripted(ValueError("down")), prepare_step=lambda _: {"lasting_messages": [summary]})
    with pytest.raises(AgentError) as raised:
        await agent.generate(messages=[USER, USER])
    assert list(raised.value.conversation) == [summary]


@BOTH
async def test_while_an_approval_waits_the_conversation_is_what_is_passed_on(path: str) -> None:
    agent = agent_of([call("delete", "a", name="x")])
    result = await run_by(path, agent, USER)
    approval = ToolMessage([ToolApprovalResponsePart("approval-a", approved=True)])
    ended = await run_by(path, agent, messages=[*result.conversation, approval])
    assert roles(ended.conversation) == ["user", "assistant", "tool", "tool", "assistant"]
    with pytest.raises(AgentError, match="no result for tool calls: a"):
        await run_by(
            path, agent_of([call("delete", "a", name="x")]), "never mind", messages=result.conversation
        )


# ---------------------------------------------------------------- the same run


@BOTH
async def test_a_run_that_is_answered_keeps_what_it_was(path: str) -> None:
    numbers: list[int] = []

    def count(context: InvokeModelContext) -> None:
        numbers.append(context.step_number)

    script = [[call("delete", "a", name="x")], [call("add", "b", a=1)], [call("delete", "a", name="y")]]
    saved: list[Run] = []
    agent = agent_of(*script, middleware=[InvokeModelStage.input(count)], stop_when=step_count_is(9))
    result = await run_by(path, agent, "q", checkpoint=saved.append)
    while result.pending:
        assert [one.id for one in result.pending] == ["approval-a"]
        result = await go_on(
            path, agent, again(result.run), answers={"approval-a": True}, checkpoint=saved.append
        )
    assert numbers == [0, 1, 2, 3]
    assert [len(run.steps) for run in saved] == [1, 2, 3, 4]
    assert roles(result.messages) == [
        *("assistant", "tool", "tool"),
        *("assistant", "tool"),
        *("assistant", "tool", "tool"),
        "assistant",
    ]


@BOTH
async def test_an_approved_call_that_fails_or_asks_is_done_again(path: str) -> None:
    left = ["ask", "fail"]

    @tool(needs_approval=True)
    async def risky(about: ToolContext) -> str:
        if left == ["ask", "fail"] and about.interrupt("sure"):
            left.pop()
            raise ValueError("broken")
        return "fine"

    agent = Agent(scripted([call("risky", "a")], [call("risky", "b")], text()), tools=[risky])
    first = await run_by(path, agent, "q")
    asked = await go_on(path, agent, first.run, answers={"approval-a": True})
    assert [(one.id, one.tool_name) for one in asked.pending] == [("tool/1/a/sure", "risky")]
    assert list(asked.conversation) == list(asked.run.conversation)
    second = await go_on(path, agent, again(asked.run), answers={"tool/1/a/sure": True})
    part = second.messages[2].content[0]
    assert isinstance(part, ToolResultPart)
    assert part.output == ErrorTextOutput("broken")
    assert [one.id for one in second.pending] == ["approval-b"]


def names(results: Iterable[Pending]) -> list[str]:
    return [one.id for one in results]


@BOTH
async def test_a_run_that_was_cancelled_after_the_answers_goes_on_with_them(path: str) -> None:
    agent = agent_of([call("ask", "a", name="n"), call("delete", "b", name="x")])
    result = await run_by(path, agent, "q")
    assert names(result.pending) == ["tool/0/a/n", "approval-b"]
    scope = anyio.CancelScope()
    stopped: list[Run] = []

    async def hang(_: Any) -> None:
        scope.cancel()
        await anyio.sleep_forever()

    with scope:
        async with agent.resume_stream(
            result.run, answers=dict.fromkeys(names(result.pending), True), on_step_finish=hang
        ) as stream:
            async for _ in stream:
                pass
    stopped.append(stream.run)
    for run in (stopped[0], again(stopped[0])):
        ended = await go_on(path, attrs.evolve(agent, model=scripted(text())), run)
        assert roles(ended.messages) == ["assistant", "tool", "tool", "tool", "assistant"]
