from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from agentcore.machine.effects import NeedPrepareStep, Processed, Settings, ToolSpec
from agentcore.machine.state import Run
from agentcore.messages.chains import PromptState, fold
from agentcore.messages.content import ContentPart, GeneratedText
from agentcore.messages.messages import Message, SystemMessage, TextPart, ToolMessage, UserMessage
from agentcore.records import provenance
from agentcore.records.history import fork
from agentcore.records.provenance import (
    Added,
    Change,
    HookEdit,
    Initial,
    Injected,
    Instruction,
    PrefixBreak,
    Removed,
    Replaced,
    Response,
    StepAccount,
    account,
    changes,
)
from agentcore.records.saved import from_json, to_json
from counting import growth
from plays import HISTORIES, REMINDER, SUMMARY, Play, on, played, plays
from scripted import SETTINGS, TOOL, USER, call, drive, returns

SCRIPT: list[list[ContentPart]] = [[call("a")], [call("b")], [call("c")]]


def accounts(run: Run) -> list[StepAccount]:
    return [account(record, run.steps[:number]) for number, record in enumerate(run.steps)]


def of(*results: Any, settings: Settings = SETTINGS, messages: Any = (USER,)) -> list[StepAccount]:
    """Accounts of four steps whose prepare_step returns these, or what these make of its messages."""
    left = list(results)

    def hook(wanted: Any) -> Any:
        result = left.pop(0) if left else None
        return returns(result(list(wanted.step.messages)) if callable(result) else result)(wanted)

    run, _ = drive([*SCRIPT, [GeneratedText("end")]], {NeedPrepareStep: hook}, settings, messages)
    assert len(run.steps) == 4
    return accounts(run)


def broken(position: int, step_number: int, hook: str | None = "prepare_step") -> PrefixBreak:
    return PrefixBreak(position=position, hook=hook, step_number=step_number)


# ---------------------------------------------------------------- where messages come from


def test_a_prompt_without_hooks_is_instructions_and_chains_and_begins_with_the_one_before() -> None:
    settings = Settings(model="m", tools=[TOOL], system="s")
    first, second, *_ = of(settings=settings, messages=[UserMessage("text"), USER])
    assert first.origins == ((Instruction(0),), (Initial(0),), (Initial(1),))
    assert second.origins[3:] == ((Response(0, 0),), (Response(0, 1),))
    assert [one.shared_prefix for one in (first, second)] == [0, 3]
    assert (first.broken_by, second.broken_by) == (None, None)
    assert first.hooks == second.hooks == ()
    assert second.step_number == 1
    assert len(second.prompt) == 5


def test_results_of_approved_calls_are_responses_of_no_step_and_merged_messages_come_from_several() -> None:
    run = played(Play(messages=HISTORIES["approved"], script=SCRIPT))[-1]
    first, second, *_ = accounts(run)
    assert first.origins == ((Initial(0),), (Initial(1),), (Response(None, 0),))
    assert second.origins[2:] == ((Response(None, 0),), (Response(0, 1),), (Response(0, 2),))
    responses = [
        ToolMessage([*result.content]) for result in run.chains.response if isinstance(result, ToolMessage)
    ]
    settings = Settings(model="m", tools=[TOOL], validate_prompt=False)
    twice = [responses[0]] * 2
    both = of(lambda shown: {"messages": [*shown, *twice]}, messages=[USER], settings=settings)[0]
    injected = Injected(hook="prepare_step", step_number=0, index=1)
    assert both.origins[1:] == ((injected, Injected(hook="prepare_step", step_number=0, index=2)),)


def test_answers_between_two_steps_are_responses_of_no_step() -> None:
    tools = [TOOL, ToolSpec("yes", needs_approval=True), ToolSpec("m", has_execute=False)]
    script: Any = [[call("c", "yes"), call("e", "m")], [call()], [call("d", "yes")]]
    played_out = Play(settings=Settings(model="m", tools=tools), script=script, replies=True)
    first, second, third, last = accounts(played(played_out)[-1])
    assert first.origins == ((Initial(0),),)
    # The tool message of the prompt is made of the answers and of the result that they brought.
    assert second.origins[1:] == ((Response(0, 0),), (Response(None, 1), Response(None, 2)))
    assert third.origins[3:] == ((Response(1, 3),), (Response(1, 4),))
    # The model is shown nothing of the denial but its result.
    assert last.origins[5:] == ((Response(2, 5),), (Response(None, 7),))


