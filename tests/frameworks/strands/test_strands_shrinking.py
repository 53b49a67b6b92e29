from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentcore.frameworks.strands.family import COMPARISON, SHRINKING
from agentcore.frameworks.strands.program import check, handlers_of, to_line
from agentcore.frameworks.strands.programs import Traits, random_program
from agentcore.kit.choices import RandomChoices
from agentcore.kit.families import Family
from agentcore.kit.shrink import shrink, size

Json = dict[str, Any]
TRAITS = Traits(typescript=True)


def nothing(*_: Any) -> Json:
    raise AssertionError("a program is made smaller without being run by its family")


FORMAT = Family(
    name="toy",
    profiles=(),
    check=check,
    to_line=to_line,
    trace=nothing,
    program=nothing,
    comparison=COMPARISON,
    shrinking=SHRINKING,
    feature_names=(),
    features=nothing,
    smallest=nothing,
)


def smallest(program: Json, holds: Callable[[Json], bool]) -> Json:
    found = shrink(program, holds, FORMAT)
    return {key: value for key, value in found.items() if key != "id"}


def random(wanted: Callable[[Json], bool]) -> Json:
    programs = (random_program(RandomChoices(seed), "a", TRAITS) for seed in range(5_000))
    return next(program for program in programs if wanted(program))


def test_what_does_not_matter_goes() -> None:
    assert smallest(random(lambda program: len(program) > 9), lambda _: True) == {}


def test_one_op_is_left_of_many_and_runs_at_every_entry() -> None:
    def retries(program: Json) -> bool:
        return any(op["op"] == "retry" for _, _, ops in handlers_of(program) for op in ops)

    found = smallest(random(retries), retries)
    assert [*found] == ["hooks"]
    assert [[[*op] for op in hook["ops"]] for hook in found["hooks"]] == [[["op"]]]


def test_one_of_several_inputs_is_left() -> None:
    program = {"id": "a", "inputs": ["one", [{"text": "two"}, {"text": "three"}], "four"]}
    kept = smallest(program, lambda program: "two" in str(program))
    assert kept == {"input": "two"}


def test_a_call_that_is_taken_out_moves_what_waits_for_later_ones() -> None:
    handler = {"stage": "model", "ops": [{"op": "throw", "when": 2}, {"op": "stop", "when": [0, 2]}]}
    program = {"id": "a", "script": [[{"text": "x"}]] * 3, "middleware": [handler]}

    def waits(program: Json) -> bool:
        ops = [op for _, _, found in handlers_of(program) for op in found]
        script = program.get("script", [])
        return bool(script and ops) and ops[0].get("when") == len(script) - 1

    assert smallest(program, waits) == {
        "script": [[]],
        "middleware": [{"stage": "model", "ops": [{"op": "throw", "when": 0}]}],
    }


def test_a_message_that_is_taken_out_moves_paths_that_count_them() -> None:
    messages = [{"role": "user", "content": [{"text": text}]} for text in ("one", "two", "three")]
    op = {"op": "delete", "path": ["messages", 2, "content", 0]}
    program = {"id": "a", "messages": messages, "middleware": [{"stage": "model", "ops": [op]}]}

    def aims(program: Json) -> bool:
        found = [op["path"] for _, _, ops in handlers_of(program) for op in ops if "path" in op]
        history = program.get("messages", [])
        return any(
            path[0] == "messages"
            and len(path) > 1
            and isinstance(path[1], int)
            and 0 <= path[1] < len(history)
            and history[path[1]]["content"] == [{"text": "three"}]
            for path in found
        )

    found = smallest(program, aims)
    assert found["messages"] == [{"role": "user", "content": [{"text": "three"}]}]
    assert found["middleware"][0]["ops"] == [{"op": "delete", "path": ["messages", 0]}]


def test_a_script_entry_is_left_as_its_blocks() -> None:
    program = {"id": "a", "script": [{"blocks": [{"text": "said"}], "modelState": {"a": 1}}]}
    found = smallest(program, lambda program: bool(program.get("script")))
    assert found == {"script": [[]]}


def test_fewer_calls_are_smaller_than_fewer_ops() -> None:
    calls = {"id": "a", "script": [[], []]}
    ops = {"id": "a", "script": [[]], "middleware": [{"stage": "model", "ops": [{"op": "next"}] * 9}]}
    inputs = {"id": "a", "inputs": ["x", "y"]}
    edits = {"id": "a", "tools": {"t": {"mutateInput": [{"op": "delete", "path": ["input", "a"]}]}}}
    assert size(ops, FORMAT) < size(calls, FORMAT)
    assert [size(program, FORMAT)[:2] for program in (ops, inputs, edits)] == [(1, 9), (2, 0), (0, 1)]
