"""What a run waits for, and answers to it: the same messages as by hand, whatever the run was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentcore.errors import AnswersError, UnexpectedOutcomeError
from agentcore.machine.effects import (
    Answered,
    Asked,
    Cancelled,
    Done,
    HookFailed,
    HookResult,
    NeedFinish,
    NeedModel,
    NeedPrepareStep,
    NeedStepFinish,
    NeedTools,
    Settings,
    ToolOutcomes,
    ToolSpec,
    ToolSucceeded,
)
from agentcore.machine.pending import Pending, left_after, pending_of, unanswered
from agentcore.machine.run import Failed, Interrupted, Run, give, start
from agentcore.messages.content import GeneratedText, ToolApprovalRequest, ToolCall, ToolError, ToolResult
from agentcore.messages.interrupts import Interrupt
from agentcore.messages.messages import (
    ExecutionDeniedOutput,
    JsonOutput,
    Message,
    TextOutput,
    ToolApprovalResponsePart,
    ToolMessage,
    ToolPart,
    ToolResultPart,
)
from agentcore.messages.values import freeze
from agentcore.records.history import fork, replay
from agentcore.requirements.rules import Rule
from plays import HOOKS, REMINDER, SUMMARY, Play, answer_to, differences, on, parts
from records.test_saved import again
from rulebook import states
from scripted import USER, call, roles

TOOLS: Final = [
    ToolSpec("t"),
    ToolSpec("yes", needs_approval=True),
    ToolSpec("asks", needs_approval="ask"),
    ToolSpec("m", has_execute=False),
]
SETTINGS: Final = Settings(model="m", system="s", tools=TOOLS)
SEARCH: Final = call("s", "search", provider_executed=True, dynamic=True)
ASKED: Final = ToolApprovalRequest("p", SEARCH)
END: Final = [GeneratedText("end")]


def play(*script: Any, **fields: Any) -> Play:
    return Play(**{"settings": SETTINGS, "script": [*script], **fields})


def last(run: Run, played: Play) -> Run:
    *_, ended = on(run, played)
    return ended


def waiting(*content: Any, **fields: Any) -> Run:
    """A run that has ended with a step of this content."""
    played = play([*content], **fields)
    return last(start(played.settings, played.messages), played)


def moment(run: Run, played: Play, kind: type) -> Run:
    return next(one for one in on(run, played) if isinstance(one.pending, kind))


def seen(runs: list[Run]) -> list[Any]:
    """What models were asked with."""
    return [run.pending.prompt for run in runs if isinstance(run.pending, NeedModel)]


# ---------------------------------------------------------------- the property


def by_hand(run: Run) -> ToolMessage:
    """The tool message that answers a run, made of what its last step has said."""
    content = run.steps[-1].content
    requests = {part.tool_call: part for part in content if isinstance(part, ToolApprovalRequest)}
    done = {part.tool_call_id for part in content if isinstance(part, ToolResult | ToolError)}
    made: list[ToolPart] = []
    for part in content:
        if not isinstance(part, ToolCall) or part.tool_call_id in done:
            continue
        if part in requests:
            refused = part.tool_call_id == "d"
            reason = "no" if refused else None
            request = requests[part]
            made.append(ToolApprovalResponsePart(request.approval_id, approved=not refused, reason=reason))
        elif not part.provider_executed:
            made.append(ToolResultPart(part.tool_call_id, part.tool_name, output=JsonOutput({"to": "m"})))
    return ToolMessage(made)


def in_turns(played: Play) -> Iterator[Run]:
    """The runs of a play in which each answer begins another run, with the messages so far and the answer."""
    alone = attrs.evolve(played, replies=False, asks=frozenset())
    messages: list[Message] = list(alone.messages)
    while True:
        *others, ended = on(start(alone.settings, messages), attrs.evolve(alone, messages=messages))
        yield from (*others, ended)
        reply = by_hand(ended) if isinstance(ended.pending, Done) and ended.steps else None
        if reply is None or not reply.content:
            return
        messages = [*ended.conversation, reply]
        alone = attrs.evolve(alone, earlier=alone.earlier + len(ended.steps))


ENDINGS: Final[list[list[Any]]] = [
    [],
    [call("x", "yes")],
    [call("d", "yes"), call("y", "m")],
    [SEARCH, ASKED],
]


def with_ending(content: list[Any], ending: list[Any]) -> list[Any]:
    """Both, without two calls of one id: they have one request, and one answer."""
    ids = {getattr(part, "tool_call_id", None) for part in ending}
    known = {getattr(part, "tool_call_id", id(part)): part for part in content}
    return [part for key, part in known.items() if key not in ids] + ending


contents = st.builds(with_ending, st.lists(parts, max_size=3), st.sampled_from(ENDINGS))
replied = st.builds(
    Play,
    settings=st.just(SETTINGS),
    script=st.lists(contents, max_size=4),
    hooks=st.lists(HOOKS, max_size=4),
    asks=st.just(frozenset[int]()) | st.frozensets(st.integers(0, 12), max_size=3),
    partly=st.booleans(),
    replies=st.just(value=True),
)


@states(Rule.PENDING_REPLY, Rule.PENDING_ANSWERED_TOGETHER)
@given(replied)
@example(play([call("x", "yes"), call("y", "m")], replies=True))
@example(play([call("x", "yes"), call("c")], END, replies=True, asks=frozenset({3})))
@example(play([SEARCH, ASKED, call("d", "yes")], [call("x", "yes")], replies=True, hooks=["compact"] * 3))
def test_a_run_that_is_answered_has_the_messages_of_one_that_is_answered_by_hand(played: Play) -> None:
    resumed = list(on(start(played.settings, played.messages), played))
    manual = list(in_turns(played))
    one, other = resumed[-1], manual[-1]
    assert type(one.pending) is type(other.pending)
    assert one.conversation == other.conversation
    assert (
        seen([run for run in resumed if not isinstance(run.pending, Interrupted)])[-1:] == seen(manual)[-1:]
    )
    assert [record.prompt for record in one.steps] == [
        record.prompt
        for run in manual
        if isinstance(run.pending, NeedStepFinish)
        for record in run.steps[-1:]
    ]


@pytest.mark.slow
@given(replied)
def test_a_run_that_waits_is_saved_played_again_and_forked_as_any_other(played: Play) -> None:
    runs = list(on(start(played.settings, played.messages), played))
    ended = runs[-1]
    assert not list(differences(again(ended), ended))
    assert not list(differences(replay(played.settings, played.messages, ended.outcomes), ended))
    for run in runs:
        assert pending_of(again(run)) == pending_of(run)
        assert bool(pending_of(run)) == isinstance(run.pending, Interrupted) or isinstance(run.pending, Done)
    if isinstance(ended.pending, Done) and ended.pending.result.tripwire is None:
        other = fork(ended, len(ended.steps))
        assert other.conversation == ended.conversation
        assert pending_of(other) == ()


# ---------------------------------------------------------------- what a run waits for


def fields(one: Pending) -> tuple[Any, ...]:
    return (one.kind, one.id, one.step_number, one.tool_call_id, one.tool_name, one.name)


OURS: Final = ToolApprovalRequest("mine", call("c", "m"))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([call("c", "yes")], [("approval", "approval-c", 0, "c", "yes", None)]),
        ([call("d", "asks")], [("approval", "approval-d", 0, "d", "asks", None)]),
        ([SEARCH, ASKED], [("approval", "p", 0, "s", "search", None)]),
        ([call("c", "m"), OURS], [("approval", "mine", 0, "c", "m", None)]),
        ([call("c", "m")], [("call", "c", 0, "c", "m", None)]),
        (
            [call("c", "m"), call("a"), call("d", "yes"), call("e", "m")],
            [
                ("call", "c", 0, "c", "m", None),
                ("approval", "approval-d", 0, "d", "yes", None),
                ("call", "e", 0, "e", "m", None),
            ],
        ),
        # Calls that share an id are one thing that waits.
        ([call("c", "m"), call("c", "m")], [("call", "c", 0, "c", "m", None)]),
        ([call("c", "yes"), call("c", "yes")], [("approval", "approval-c", 0, "c", "yes", None)]),
        # Nothing waits for a call that was answered, or cannot be run.
        ([call("a"), call("b")], []),
        ([call("c", "nobody")], []),
        ([call("c", "yes", invalid=True, error="no JSON")], []),
        ([SEARCH, ToolResult(tool_call_id="s", tool_name="search", output=1), ASKED], []),
        ([SEARCH], []),
        ([call("a"), ToolApprovalRequest("theirs", call("a"))], []),
        (END, []),
    ],
)
def test_a_step_waits_for_its_approvals_and_for_the_calls_that_no_tool_runs(
    content: list[Any], expected: list[Any]
) -> None:
    run = last(start(SETTINGS, [USER]), play(content))
    assert [fields(one) for one in pending_of(run)] == expected
    for one in pending_of(run):
        assert one.input == freeze({"id": one.tool_call_id})


def test_a_later_step_waits_under_its_own_number_and_ids_may_come_again() -> None:
    run = waiting(call("c", "yes"))
    run = last(give(run, Answered({"approval-c": True})), play([], [call("c", "yes")]))
    assert [fields(one) for one in pending_of(run)] == [("approval", "approval-c", 1, "c", "yes", None)]
    assert roles(run.chains.response) == ["assistant", "tool", "tool", "assistant"]
    ended = last(give(run, Answered({"approval-c": False})), play())
    assert ended.chains.response[5].content[0].output == ExecutionDeniedOutput(None)  # type: ignore[union-attr] # a tool message
    assert pending_of(ended) == ()


@pytest.mark.parametrize(
    ("asked", "about"),
    [
        (Interrupt(name="sure", reason=[1], step_number=0, tool_call_id="c"), ("t", {"id": "c"})),
        (Interrupt(name="b", source="execute-tool", step_number=0, tool_call_id="c"), ("t", {"id": "c"})),
        (Interrupt(name="b", source="invoke-model", step_number=0), (None, None)),
        (Interrupt(name="b", source="agent-stream"), (None, None)),
        (Interrupt(name="sure", step_number=0, tool_call_id="elsewhere"), (None, None)),
    ],
)
def test_a_question_waits_with_the_call_that_it_is_about(asked: Interrupt, about: tuple[Any, Any]) -> None:
    run = moment(start(SETTINGS, [USER]), play([call("c")]), NeedTools)
    (one,) = pending_of(give(run, Asked([asked])))
    assert fields(one) == ("question", asked.id, asked.step_number, asked.tool_call_id, about[0], asked.name)
    assert (one.reason, one.input) == (asked.reason, freeze(about[1]))


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (
            Pending(kind="approval", id="a", step_number=0, tool_name="t", input={"n": 1}),
            'may t({"n":1}) run?',
        ),
        (Pending(kind="call", id="a", step_number=0, tool_name="t", input={}), "the result of t({})"),
        (Pending(kind="question", id="a", step_number=0, name="sure"), "sure"),
        (
            Pending(kind="question", id="a", step_number=0, name="sure", reason="big \ud800"),
            r'sure "big \ud800"',
        ),
        (
            Pending(
                kind="question", id="a", step_number=0, name="sure", reason=[1], tool_name="t", input=None
            ),
            "sure [1], asked by t(null)",
        ),
        (
            Pending(kind="call", id="a", step_number=0, tool_name="t", input="x" * 9000),
            f'the result of t("{"x" * 99}...)',
        ),
    ],
)
def test_what_waits_has_a_short_text_for_a_person(one: Pending, text: str) -> None:
    assert one.text == text


def test_a_run_that_can_go_on_waits_for_nothing() -> None:
    script = play([call("c", "yes"), call("d", "asks"), call("e")])
    for run in on(start(SETTINGS, [USER]), script):
        assert bool(pending_of(run)) == isinstance(run.pending, Done)
    assert left_after(run.steps[:0], run.chains) == ()
    failed = give(moment(start(SETTINGS, [USER]), script, NeedFinish), HookFailed(ValueError()))
    assert isinstance(failed.pending, Failed)
    assert pending_of(failed) == ()


# ---------------------------------------------------------------- mixed steps


MIXED: Final = [call("c"), call("d", "yes"), call("e", "m")]
QUESTION: Final = Interrupt(name="sure", step_number=0, tool_call_id="c")
ANSWERS: Final = {QUESTION.id: "go", "approval-d": {"approved": False, "reason": "late"}, "e": "done by hand"}


def asked_in_the_middle() -> Run:
    return give(moment(start(SETTINGS, [USER]), play(MIXED), NeedTools), Asked([QUESTION]))


@states(Rule.PENDING_ANSWERED_TOGETHER)
def test_a_question_and_the_approvals_of_its_step_wait_together() -> None:
    run = asked_in_the_middle()
    assert [(one.kind, one.id, one.step_number) for one in pending_of(run)] == [
        ("question", QUESTION.id, 0),
        ("approval", "approval-d", 0),
        ("call", "e", 0),
    ]
    answered = give(run, Answered(ANSWERS))
    assert isinstance(answered.pending, NeedTools)
    assert dict(answered.answers) == {QUESTION.id: "go"}
    assert not list(differences(again(answered), answered))
    # A tool may ask more; what was answered is not asked again.
    more = give(answered, Asked([Interrupt(name="more", step_number=0, tool_call_id="c")]))
    assert [one.id for one in pending_of(more)] == ["tool/0/c/more"]
    ended = last(give(more, Answered({"tool/0/c/more": 1})), play(MIXED))
    assert ended.reply is None
    assert roles(ended.chains.response) == ["assistant", "tool", "tool", "tool", "assistant"]
    assert list(ended.chains.response[2].content) == [
        ToolApprovalResponsePart("approval-d", approved=False, reason="late"),
        ToolResultPart("e", "m", output=TextOutput("done by hand")),
    ]


def test_answers_given_in_the_middle_of_a_step_stay_when_it_fails_or_is_cancelled() -> None:
    answered = give(asked_in_the_middle(), Answered(ANSWERS))
    for outcome in (Cancelled(), HookFailed(ValueError())):
        needed = answered if isinstance(outcome, Cancelled) else moment(answered, play(MIXED), NeedStepFinish)
        failed = give(needed, outcome)
        assert isinstance(failed.pending, Failed)
        assert failed.pending.run.reply == answered.reply
        assert pending_of(failed.pending.run) == ()
        assert len(last(failed.pending.run, play(MIXED)).steps) == 2


@pytest.mark.parametrize("kind", [NeedStepFinish, NeedFinish, Done])
def test_a_handler_of_the_whole_call_may_ask_while_approvals_wait(kind: type) -> None:
    run = moment(start(SETTINGS, [USER]), play(MIXED), kind)
    asked = give(run, Asked([Interrupt(name="on", source="agent-stream")]))
    assert [one.id for one in pending_of(asked)] == ["agent-stream/on", "approval-d", "e"]
    ended = last(give(asked, all_of(asked)), play(MIXED))
    assert dict(ended.answers) == {"agent-stream/on": freeze({"to": "on"})}
    assert roles(ended.chains.response) == ["assistant", "tool", "tool", "tool", "assistant"]


def all_of(run: Run) -> Answered:
    return Answered({one.id: answer_to(one) for one in pending_of(run)})


# ---------------------------------------------------------------- answers


APPROVALS: Final = waiting(call("c", "yes"), call("e", "m"))


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (True, ToolApprovalResponsePart("approval-c", approved=True)),
        (False, ToolApprovalResponsePart("approval-c", approved=False)),
        ({"approved": True}, ToolApprovalResponsePart("approval-c", approved=True)),
        (
            {"reason": "late", "approved": False},
            ToolApprovalResponsePart("approval-c", approved=False, reason="late"),
        ),
        ({"approved": False, "reason": None}, ToolApprovalResponsePart("approval-c", approved=False)),
    ],
)
@pytest.mark.parametrize(
    ("result", "output"),
    [("x", TextOutput("x")), ({"a": [1]}, JsonOutput({"a": [1]})), (None, JsonOutput(None))],
)
def test_answers_become_the_parts_of_one_tool_message(
    answer: Any, part: ToolPart, result: Any, output: Any
) -> None:
    run = give(APPROVALS, Answered({"e": result, "approval-c": answer}))
    assert list(run.conversation[2].content) == [part, ToolResultPart("e", "m", output=output)]


FORMS: Final = 'True, False or {"approved": True or False, "reason": a text}'


@pytest.mark.parametrize(
    ("answer", "path", "reason"),
    [
        ("yes", "", f"an approval is answered by {FORMS}, not a string"),
        (1, "", f"an approval is answered by {FORMS}, not a number"),
        (None, "", f"an approval is answered by {FORMS}, not null"),
        ([True], "", f"an approval is answered by {FORMS}, not an array"),
        ({}, ".approved", "give True or False, not nothing"),
        ({"approved": 1}, ".approved", "give True or False, not a number"),
        ({"approved": None}, ".approved", "give True or False, not null"),
        ({"approved": True, "reason": 5}, ".reason", "give a text, not a number"),
        ({"approved": True, "why": "x"}, ".why", f"unknown key; give {FORMS}"),
    ],
)
def test_an_answer_that_no_approval_can_have_is_refused_with_its_place(
    answer: Any, path: str, reason: str
) -> None:
    place = f'$.answers["approval-c"]{path}'
    with pytest.raises(AnswersError) as raised:
        give(APPROVALS, Answered({"approval-c": answer, "e": 1}))
    assert (raised.value.path, raised.value.wrong) == (place, ((place, reason),))
    assert str(raised.value) == f"{place}: {reason}"


def test_all_that_is_wrong_with_answers_is_said_at_once() -> None:
    with pytest.raises(AnswersError) as raised:
        give(APPROVALS, Answered({"approval-c": {"approved": 1, "a": 1, "b": 1}, "x": 1}))
    error = raised.value
    assert (error.unknown, error.missing) == (("x",), ("e",))
    assert [path for path, _ in error.wrong] == [
        f'$.answers["approval-c"].{name}' for name in ("a", "b", "approved")
    ]
    assert str(error).startswith(
        'there is no question x; give an answer to e; $.answers["approval-c"].a: unk'
    )


@pytest.mark.parametrize("answers", [{}, {"x": True}, {"approval-c": True}])
def test_a_run_that_waits_for_nothing_takes_no_answers(answers: Any) -> None:
    ended = last(give(APPROVALS, all_of(APPROVALS)), play())
    going_on = start(SETTINGS, [USER])
    for run in (ended, going_on, give(going_on, HookFailed(ValueError()))):
        with pytest.raises(AnswersError):
            give(run, Answered(answers))
    with pytest.raises(UnexpectedOutcomeError, match="has ended"):
        give(APPROVALS, HookResult())


# ---------------------------------------------------------------- after the answers


@states(Rule.PENDING_APPROVED_CALL)
def test_an_approved_call_that_no_tool_runs_is_waited_for_then() -> None:
    tools = [ToolSpec("pay", has_execute=False, needs_approval=True), ToolSpec("yes", needs_approval=True)]
    settings = attrs.evolve(SETTINGS, tools=tools)
    run = waiting(call("c", "pay"), call("d", "yes"), call("e", "pay"), settings=settings)
    answers = {"approval-c": True, "approval-d": True, "approval-e": False}
    run = give(run, Answered(answers))
    assert isinstance(run.pending, NeedTools)
    assert unanswered(run) == ()
    run = give(run, ToolOutcomes([ToolSucceeded("d", 1)]))
    assert isinstance(run.pending, NeedFinish)
    run = give(run, HookResult())
    assert [fields(one) for one in pending_of(run)] == [("call", "c", 0, "c", "pay", None)]
    run = give(again(run), Answered({"c": {"receipt": 7}}))
    assert isinstance(run.pending, NeedPrepareStep)
    assert run.conversation[-1].content[0].output == JsonOutput({"receipt": 7})  # type: ignore[union-attr] # a tool message
    assert len(last(run, play()).steps) == 2


def test_an_approval_in_the_middle_of_a_step_is_used_once() -> None:
    settings = attrs.evolve(SETTINGS, tools=[*TOOLS, ToolSpec("pay", has_execute=False, needs_approval=True)])
    played = play([call("c"), call("d", "pay")], settings=settings)
    asked = give(moment(start(settings, [USER]), played, NeedTools), Asked([QUESTION]))
    run = last(give(asked, Answered({QUESTION.id: 1, "approval-d": True})), played)
    assert isinstance(run.pending, Done)
    assert run.reply is None
    assert [fields(one) for one in pending_of(run)] == [("call", "d", 0, "d", "pay", None)]
    assert len(last(give(run, Answered({"d": 1})), played).steps) == 2


def test_the_limit_of_steps_holds_for_a_run_that_goes_on() -> None:
    settings = attrs.evolve(SETTINGS, max_steps=1)
    run = waiting(call("c", "yes"), settings=settings)
    ended = last(give(run, Answered({"approval-c": True})), play())
    assert isinstance(ended.pending, Done)
    assert (len(ended.steps), roles(ended.conversation)) == (1, ["user", "assistant", "tool", "tool"])
    assert pending_of(ended) == ()


def test_calls_of_one_id_have_one_answer_and_a_result_each() -> None:
    run = waiting(call("c", "m"), call("c", "m"), call("d", "yes"), call("d", "yes"))
    run = give(run, Answered({"c": 1, "approval-d": True}))
    kinds = [part.type for part in run.conversation[2].content]  # type: ignore[union-attr] # a tool message
    assert kinds == ["tool-result", "tool-result", "tool-approval-response"]


# ---------------------------------------------------------------- the conversation


@states(Rule.RUN_CONVERSATION)
@given(replied)
def test_the_conversation_is_the_given_messages_and_the_responses_or_the_next_step_input(
    played: Play,
) -> None:
    lasts = {"stay", "compact", "both", "empty", "keeping"}
    edited = False
    for run in on(start(played.settings, played.messages), played):
        if isinstance(run.pending, NeedPrepareStep):
            assert run.conversation == run.pending.step.messages
        edited = edited or any(
            edit.override.lasting_messages is not None for record in run.steps for edit in record.edits
        )
        if not edited and run.current is None:
            assert list(run.conversation) == [*played.messages, *run.chains.response]
    assert edited <= bool(lasts & {name for names in played.hooks for name in names.split()})


def test_after_a_lasting_edit_the_conversation_is_what_it_left_and_what_came_since() -> None:
    run = last(start(SETTINGS, [USER]), play([call("a")], hooks=["nothing", "compact"]))
    assert list(run.conversation) == [SUMMARY, run.chains.response[2]]
    assert len(run.chains.response) == 3
    assert REMINDER not in last(start(SETTINGS, [USER]), play(hooks=["remind"])).conversation


def test_the_conversation_of_a_saved_run_is_that_of_the_run() -> None:
    for run in (APPROVALS, asked_in_the_middle(), give(APPROVALS, Answered({"approval-c": True, "e": 1}))):
        assert again(run).conversation == run.conversation