def test_one_message_at_several_places_has_its_places_one_after_the_other() -> None:
    one = of(lambda shown: {"messages": [*shown, shown[0]]}, messages=[USER, USER])[0]
    assert one.origins == ((Initial(0),), (Initial(1),), (Initial(1),))


def test_equal_messages_that_are_not_the_same_one_are_told_apart() -> None:
    copy = UserMessage([TextPart("u")])
    one = of({"messages": [copy]})[0]
    assert one.origins == ((Injected(hook="prepare_step", step_number=0, index=0),),)
    assert one.hooks == (HookEdit(hook="prepare_step", fields=("messages",)),)


def test_lasting_messages_come_from_the_step_that_brought_them() -> None:
    _, second, third, last = of(None, {"lasting_messages": [SUMMARY, USER]})
    summary = Injected(hook="prepare_step", step_number=1, index=0)
    assert second.origins == ((summary,), (Initial(0),))
    assert third.origins == ((summary,), (Initial(0),), (Response(1, 2),), (Response(1, 3),))
    assert second.hooks[0].lasting == second.hooks[0].changes != ()
    assert second.broken_by == broken(0, 1)
    assert (third.broken_by, last.broken_by) == (None, None)


def test_a_lasting_message_comes_from_the_edit_that_brought_it_first() -> None:
    *_, last = of(
        {"lasting_messages": [SUMMARY, USER]}, lambda shown: {"lasting_messages": [*shown, REMINDER]}
    )
    first = Injected(hook="prepare_step", step_number=0, index=0)
    later = Injected(hook="prepare_step", step_number=1, index=4)
    assert last.origins[:2] == ((first,), (Initial(0),))
    assert (later,) in last.origins


def test_messages_of_a_fork_come_from_the_fork() -> None:
    run, _ = drive([*SCRIPT, [GeneratedText("end")]])
    *_, other = on(fork(run, 1, messages=[SUMMARY, USER]), Play(script=SCRIPT))
    _, second, third, _ = accounts(other)
    assert second.origins == ((Injected(hook="fork", step_number=1, index=0),), (Initial(0),))
    assert second.broken_by == broken(0, 1, "fork")
    assert third.origins[0] == second.origins[0]


@given(plays)
def test_every_message_of_every_prompt_has_an_origin_that_holds_it(play: Play) -> None:
    run = played(play)[-1]
    for number, record in enumerate(run.steps):
        told = account(record, run.steps[:number])
        assert len(told.origins) == len(told.prompt)
        assert all(origins for origins in told.origins)
        for shown, (origin, *_) in zip(told.prompt, told.origins, strict=True):
            source: Message = shown
            match origin:
                case Initial(index):
                    source = record.initial_messages[index]
                case Response(step, index):
                    source = record.messages[index]
                    assert step is None or run.steps[step].response_start <= index < record.response_start
                case Injected(hook="prepare_step", step_number=step, index=index):
                    override = run.steps[step].override
                    lists = [found for found in (override.lasting_messages, override.messages) if found]
                    assert any(index < len(found) for found in lists)
                case Instruction(index):
                    assert told.prompt[index].role == "system"
            prompt = fold(PromptState.start(), [source])
            parts = [*prompt.closed, *([prompt.tail] if prompt.tail else [])]
            assert shown in parts or isinstance(shown, ToolMessage)


@given(plays)
def test_an_account_of_a_loaded_run_is_the_same(play: Play) -> None:
    run = played(play)[-1]
    assert accounts(from_json(to_json(run))) == accounts(run)


@given(plays)
def test_an_account_does_not_depend_on_which_accounts_were_made_before(play: Play) -> None:
    run = played(play)[-1]
    alone = [account(from_json(to_json(run)).steps[n], run.steps[:n]) for n in range(min(1, len(run.steps)))]
    again = from_json(to_json(run))
    backwards = [account(again.steps[n], again.steps[:n]) for n in reversed(range(len(again.steps)))]
    assert backwards[::-1] == accounts(run) == accounts(run)
    assert alone == accounts(run)[: len(alone)]


