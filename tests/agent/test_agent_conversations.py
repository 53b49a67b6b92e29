from __future__ import annotations

import json
import pickle
from typing import Any

import attrs
import pytest

from agent.kit import USER, add, adding, call, roles, run_by, scripted, text
from agentcore.agent.agent import Agent, AgentError, AgentResult
from agentcore.agent.middleware import AgentStreamStage
from agentcore.agent.tools import tool
from agentcore.conversations.conversation import Conversation, KeptMessages, TurnMessage
from agentcore.conversations.saved import conversation_from_json, conversation_to_json
from agentcore.errors import InvalidConversationError
from agentcore.messages.messages import (
    AssistantMessage,
    Message,
    ToolApprovalResponsePart,
    ToolMessage,
    UserMessage,
)
from agentcore.records.history import fork
from agentcore.records.saved import from_json, to_json

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
SUMMARY = UserMessage("summary")


@tool(needs_approval=True)
def delete(name: str) -> str:
    """Deletes."""
    return f"deleted {name}"


def origins(messages: Any) -> list[tuple[Any, ...]]:
    return [(one.message.role, one.given_by, one.step, one.hook) for one in messages]


def again(conversation: Conversation) -> Conversation:
    return conversation_from_json(json.loads(json.dumps(conversation_to_json(conversation))))


def turn(result: AgentResult[Any]) -> Any:
    found = result.conversation.turn
    assert found is not None
    return found


# ---------------------------------------------------------------- turns


@BOTH
async def test_a_call_makes_one_turn_of_the_callers_messages_and_the_runs(path: str) -> None:
    agent = Agent(scripted([call(a=2)], text("three"), text("four")), tools=[add])
    first = await run_by(path, agent, "q", messages=[USER])
    assert list(first.conversation) == [*first.run.conversation]
    assert origins(turn(first).messages) == [
        ("user", "caller", None, None),
        ("user", "caller", None, None),
        ("assistant", "run", 0, None),
        ("tool", "run", 0, None),
        ("assistant", "run", 1, None),
    ]
    second = await run_by(path, agent, "more", conversation=again(first.conversation))
    assert [one.message for one in turn(second).messages] == [UserMessage("more"), *second.messages]
    assert list(second.run.given) == [*first.conversation, UserMessage("more")]
    assert second.conversation.path[:1] == first.conversation.path
    assert turn(second).parent == turn(first).id
    assert second.conversation is second.conversation


async def test_a_stream_has_the_conversation_as_far_as_it_has_come() -> None:
    agent = adding()
    seen: list[list[str]] = []
    async with agent.stream(USER) as stream:
        async for _ in stream:
            if not seen or roles(stream.conversation) != seen[-1]:
                seen.append(roles(stream.conversation))
    assert seen[:2] == [["user"], ["user", "assistant", "tool"]]
    assert stream.conversation == stream.result().conversation


async def test_a_call_fails_with_the_turn_as_far_as_it_has_come() -> None:
    first = (await adding().generate("q")).conversation
    failing = Agent(scripted([call(a=2)], ValueError("down")), tools=[add])
    with pytest.raises(AgentError) as raised:
        await failing.generate("more", conversation=first)
    failed = raised.value.conversation
    assert roles(failed) == [*roles(first), "user", "assistant", "tool"]
    assert failed.turns[0] == first.turns[0]
    assert pickle.loads(pickle.dumps(raised.value)).conversation == failed
    ended = await adding().resume(raised.value.run, conversation=again(failed))
    assert [turn.run_start for turn in ended.conversation.turns] == [0, 0, 2]
    assert ended.conversation.record[:7] == failed.record
    assert [one.message for one in ended.conversation.record] == [
        *first,
        UserMessage("more"),
        *ended.messages,
    ]


async def test_messages_beside_a_conversation_come_after_it() -> None:
    first = (await Agent(scripted(text("one"))).generate("q")).conversation
    second = await Agent(scripted(text("two"))).generate("more", messages=[USER], conversation=first)
    assert list(second.conversation)[2:4] == [USER, UserMessage("more")]


