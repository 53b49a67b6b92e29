"""What the judge says of hooks of a toy loop: every kind of finding, and silence where nothing is wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from agentcore.live.compliance import AdapterCompliance
from agentcore.live.conversations import conversation
from agentcore.live.judge import Judge, Shown
from agentcore.live.loading import HookSource
from live.toy_loop import ADAPTER

HOOKS: Final = Path(__file__).parent / "hooks" / "toy_hooks.py"
MANY: Final = 14


def judged(hook: str, at: str = "before_model", *, factory: bool = False) -> list[Shown]:
    judge = Judge(ADAPTER, HookSource(str(HOOKS), hook, HOOKS.parent, factory), at)
    return [each for seed in range(MANY) for each in judge.judge(conversation(seed), "generate", seed).shown]


@pytest.mark.slow
class TestToyLoop(AdapterCompliance):
    adapter = "live.toy_loop:ADAPTER"
    hooks = {  # noqa: RUF012 - as the suite says
        "before_model": (f"{HOOKS}#pollutes", f"{HOOKS}#clean"),
        **{
            at: (f"{HOOKS}#{at}_pollutes", f"{HOOKS}#{at}_clean")
            for at in ("around", "with_handle", "registered", "tool", "ends", "assigns", "after_model")
        },
    }


@pytest.mark.slow
@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "hook",
    ["clean", "stateful", "reminder_once", "annotates_each", "redacts", "restores", "stops", "Hook"],
)
def test_a_clean_hook_is_silent(hook: str) -> None:
    assert judged(hook) == []


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("at", ["before_model", "around", "assigns", "after_model"])
def test_a_write_at_a_later_call_to_what_an_earlier_one_gave_is_judged_by_its_effect(at: str) -> None:
    found = judged(f"{at}_later", at)
    assert "write" in {each.kind for each in found}
    assert {holder for each in found for holder in each.seen} & {"caller", "later-prompts", "next-prompt"}


def test_a_hook_that_keeps_what_earlier_calls_gave_and_only_reads_it_is_silent() -> None:
    assert judged("after_model_later_clean", "after_model") == []


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("hook", "kind", "seen"),
    [
        ("pollutes", "write", "caller"),
        ("template", "write", "later-prompts"),
        ("reminder", "accumulates", "later-prompts"),
        ("cuts", "cuts-pair", "this-prompt"),
        ("loses", "loses-request", "this-prompt"),
    ],
)
def test_a_faulty_hook_has_its_fault_and_who_sees_it(hook: str, kind: str, seen: str) -> None:
    found = [each for each in judged(hook) if each.kind == kind]
    assert len(found) > MANY / 4
    assert any(seen in each.seen for each in found)


def test_an_error_of_the_value_run_alone_is_the_effect_of_a_write() -> None:
    found = judged("ends_raises", "ends")
    assert {each.kind for each in found} == {"write"}
    assert any("result" in each.seen for each in found)


def test_a_hook_that_raises_only_where_it_gets_copies_is_not_judged() -> None:
    judge = Judge(ADAPTER, HookSource(str(HOOKS), "registered_raises", HOOKS.parent), "registered")
    outcome = judge.judge(conversation(0), "generate", 0)
    assert (outcome.judged, outcome.shown) == (False, [])
    assert outcome.error == "LookupError: nobody knows this message (only where the hook is given copies)"


def test_what_calls_at_the_same_time_write_has_the_place_of_the_call_that_wrote() -> None:
    found = judged("tool_pollutes", "tool")
    assert {(each.kind, each.place) for each in found} == {("write", "call.input.user")}


def test_what_piles_up_and_is_no_text_is_named_as_code() -> None:
    assert {(each.kind, each.after) for each in judged("flags")} == {("accumulates", "True")}


def test_a_hook_made_by_a_factory_is_the_hook() -> None:
    assert {each.kind for each in judged("factory", factory=True)} == {"write"}


def test_a_hook_that_raises_has_its_line() -> None:
    found = judged("raises")
    assert {(each.kind, each.cause) for each in found} == {("raises", "throws")}
    line = found[0].line
    assert line is not None
    assert "raise LookupError" in HOOKS.read_text("utf-8").splitlines()[line["line"] - 1]


def test_what_the_loop_cannot_take_is_a_refusal() -> None:
    assert {(each.kind, each.cause) for each in judged("refused")} == {("raises", "refused")}


def test_randomness_that_no_seed_reaches_is_a_note_and_nothing_else() -> None:
    assert {each.kind for each in judged("secret")} == {"undetermined"}


def test_a_write_is_found_beside_randomness() -> None:
    assert "write" in {each.kind for each in judged("secret_and_pollutes")}


@pytest.mark.slow
def test_a_write_of_something_random_is_a_write() -> None:
    assert {(each.kind, each.place) for each in judged("secret_in_place")} == {("write", "messages[0].trace")}


def test_a_write_by_a_handle_is_a_fault_if_somebody_sees_it_and_a_note_if_not() -> None:
    assert Counter(each.kind for each in judged("with_handle_pollutes", "with_handle")).keys() == {"write"}
    assert Counter(each.kind for each in judged("with_handle_unseen", "with_handle")).keys() == {
        "not-isolated"
    }


def test_what_cannot_be_looked_into_is_noted() -> None:
    assert "opaque" in {each.kind for each in judged("puts_a_file")}


def test_the_place_of_a_write_is_a_path_from_the_hooks_argument() -> None:
    found = [each for each in judged("pollutes") if each.kind == "write"]
    assert all(each.place is not None and each.place.startswith("messages[") for each in found)
    assert all(each.after == "'!'" for each in found)