def test_two_forks_of_a_run_that_was_accounted_for_are_told_apart() -> None:
    run, _ = drive([*SCRIPT, [GeneratedText("end")]], {NeedPrepareStep: lasting_at_step_0})
    before = accounts(run)
    settings = Settings(model="m", tools=[TOOL], system="s")
    forks = [
        fork(run, 2),
        fork(run, 2, messages=[SUMMARY, USER]),
        fork(run, 2, messages=[USER], settings=settings),
        fork(run, 1),
    ]
    for each in forks:
        *_, other = on(each, Play(script=SCRIPT))
        fresh = from_json(to_json(other))
        assert accounts(other) == accounts(fresh)
    assert accounts(run) == before


def lasting_at_step_0(wanted: Any) -> Any:
    lasting = {"lasting_messages": [*wanted.step.messages, REMINDER]}
    return returns(lasting if wanted.step.step_number == 0 else None)(wanted)


def test_records_of_other_steps_before_are_read_anew() -> None:
    run, _ = drive([*SCRIPT, [GeneratedText("end")]])
    other = from_json(to_json(run))
    assert accounts(run)
    mixed = account(run.steps[2], other.steps[:2])
    assert len(mixed.origins) == len(run.steps[2].prompt)
    branch = attrs.evolve(run.steps[2])
    assert account(branch, run.steps[:2]) == accounts(run)[2]


def injecting(wanted: Any) -> Any:
    return returns({"messages": [*wanted.step.messages, REMINDER]})(wanted)


def trimming(wanted: Any) -> Any:
    return returns({"messages": wanted.step.messages[:1]})(wanted)


@pytest.mark.parametrize("system", [None, "s"])
@pytest.mark.parametrize("hook", [None, injecting, trimming])
def test_instructions_come_first_whatever_hooks_leave(hook: Any, system: str | None) -> None:
    settings = Settings(model="m", tools=[TOOL], system=system)
    hooks: Any = {} if hook is None else {NeedPrepareStep: hook}
    run, _ = drive([*SCRIPT, [GeneratedText("end")]], hooks, settings)
    for told in accounts(run):
        first = ((Instruction(0),),) if system else ()
        assert told.origins[: len(first) + 1] == (*first, (Initial(0),))
        assert len(told.origins) == len(told.prompt)


def test_accounts_of_all_steps_cost_what_the_steps_do() -> None:
    def of_length(length: int) -> Run:
        script: list[list[ContentPart]] = [[call(f"c{number}")] for number in range(length)]
        return drive([*script, [GeneratedText("end")]])[0]

    assert growth(accounts, of_length, 100) < 2.2


# ---------------------------------------------------------------- what hooks did


def test_a_hook_is_said_to_have_added_removed_and_replaced_by_value_and_position() -> None:
    other = UserMessage("other")
    settings = Settings(model="m", tools=[TOOL])
    one = of(
        lambda shown: {"messages": [REMINDER, shown[1], other], "model": "n"},
        settings=settings,
        messages=[UserMessage("1"), UserMessage("2"), UserMessage("3"), UserMessage("4")],
    )[0]
    (edit,) = one.hooks
    assert edit.fields == ("model", "messages")
    assert edit.lasting == ()
    assert edit.changes == (
        Replaced(position=0, old_position=0, before=UserMessage("1"), after=REMINDER),
        Replaced(position=2, old_position=2, before=UserMessage("3"), after=other),
        Removed(3, UserMessage("4")),
    )


def test_messages_for_the_step_and_lasting_ones_are_told_apart() -> None:
    one = of(lambda shown: {"messages": [*shown, REMINDER], "lasting_messages": [SUMMARY, *shown]})[0]
    assert one.hooks[0].changes == (Added(1, REMINDER),)
    assert one.hooks[0].lasting == (Added(0, SUMMARY),)


def test_a_hook_that_changed_no_messages_has_its_fields_told() -> None:
    assert of({"system": "s"})[0].hooks == (HookEdit(hook="prepare_step", fields=("system",)),)


few = st.sampled_from([USER, REMINDER, SUMMARY, UserMessage("u")])


