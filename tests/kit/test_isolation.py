from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any, Final

import pytest

from agentcore.kit.families import FAMILIES, family_of
from agentcore.kit.framework import FRAMEWORKS
from agentcore.kit.isolation import HOLDERS, KINDS, Breach, Judge, faults, is_mixed, isolation_of, timeless
from agentcore.kit.program import Answer, Crashed, Outcome, Unsupported
from liars import copying
from oracle.toy_family import FAMILY as TOY

Json = dict[str, Any]
FAMILY: Final = family_of("ai-sdk-6")
CALL: Final = {"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {"a": "q"}}


def program(**fields: Any) -> Json:
    made: Json = {
        "id": "a",
        "path": "stream",
        "messages": [{"role": "user", "content": "hi"}],
        "script": [[CALL], [{"type": "text", "text": "done"}]],
        "tools": {"look": {"output": {"b": 1}}},
    }
    return {**made, **fields}


def under(profile: str) -> Callable[[Json], Json]:
    family = family_of(profile)

    def run(one: Json) -> Json:
        found: Json = json.loads(json.dumps(family.trace(family.parse(family.to_line(one)), profile)))
        return found

    return run


def found(one: Json, loop: Callable[[Json], Json]) -> list[Breach]:
    return [*faults(one, FAMILY, loop)]


def drawn(profile: str, seeds: int, loop: Callable[[Json], Json]) -> list[Breach]:
    family = family_of(profile)
    programs = (family.parse(family.to_line(one)) for one in family.programs(range(seeds), profile))
    return [breach for one in programs for breach in faults(one, family, loop)]


# ---------------------------------------------------------------- loops that keep their promise, and others


@pytest.mark.slow
def test_a_loop_that_copies_all_that_it_gives_and_takes_has_no_fault() -> None:
    assert drawn("ai-sdk-6", 100, copying.loop()) == []


@pytest.mark.slow
def test_a_loop_that_refuses_writes_has_no_fault() -> None:
    assert drawn("ai-sdk-6", 100, under("immutable")) == []


@pytest.mark.slow
@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("caller", "write: the loop change the caller's messages"),
        ("report", "write: the loop change a report's messages"),
        ("report", "write: onStepFinish set response.messages[*].content"),
        ("shown", "write: prepareStep set messages[*].content"),
        ("shown", "write: prepareStep set messages[*].providerOptions"),
        ("tools", "write: execute set input.a"),
        ("tools", "write: tool append input.a"),
        ("returned", "accumulates: prepareStep return returned"),
    ],
)
def test_random_programs_find_the_planted_fault(fault: str, cause: str) -> None:
    # The place may go on, since each is a cause of its own.
    assert any(breach.cause.startswith(cause) for breach in drawn("ai-sdk-6", 70, copying.loop(fault)))


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["shown", "tools", "returned"])
def test_random_programs_find_nothing_but_the_planted_fault(fault: str) -> None:
    hooks = {"shown": {"prepareStep"}, "tools": {"tool", "execute"}, "returned": {"prepareStep"}}[fault]
    for breach in drawn("ai-sdk-6", 60, copying.loop(fault)):
        assert breach.hook in hooks or breach.place.endswith("(kept in prepareStep)")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "hook"),
    [
        ("ai-sdk-6/generate", "prepareStep"),
        ("ai-sdk-7/stream", "onStepFinish"),
        ("mastra@1.71.0", "processInputStep"),
        ("strands-ts@1.5.0", "model.input"),
        ("strands-py@1.62.0", "tool"),
    ],
)
def test_shipped_profiles_of_every_format_that_share_have_faults(profile: str, hook: str) -> None:
    assert hook in {breach.hook for breach in drawn(profile, 60, under(profile))}


@pytest.mark.slow
def test_copies_for_middleware_are_told_from_shared_objects() -> None:
    def writers(profile: str) -> set[str]:
        wanted = ("model.input", "model.wrap", "tool.wrap")
        return {one.hook for one in drawn(profile, 100, under(profile)) if one.hook in wanted}

    assert writers("strands-ts@1.5.0") == {"model.input", "model.wrap", "tool.wrap"}
    assert writers("strands-ts@1.19.0") <= {"model.input"}


# ---------------------------------------------------------------- one program