async def test_branches_of_one_conversation_are_independent() -> None:
    base = (await Agent(scripted(text("one"))).generate("q")).conversation
    left = (await Agent(scripted(text("left"))).generate("l", conversation=base)).conversation
    right = (await Agent(scripted(text("right"))).generate("r", conversation=left.at(base.head))).conversation
    assert [turn.parent for turn in right.turns] == [None, base.head, base.head]
    assert [one.content for one in right][2] == "r"
    assert list(right.at(left.head)) == list(left)


@BOTH
async def test_a_turn_is_made_again_and_its_prompt_is_kept_once(path: str) -> None:
    first = (await Agent(scripted(text("one"))).generate("q")).conversation
    before = first.before(first.record[1].id)
    result = await run_by(path, Agent(scripted(text("other"))), conversation=again(before))
    assert turn(result).parent is None
    assert turn(result).messages[0] == first.record[0]
    assert [len(list(one.own)) for one in result.conversation.turns] == [2, 1]
    assert roles(result.conversation) == ["user", "assistant"]


@BOTH
async def test_an_edit_is_another_turn_beside_the_old_one(path: str) -> None:
    first = (await Agent(scripted(text("one"))).generate("q", messages=[USER])).conversation
    edited = first.edit(first.record[1].id, UserMessage("Q"))
    result = await run_by(path, Agent(scripted(text("other"))), conversation=again(edited))
    assert list(result.run.given) == [USER, UserMessage("Q")]
    assert [one.replaces for one in turn(result).messages] == [None, first.record[1].id, None]
    assert turn(result).messages[0] == first.record[0]
    assert first.record == result.conversation.at(first.head).record


# ---------------------------------------------------------------- what hooks leave for good


@BOTH
async def test_a_compaction_is_a_view_beside_the_full_record(path: str) -> None:
    agent = adding(prepare_step=lambda step: {"lasting_messages": [SUMMARY]} if step.step_number else None)
    first = await run_by(path, agent, "q")
    assert roles(first.conversation) == ["user", "assistant"]
    assert [one.message for one in first.conversation.record] == [UserMessage("q"), *first.messages]
    summary, kept = turn(first).context
    assert (summary.message, summary.hook, summary.step) == (SUMMARY, "prepare_step", 1)
    assert kept == KeptMessages(3, 1)
    second = await run_by(path, Agent(scripted(text("more"))), "and?", conversation=again(first.conversation))
    assert turn(second).context is None
    assert list(second.run.given) == [SUMMARY, first.messages[2], UserMessage("and?")]
    assert len(second.conversation.record) == 6
    assert second.conversation.context[0] == summary


async def test_a_message_that_is_added_for_good_costs_itself() -> None:
    conversation = Conversation()
    note = UserMessage("note")
    for number in range(20):
        agent = Agent(
            scripted(text(str(number))),
            prepare_step=lambda step: {"lasting_messages": [*step.messages, note]},
        )
        conversation = (await agent.generate("q", conversation=conversation)).conversation
        made = conversation.turn
        assert made is not None
        kept, added, answer = made.context or ()
        assert kept == KeptMessages(0, number * 3 + 1)
        assert isinstance(added, TurnMessage)
        assert answer == KeptMessages(number * 3 + 1, 1)
    assert len(conversation) == 60
    assert len(conversation.record) == 40


async def test_an_edit_that_leaves_all_as_it_is_is_no_context() -> None:
    agent = Agent(scripted(text()), prepare_step=lambda step: {"lasting_messages": [*step.messages]})
    assert turn(await agent.generate("q", messages=[USER, USER])).context is None