@given(st.lists(few, max_size=6) | st.lists(strategies.messages, max_size=4), st.lists(few, max_size=6))
def test_changes_make_the_one_list_of_the_other(before: list[Message], after: list[Message]) -> None:
    found = changes(before, after)
    gone = {
        one.old_position if isinstance(one, Replaced) else one.position
        for one in found
        if not isinstance(one, Added)
    }
    made = [message for index, message in enumerate(before) if index not in gone]
    come = [one for one in found if not isinstance(one, Removed)]
    for one in sorted(come, key=lambda one: one.position):
        made.insert(one.position, one.after if isinstance(one, Replaced) else one.message)
    assert made == after
    assert all(lost(one) in before for one in found if not isinstance(one, Added))
    assert changes(before, list(before)) == ()


def lost(change: Change) -> Message:
    return change.before if isinstance(change, Replaced) else change.message


# ---------------------------------------------------------------- what broke the prefix


def test_a_reminder_at_the_end_breaks_the_prefix_at_the_next_step() -> None:
    first, second, third, _ = of(lambda shown: {"messages": [*shown, REMINDER]})
    assert first.broken_by is None
    assert (second.shared_prefix, second.broken_by) == (1, broken(1, 0))
    assert (third.shared_prefix, third.broken_by) == (3, None)


def test_a_reminder_that_changes_at_the_front_is_broken_by_the_hook_of_its_step() -> None:
    def at_front(text: str) -> Any:
        return lambda shown: {"messages": [UserMessage([TextPart(text)]), *shown]}

    _, second, third, last = of(at_front("1"), at_front("2"), at_front("2"))
    assert second.broken_by == broken(0, 1)
    assert third.broken_by is None
    assert last.broken_by == broken(0, 2)


def test_what_a_hook_took_away_or_let_come_back_breaks_the_prefix() -> None:
    history = [UserMessage([TextPart("1")]), USER]
    _, second, third, _ = of(None, lambda shown: {"messages": shown[1:]}, messages=history)
    assert second.broken_by == broken(0, 1)
    assert third.broken_by == broken(0, 1)


def test_a_hole_beside_a_constant_reminder_is_told_apart_from_it() -> None:
    history = [UserMessage([TextPart("1")]), USER, UserMessage([TextPart("3")])]

    def hook(skip: int) -> Any:
        return lambda shown: {"messages": [REMINDER, *shown[:skip], *shown[skip + 1 :]]}

    _, second, _, _ = of(hook(1), hook(99), messages=history)
    assert second.broken_by == broken(2, 0)


def test_a_hook_that_shortens_the_prompt_breaks_the_prefix() -> None:
    _, second, *_ = of(None, lambda shown: {"messages": shown[:1]}, messages=[USER, REMINDER])
    assert second.broken_by == broken(1, 1)


def test_a_hook_that_puts_messages_in_another_order_breaks_the_prefix() -> None:
    history = [UserMessage([TextPart(text)]) for text in "123"]

    def turned(shown: list[Message]) -> Any:
        return {"messages": [*shown[2::-1], *shown[3:]]}

    _, second, third, _ = of(None, turned, messages=history)
    assert second.broken_by == broken(0, 1)
    assert third.broken_by == broken(0, 1)


def test_a_lasting_message_that_a_later_hook_hides_is_broken_by_that_hook() -> None:
    _, second, *_ = of({"lasting_messages": [SUMMARY]}, lambda shown: {"messages": shown[1:]})
    assert second.broken_by == broken(0, 1)


def test_other_instructions_break_the_prefix_when_they_come_and_when_they_go() -> None:
    settings = Settings(model="m", tools=[TOOL], system="s")
    _, second, third, last = of(None, {"system": "other"}, settings=settings)
    assert second.broken_by == broken(0, 1)
    assert third.broken_by == broken(0, 1)
    assert last.broken_by is None


def test_other_settings_break_the_prefix_by_no_hook() -> None:
    run, _ = drive([*SCRIPT, [GeneratedText("end")]])
    *_, other = on(fork(run, 1, settings=Settings(model="m", tools=[TOOL], system="s")), Play(script=SCRIPT))
    assert accounts(other)[1].broken_by == broken(0, 1, None)