def test_a_write_is_told_with_who_sees_it_and_where_first() -> None:
    written = program(hooks={"prepareStep": [[{"append": ["messages", 0, "content"], "with": "!"}]]})
    [breach] = found(written, under("ai-sdk-6/stream"))
    assert breach.message.startswith("prepareStep writes messages[*].content (append); seen in caller, ")
    assert breach.seen == ("caller", "later-prompts", "this-prompt", "observers")
    assert breach.kind in KINDS
    assert [name for name in HOLDERS if name in breach.seen] == [*breach.seen]
    assert (breach.first.holder, breach.first.step) == ("this-prompt", 0)
    assert breach.first.path == "$.steps[0].prompt"
    assert breach.expected["caller"] == [{"role": "user", "content": "hi"}]
    assert breach.actual["caller"] == [{"role": "user", "content": "hi!"}]


MASTRA: Final[Json] = {"id": "a", "messages": [{"role": "user", "content": "hi"}], "script": [[CALL], []]}
STRANDS: Final[Json] = {
    "id": "a",
    "script": [[{"toolUse": {"name": "save", "toolUseId": "u1", "input": {"a": "#1"}}}], [{"text": "#2"}]],
    "tools": {"save": {"output": "#3"}},
}


def changed(field: str, value: Any, **tool: Any) -> Json:
    tools = {"save": {"output": "#3", **tool}} if tool else STRANDS["tools"]
    return {**STRANDS, "tools": tools, field: value}


@pytest.mark.parametrize(
    ("profile", "one", "cause", "seen", "first"),
    [
        (
            "mastra@1.71.0",
            {
                **MASTRA,
                "providerOptions": {"x": {"k": 1}},
                "prepareStep": {"*": [{"op": "set", "on": "providerOptions", "at": ["y"], "value": {}}]},
            },
            "write: prepareStep set providerOptions.y",
            ("caller", "later-prompts", "observers"),
            ("observers", None),
        ),
        (
            "mastra@1.71.0",
            {
                **MASTRA,
                "processors": [
                    {"id": "p", "steps": {"1": [{"op": "set", "at": [0, "role"], "value": "assistant"}]}}
                ],
            },
            "write: processInputStep set messages[*].role",
            ("this-prompt", "store"),
            ("this-prompt", 1),
        ),
        (
            "mastra@1.71.0",
            {
                **MASTRA,
                "messages": [{"role": "user", "content": {"format": 2, "parts": []}}],
                "script": [[]],
            },
            "write: the loop change the caller's messages",
            ("caller",),
            ("caller", None),
        ),
        (
            "strands-py@1.62.0",
            changed("input", "hi", mutateInput=[{"op": "set", "path": ["input", "a"], "value": 7}]),
            "write: tool set input.a",
            ("caller", "next-prompt", "store"),
            ("next-prompt", 1),
        ),
        (
            "strands-py@1.62.0",
            changed("messages", [{"role": "user", "content": [{"text": "#4"}]}]),
            "write: the loop change the caller's config.messages",
            ("caller",),
            ("caller", None),
        ),
    ],
)
def test_programs_of_every_format_say_who_sees_a_write_and_where_first(
    profile: str, one: Json, cause: str, seen: tuple[str, ...], first: tuple[str, int | None]
) -> None:
    breaches = {each.cause: each for each in faults(one, family_of(profile), under(profile))}
    assert cause in breaches
    found = breaches[cause]
    assert (found.seen, (found.first.holder, found.first.step)) == (seen, first)


def test_of_several_writes_only_those_that_show_are_causes() -> None:
    written = program(
        hooks={
            "prepareStep": [[{"append": ["messages"], "with": {"role": "user", "content": "gone"}}]],
            "model": [[{"set": ["prompt", 0, "content"], "to": []}]],
            "execute": [[{"set": ["input", "a"], "to": "w"}]],
        }
    )
    causes = [(one.hook, one.op, one.place) for one in found(written, under("ai-sdk-6/stream"))]
    assert causes == [("prepareStep", "append", "messages"), ("execute", "set", "input.a")]


def test_writes_that_show_only_together_are_one_cause() -> None:
    def run(one: Json) -> Json:
        trace = copying.trace(one)
        writes = [op for op in one["hooks"]["prepareStep"][0] if "set" in op]
        return {**trace, "caller": ["both"]} if len(writes) > 1 else trace

    ops = [{"set": ["messages", 0, "content"], "to": text} for text in ("x", "y")]
    [breach] = found(program(hooks={"prepareStep": [ops]}), run)
    assert breach.cause == "write: prepareStep set messages[*].content"
    assert breach.seen == ("caller",)