async def test_one_message_at_two_places_is_two_messages() -> None:
    agent = Agent(
        scripted(text()), prepare_step=lambda step: {"lasting_messages": [step.messages[1], step.messages[0]]}
    )
    result = await agent.generate(messages=[USER, USER])
    assert list(result.conversation) == [USER, USER, *result.messages]
    agent = Agent(scripted(text()), prepare_step=lambda step: {"lasting_messages": [*step.messages] * 2})
    result = await agent.generate(messages=[USER])
    assert [one.given_by for one in result.conversation.context] == ["caller", "hook", "run"]


@pytest.mark.parametrize(
    ("fields", "hook", "step"),
    [
        ({"prepare_call": lambda _: {"messages": [SUMMARY]}}, "prepare_call", None),
        ({"input_processors": [lambda _: {"lasting_messages": [SUMMARY]}]}, None, 0),
        ({"prepare_step": lambda _: {"lasting_messages": [SUMMARY]}}, "prepare_step", 0),
        (
            {
                "middleware": [
                    AgentStreamStage.input(lambda context: attrs.evolve(context, messages=[SUMMARY]))
                ]
            },
            "agent-stream",
            None,
        ),
    ],
)
async def test_who_brought_in_a_message_for_good_is_known(
    fields: Any, hook: str | None, step: int | None
) -> None:
    first = (await Agent(scripted(text("one"))).generate("q")).conversation
    result = await Agent(scripted(text("two")), **fields).generate("more", conversation=first)
    (summary, kept) = turn(result).context
    assert isinstance(summary, TurnMessage)
    assert (summary.message, summary.given_by, summary.step) == (SUMMARY, "hook", step)
    assert summary.hook == hook or (hook is None and summary.hook)
    assert kept == KeptMessages(3, 1)
    assert [one.message for one in result.conversation.record][2] == UserMessage("more")


class Redact:
    """A processor of the input."""

    id = "redact"

    def process_input(self, step: Any) -> Any:
        return {"messages": [*step.messages[:-1], UserMessage("redacted")]}


async def test_what_a_processor_makes_of_the_input_lasts_and_the_record_has_what_was_said() -> None:
    first = (await Agent(scripted(text("one"))).generate("q")).conversation
    result = await Agent(scripted(text("two")), input_processors=[Redact()]).generate(
        "secret", conversation=first
    )
    (kept, redacted, answer) = turn(result).context
    assert (kept, answer) == (KeptMessages(0, 2), KeptMessages(3, 1))
    assert (redacted.hook, redacted.step, redacted.message) == ("redact", None, UserMessage("redacted"))
    assert turn(result).messages[0].message == UserMessage("secret")


async def test_a_failed_step_keeps_its_lasting_edit_in_the_conversation() -> None:
    agent = Agent(scripted(ValueError("down")), prepare_step=lambda _: {"lasting_messages": [SUMMARY]})
    with pytest.raises(AgentError) as raised:
        await agent.generate(messages=[USER, USER])
    (summary,) = raised.value.conversation.context
    assert (summary.hook, summary.step) == ("prepare_step", 0)
    assert [one.message for one in raised.value.conversation.record] == [USER, USER]


async def test_what_a_fork_was_given_is_of_the_fork() -> None:
    result = await adding().generate("q")
    forked = fork(result.run, 1, messages=[SUMMARY])
    ended = await Agent(scripted(text()), tools=[add]).resume(forked)
    (summary, _) = turn(ended).context
    assert (summary.hook, summary.given_by) == ("fork", "hook")


# ---------------------------------------------------------------- runs that wait


