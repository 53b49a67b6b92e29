"""What the judge says of hooks of a toy loop: every kind of finding, and silence where nothing is wrong."""

from __future__ import annotations

import operator
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from agentcore.live.adapters import adapter_named
from agentcore.live.compliance import AdapterCompliance
from agentcore.live.conversations import conversation
from agentcore.live.judge import Judge, Outcome, Shown
from agentcore.live.loading import HookSource, ValueSource
from agentcore.live.safety import OutsideError
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


# ---------------------------------------------------------------- one conversation


class _Checked:
    """A session whose model refuses prompts with half a pair, or with a role that there is not."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def answer(self, prompt: Any) -> Any:
        calls = {call["id"] for each in prompt for call in each.get("calls", ())}
        for each in prompt:
            if each["role"] == "tool" and each["id"] not in calls:
                raise ValueError("a result without its call")
            if each["role"] not in {"user", "assistant", "tool", "system"}:
                raise ValueError("no such role")
        return self._session.answer(prompt)


class _Strict(type(ADAPTER)):  # type: ignore[misc]
    def begin(self, session: Any, hook: Any, at: str, path: str) -> Any:
        return super().begin(_Checked(session), hook, at, path)


class _Broken(type(ADAPTER)):  # type: ignore[misc]
    def begin(self, session: Any, hook: Any, at: str, path: str) -> Any:
        turn = super().begin(session, hook, at, path)

        def broken(given: Any) -> Any:
            turn(given)
            raise RuntimeError("no connection")

        return broken


def outcome(
    hook: str | Callable[..., Any], seed: int = 0, at: str = "before_model", *, of: Any = ADAPTER
) -> Outcome:
    source = (
        HookSource(str(HOOKS), hook, HOOKS.parent)
        if isinstance(hook, str)
        else ValueSource(lambda: hook, (), (), HOOKS.parent, "hook")
    )
    return Judge(of, source, at).judge(conversation(seed), "generate", seed)


def kinds_of(found: Outcome) -> list[str]:
    return [each.kind for each in found.shown]


@pytest.mark.parametrize(
    ("hook", "seed", "kind", "place", "holder"),
    [
        ("cuts", 0, "cuts-pair", "returned", "this-prompt"),
        ("loses", 0, "loses-request", "returned", "this-prompt"),
        ("secret_in_place", 0, "write", "messages[0].trace", "caller"),
        ("reminder", 0, "accumulates", "returned", "later-prompts"),
        ("template", 1, "write", "messages[2].content[0].text", "later-runs"),
        ("pollutes", 0, "write", "messages[0].content[0].text", "caller"),
    ],
)
def test_one_conversation_shows_a_fault_its_place_and_who_sees_it(
    hook: str, seed: int, kind: str, place: str, holder: str
) -> None:
    [found] = outcome(hook, seed).shown
    assert (found.kind, found.place) == (kind, place)
    assert holder in found.seen


@pytest.mark.parametrize("hook", ["clean", "stops", "restores", "reminder_once"])
def test_one_conversation_shows_nothing_of_a_clean_hook(hook: str) -> None:
    found = outcome(hook)
    assert (found.shown, found.judged, found.error) == ([], True, None)


def test_a_request_to_the_outside_that_is_refused_is_no_fault_of_the_hook() -> None:
    def calls_home(_: Any) -> Any:
        raise OutsideError("no network in a check")

    found = outcome(calls_home)
    assert (found.shown, found.judged, found.outside) == ([], False, True)
    assert found.error == "OutsideError: no network in a check"


def test_a_loop_that_fails_without_the_hook_too_is_not_judged() -> None:
    found = outcome("pollutes", of=_Broken())
    assert (found.shown, found.judged, found.outside) == ([], False, False)
    assert found.error == "RuntimeError: no connection"


def test_that_the_framework_refuses_half_a_pair_is_the_effect_of_the_cut() -> None:
    assert kinds_of(outcome("cuts", of=_Strict())) == ["cuts-pair"]


def test_a_pair_that_is_cut_in_place_is_cut_for_the_live_run_alone() -> None:
    def cuts_in_place(messages: Any) -> None:
        for each in messages:
            each.pop("calls", None)

    cut, write = outcome(cuts_in_place).shown
    assert (cut.kind, cut.place, write.kind) == ("cuts-pair", "returned", "write")


def test_that_the_framework_refuses_what_a_write_left_there_is_the_effect_of_the_write() -> None:
    def renames(messages: Any) -> None:
        messages[0]["role"] = "nobody"

    [found] = outcome(renames, of=_Strict()).shown
    assert (found.kind, found.place, found.after) == ("write", "messages[0].role", "'nobody'")
    assert "result" in found.seen


def test_of_two_writes_each_has_its_own_effect() -> None:
    def writes_both(messages: Any) -> None:
        messages[0]["content"][0]["text"] = "!"
        messages[0]["note"] = "?"

    assert {(each.kind, each.place) for each in outcome(writes_both).shown} == {
        ("write", "messages[0].content[0].text"),
        ("write", "messages[0].note"),
    }


def test_of_two_writes_the_one_without_an_effect_is_harmless() -> None:
    def writes_to_a_list_that_is_dropped(messages: Any) -> Any:
        made = [*messages]
        messages.append({"role": "user", "content": []})
        messages[0]["content"][0]["text"] = "!"
        return made

    assert {(each.kind, each.place) for each in outcome(writes_to_a_list_that_is_dropped).shown} == {
        ("write", "messages[0].content[0].text"),
        ("harmless-write", "messages[3]"),
    }


@pytest.mark.parametrize(("hook", "found"), [("reminder", ["not-idempotent"]), ("reminder_once", [])])
def test_a_second_application_is_judged_if_it_is_asked_for(hook: str, found: list[str]) -> None:
    source = HookSource(str(HOOKS), hook, HOOKS.parent)
    judge = Judge(ADAPTER, source, "before_model", idempotent=True)
    shown = judge.judge(conversation(4), "generate", 4).shown
    assert [each.kind for each in shown] == found


def test_an_error_that_no_line_of_the_hook_raises_has_no_line() -> None:
    [found] = outcome(operator.neg).shown
    assert (found.kind, found.cause, found.line) == ("raises", "throws", None)


def test_a_clock_that_the_hook_replaces_is_put_back_and_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", clock)

    def stops_the_clock(_: Any) -> None:
        time.perf_counter = float

    [found] = outcome(stops_the_clock).shown
    assert (found.kind, found.place) == ("undetermined", None)
    assert found.said == "it replaces time.perf_counter, which the check relies on and puts back"
    assert time.perf_counter is clock


# ---------------------------------------------------------------- the suite for adapters


class _OneBoundary(type(ADAPTER)):  # type: ignore[misc]
    boundaries: ClassVar = {"before_model": ADAPTER.boundaries["before_model"]}
    paths = ("generate",)


ONE_BOUNDARY: Final = _OneBoundary()


class TestOneBoundary(AdapterCompliance):
    adapter = "live.test_judge:ONE_BOUNDARY"
    hooks = {"before_model": (f"{HOOKS}#pollutes", f"{HOOKS}#clean")}  # noqa: RUF012 - as the suite says
    examples = 2


def test_the_suite_fails_for_an_adapter_with_hooks_that_do_not_do_as_they_say() -> None:
    class Wrong(TestOneBoundary):
        hooks = {"before_model": (f"{HOOKS}#clean", f"{HOOKS}#pollutes")}  # noqa: RUF012 - as above

    with pytest.raises(AssertionError):
        Wrong().test_2_a_polluting_hook_is_found_and_a_clean_one_is_silent()


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("nothing", LookupError, "no framework is named nothing; there are .* and module:attribute"),
        ("live.toy_loop:Stop", TypeError, "live.toy_loop:Stop is no adapter: it has no "),
        ("live.absent:ADAPTER", ImportError, "absent"),
    ],
)
def test_what_is_no_adapter_is_refused(name: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        adapter_named(name)