def test_what_is_kept_and_written_later_is_told_with_where_it_was_kept() -> None:
    written = program(
        hooks={
            "prepareStep": [[{"keep": ["messages", 0], "as": "k"}]],
            "onStepFinish": [[{"set": ["$k", "content"], "to": "late"}]],
        }
    )
    [breach] = found(written, under("ai-sdk-6/stream"))
    assert breach.place == "messages[*].content (kept in prepareStep)"
    assert breach.hook == "onStepFinish"
    assert "next-prompt" in breach.seen


def test_a_returned_object_that_is_written_later_is_a_write() -> None:
    returned = {"return": {"messages": ["copy"]}, "keep": "k"}
    written = program(
        hooks={"prepareStep": [[returned]], "execute": [[{"set": ["$k", 0, "content"], "to": "late"}]]}
    )
    [breach] = found(written, under("ai-sdk-6/stream"))
    assert breach.place == "returned[*].content (kept in prepareStep)"


@pytest.mark.parametrize(
    "hooks",
    [
        {"execute": [[{"set": ["output", "b"], "to": 2}]]},
        {"execute": [[{"keep": ["output"], "as": "k"}, {"set": ["$k", "b"], "to": 2}]]},
        {"prepareStep": [[{"set": ["$caller", 0, "content"], "to": "mine"}]]},
        {"prepareStep": [[{"set": ["experimental_context", "a"], "to": 2}]]},
        {"prepareStep": [[{"append": ["messages", 0, "content"], "with": "!"}, {"throw": "stop"}]]},
    ],
)
def test_what_is_passed_on_purpose_is_no_write(hooks: Json) -> None:
    one = program(hooks=hooks, options={"experimental_context": {"a": 1}})
    assert found(one, copying.loop()) == []


def test_what_a_hook_wrote_and_returns_is_left_out_of_both_runs() -> None:
    write = {"set": ["messages", 0, "content"], "to": "written"}
    known = isolation_of(FAMILY)
    stages = [{"append": [{"$ref": ["messages", 0]}]}]
    prepared = known.prepared(program(hooks={"prepareStep": [[write, {"return": {"messages": stages}}]]}))
    assert prepared["hooks"]["prepareStep"] == [[write, {"return": {}}]]
    literal = [{"literal": [{"$ref": ["messages", 0]}, {"role": "user", "content": "own"}]}]
    prepared = known.prepared(program(hooks={"prepareStep": [[write, {"return": {"messages": literal}}]]}))
    [_, op] = prepared["hooks"]["prepareStep"][0]
    assert op["return"]["messages"][0]["literal"][1] == {"role": "user", "content": "own"}
    assert "$ref" not in json.dumps(op)


@pytest.mark.parametrize("profile", ["ai-sdk-6", "mastra@1.71.0", "strands-ts@1.19.0", "strands-py@1.62.0"])
def test_programs_are_prepared_once_and_for_all_and_are_programs(profile: str) -> None:
    family = family_of(profile)
    known = isolation_of(family)
    for one in family.programs(range(60), profile):
        prepared = known.prepared(family.parse(family.to_line(one)))
        family.require(prepared)
        assert known.prepared(prepared) == prepared
        value = known.by_value(prepared, ())
        family.require(value)
        assert [act.hook for act in known.acts(value)] == []
        live = known.by_value(prepared, [act.at for act in known.acts(prepared)])
        assert live == timeless(prepared)


def test_a_write_that_one_call_of_a_tool_refuses_is_no_fault() -> None:
    calls = [{**CALL, "toolCallId": "c1"}, {**CALL, "toolCallId": "c2", "input": {"a": 1}}]
    one = program(
        script=[calls, []], tools={"look": {"output": 1, "mutate": [{"append": ["input", "a"], "with": "w"}]}}
    )
    assert found(one, under("immutable")) == []


def test_a_run_that_a_write_ends_and_changes_is_a_fault_all_the_same() -> None:
    def run(one: Json) -> Json:
        trace = copying.trace(one)
        wrote = any("set" in op for op in one["hooks"]["prepareStep"][0])
        return {**trace, "error": {"name": "E", "message": ""}, "caller": ["x"]} if wrote else trace

    one = program(hooks={"prepareStep": [[{"set": ["messages", 0, "content"], "to": "x"}]]})
    assert [breach.seen for breach in found(one, run)] == [("caller", "result")]