@pytest.mark.parametrize("saved", [False, True])
async def test_a_run_that_waited_goes_on_in_a_turn_of_its_own(saved: bool) -> None:
    first = (await Agent(scripted(text("one"))).generate("q")).conversation
    agent = Agent(scripted([call("delete", "a", name="x")], text("done")), tools=[delete])
    waits = await agent.generate("delete x", conversation=first)
    assert origins(turn(waits).messages)[1:] == [("assistant", "run", 0, None)]
    run, conversation = waits.run, waits.conversation
    if saved:
        run, conversation = from_json(json.loads(json.dumps(to_json(run)))), again(conversation)
    ended = await agent.resume(run, answers={"approval-a": True}, conversation=conversation)
    assert ended.conversation.path[:2] == waits.conversation.path
    assert turn(ended).run_start == 1
    assert turn(ended).context is None
    assert origins(turn(ended).messages) == [
        ("tool", "run", None, None),
        ("tool", "run", None, None),
        ("assistant", "run", 1, None),
    ]
    assert [one.message for one in ended.conversation.record] == [
        *first,
        UserMessage("delete x"),
        *ended.messages,
    ]
    agent = attrs.evolve(agent, model=scripted(text("done")))
    async with agent.resume_stream(run, answers={"approval-a": True}, conversation=conversation) as stream:
        async for _ in stream:
            pass
    assert list(stream.conversation) == list(ended.conversation)
    alone = await attrs.evolve(agent, model=scripted(text("done"))).resume(run, answers={"approval-a": True})
    assert [one.message for one in alone.conversation.record] == list(ended.conversation)


async def test_an_answer_to_an_approval_may_be_the_next_turns_prompt() -> None:
    agent = Agent(scripted([call("delete", "a", name="x")], text("done")), tools=[delete])
    waits = await agent.generate("delete x")
    answer = ToolMessage([ToolApprovalResponsePart("approval-a", approved=True)])
    ended = await agent.generate(answer, conversation=again(waits.conversation))
    assert origins(turn(ended).messages) == [
        ("tool", "caller", None, None),
        ("tool", "run", None, None),
        ("assistant", "run", 0, None),
    ]


async def test_nothing_new_is_no_turn() -> None:
    agent = Agent(scripted([call("delete", "a", name="x")], [call("delete", "b", name="y")]), tools=[delete])
    waits = await agent.generate("q")
    same = await agent.resume(waits.run, answers={"approval-a": False}, conversation=waits.conversation)
    assert turn(same).run_start == 1
    done = await adding().generate("q")
    assert (await adding().resume(done.run, conversation=done.conversation)).conversation == done.conversation


@pytest.mark.parametrize("kind", ["empty", "other", "edited", "before"])
async def test_a_run_goes_on_only_in_the_conversation_that_it_has_made(kind: str) -> None:
    agent = Agent(scripted([call("delete", "a", name="x")], text("done")), tools=[delete])
    waits = await agent.generate("q")
    other = (await Agent(scripted(text("one"))).generate("q")).conversation
    conversation = {
        "empty": Conversation(),
        "other": other,
        "edited": waits.conversation.edit(waits.conversation.record[0].id, USER),
        "before": waits.conversation.at(None),
    }[kind]
    with pytest.raises(InvalidConversationError, match="of the result that waits"):
        await agent.resume(waits.run, answers={"approval-a": True}, conversation=conversation)


async def test_a_run_that_waits_before_its_first_step_is_known_by_what_it_was_given() -> None:
    failing = Agent(scripted(ValueError("down")))
    with pytest.raises(AgentError) as raised:
        await failing.generate("q")
    run, conversation = raised.value.run, raised.value.conversation
    ended = await Agent(scripted(text())).resume(run, conversation=conversation)
    assert roles(ended.conversation) == ["user", "assistant"]
    with pytest.raises(AgentError) as other:
        await Agent(scripted(ValueError("down"))).generate("other")
    with pytest.raises(InvalidConversationError):
        await Agent(scripted(text())).resume(run, conversation=other.value.conversation)


# ---------------------------------------------------------------- sync


def test_a_conversation_goes_on_from_code_that_is_not_async() -> None:
    agent = Agent(scripted(text("one"), text("two")))
    first = agent.generate_sync("q")
    second = agent.generate_sync("more", conversation=first.conversation)
    messages: list[Message] = [UserMessage("q"), *first.messages, UserMessage("more"), *second.messages]
    assert list(second.conversation) == messages
    assert isinstance(messages[1], AssistantMessage)