def test_messages_that_are_made_anew_with_the_same_value_keep_the_prefix() -> None:
    _, second, *_ = of(None, lambda shown: {"messages": [UserMessage([TextPart("u")]), *shown[1:]]})
    assert (second.shared_prefix, second.broken_by) == (1, None)


@given(plays)
def test_a_prefix_is_broken_exactly_where_the_prompts_differ(play: Play) -> None:
    run = played(play)[-1]
    for number, told in enumerate(accounts(run)):
        if number == 0:
            assert (told.shared_prefix, told.broken_by) == (0, None)
            continue
        before = run.steps[number - 1].prompt
        shared = told.shared_prefix
        assert list(told.prompt)[:shared] == list(before)[:shared]
        if told.broken_by is None:
            assert shared == len(before)
        else:
            assert told.broken_by.position == shared < len(before)
            assert list(told.prompt)[shared : shared + 1] != list(before)[shared : shared + 1]
            assert told.broken_by.step_number in (number - 1, number)
            edits = run.steps[told.broken_by.step_number].edits
            assert told.broken_by.hook in [edit.processor_id for edit in edits]


def test_an_account_needs_all_the_steps_before() -> None:
    run, _ = drive([*SCRIPT, [GeneratedText("end")]])
    with pytest.raises(ValueError, match="step 2 has 2 steps before it"):
        account(run.steps[2], run.steps[:1])


def test_instructions_among_the_messages_are_messages() -> None:
    one = of(messages=[SystemMessage("s"), USER])[0]
    assert one.origins == ((Initial(0),), (Initial(1),))


def tail(shown: list[Message]) -> list[Message]:
    return [*shown, REMINDER]


def front(shown: list[Message]) -> list[Message]:
    return [SUMMARY, *shown]


def cut(shown: list[Message]) -> list[Message]:
    return shown[1:]


def by(*steps: list[Any]) -> list[StepAccount]:
    """Accounts of four steps with several processors each, which have the names of their functions."""
    left = list(steps)

    def hook(wanted: Any) -> Processed:
        so_far = wanted.step
        for turn in left.pop(0) if left else ():
            arguments = so_far.arguments(turn.__name__)
            so_far = so_far.after(so_far.edit(arguments, turn(list(arguments.messages))))
        return Processed(so_far.edits)

    history = [UserMessage([TextPart(text)]) for text in "123"]
    run, _ = drive([*SCRIPT, [GeneratedText("end")]], {NeedPrepareStep: hook}, messages=history)
    return accounts(run)


def breaks() -> list[PrefixBreak | None]:
    """What broke the prefixes of runs of all kinds."""
    history = [UserMessage([TextPart(text)]) for text in "123"]
    system = Settings(model="m", tools=[TOOL], system="s")
    instructed = {"system": "other", "messages": [USER]}
    runs = [
        by([], [tail, front]),
        by([tail, front]),
        by([], [tail, cut]),
        by([tail, cut]),
        of(lambda shown: {"messages": [*shown, REMINDER]}),
        of(None, {"lasting_messages": [SUMMARY, USER]}),
        of({"lasting_messages": [SUMMARY]}, lambda shown: {"messages": shown[1:]}),
        of(None, lambda shown: {"messages": shown[1:]}, messages=history),
        of(None, lambda shown: {"messages": [*shown[2::-1], *shown[3:]]}, messages=history),
        of(None, {"system": "other"}, settings=system),
        of(instructed, {"messages": [USER]}, settings=system),
        of(None, lambda shown: {"messages": [shown[0], *shown]}, messages=history),
    ]
    return [one.broken_by for run in runs for one in run]


@pytest.mark.parametrize("number", range(len(provenance._CASES)))
def test_each_case_of_the_table_decides_somewhere(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = breaks()
    cases = provenance._CASES
    monkeypatch.setattr(provenance, "_CASES", (*cases[:number], *cases[number + 1 :]))
    assert breaks() != whole


@pytest.mark.parametrize("number", [1, 2])
def test_each_condition_of_the_table_decides_somewhere(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = breaks()
    cases = list(provenance._CASES)
    cases[number] = cases[number]._replace(holds=lambda _: True)
    monkeypatch.setattr(provenance, "_CASES", cases)
    assert breaks() != whole