@pytest.mark.parametrize(
    ("final", "is_fault"),
    [
        (None, False),
        ({}, False),
        ({"text": "done"}, False),
        ({"steps": [1]}, False),
        ({"steps": [2]}, True),
        ({"odd": 1}, True),
        (7, True),
    ],
)
def test_a_run_that_a_write_ends_and_shows_no_more_than_an_earlier_state_is_no_fault(
    final: Any, *, is_fault: bool
) -> None:
    def run(one: Json) -> Json:
        trace = {**copying.trace(one), "final": {"text": "done", "steps": [1, 2]}}
        if not any("set" in op for op in one["hooks"]["prepareStep"][0]):
            return trace
        return {**trace, "error": {"name": "E", "message": ""}, "steps": trace["steps"][:1], "final": final}

    one = program(hooks={"prepareStep": [[{"set": ["messages", 0, "content"], "to": "x"}]]})
    assert bool(found(one, run)) == is_fault


# ---------------------------------------------------------------- times, accumulation, noise, failures


def test_results_in_the_order_in_which_tools_finish_are_found() -> None:
    calls = [CALL, {**CALL, "toolCallId": "c1", "toolName": "save"}]
    tools = {"look": {"output": 1, "takes": 3}, "save": {"output": 2}}
    one = program(script=[calls, [{"type": "text", "text": "done"}]], tools=tools)
    [breach] = found(one, copying.loop("order"))
    assert (breach.kind, breach.rule) == ("out-of-order", "isolated.call-order")
    assert breach.message.startswith("the order in which tools finish shows; seen in ")
    assert found(one, copying.loop()) == []


def test_what_is_returned_for_a_step_and_kept_for_the_next_accumulates() -> None:
    returned = {"return": {"messages": [{"append": [{"role": "user", "content": "remember"}]}]}}
    one = program(hooks={"prepareStep": [[returned], [returned]]})
    [breach] = found(one, under("ai-sdk-7/generate"))
    assert (
        breach.message
        == "what prepareStep returned for a step is kept for later steps; seen in later-prompts"
    )
    assert found(one, under("ai-sdk-6/generate")) == []


def test_a_driver_that_is_never_the_same_is_not_judged() -> None:
    numbers = count()
    one = program(hooks={"prepareStep": [[{"set": ["messages", 0, "content"], "to": "x"}]]})
    with pytest.raises(ValueError, match="two runs of the program without its writes differ"):
        found(one, lambda given: {**copying.trace(given), "caller": [next(numbers)]})


def test_what_a_driver_does_not_run_is_told_as_it_is() -> None:
    judge = Judge(FAMILY)
    one = judge.known.prepared(
        program(hooks={"prepareStep": [[{"set": ["messages", 0, "content"], "to": "x"}]]})
    )
    good, refused = Answer(copying.trace(one)), Unsupported("no hooks")

    def never(_: Json) -> Outcome:
        raise AssertionError

    assert judge.judge(one, [refused, good], never) == refused
    assert judge.judge(one, [good, refused], never) == ()
    crash = Crashed("ended", "")
    assert judge.judge(one, [good, crash], never) == crash


def test_a_format_without_isolation_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be checked with --isolated"):
        isolation_of(TOY)
    # What has no package has no loop of its own that could be checked.
    assert all(FAMILIES[name].isolation for name in FAMILIES if FRAMEWORKS[name].packages)


def test_an_answer_is_mixed_of_runs_or_it_is_not() -> None:
    text = "the object refuses the op"
    assert is_mixed([1, {"a": 2}], [1, {"a": text}], [1, {"a": "any words"}])
    assert is_mixed([1, 2], [text, text], ["words", 2])
    assert is_mixed({"m": 1}, {"m": {"name": "E", "message": text}}, {"m": {"name": "T", "message": "no"}})
    assert not is_mixed([1, 2], [text, text], [3, 2])
    assert not is_mixed([1], [text], ["words", 2])
    assert not is_mixed({"a": 1}, {"a": text}, {"b": 1})
    assert not is_mixed({"a": 1}, {"a": 5}, {"a": None})
