from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from agentcore.kit.shrink import shrink, size, smaller
from oracle.toy_family import FAMILY

Json = dict[str, Any]
PROGRAM: Json = {
    "id": "a",
    "path": "up",
    "numbers": [4, 0, 9, 7, 9],
    "note": [{"type": "kind", "text": ["long"]}],
}


def shrunk(holds: Callable[[Json], bool], **changes: Any) -> Json:
    shrinking = attrs.evolve(FAMILY.shrinking, **changes)
    return shrink(PROGRAM, holds, attrs.evolve(FAMILY, shrinking=shrinking))


def test_a_program_of_which_nothing_matters_becomes_the_smallest() -> None:
    assert shrunk(lambda _: True) == {"id": "a", "path": "up", "numbers": []}


def test_fields_that_are_not_required_go() -> None:
    wanted = shrunk(lambda _: True, required=("id", "numbers"))
    assert wanted == {"id": "a", "numbers": []}


def test_the_family_measures_before_characters_are_counted() -> None:
    assert size(PROGRAM, FAMILY) > size({**PROGRAM, "numbers": [1000, 1000, 1000]}, FAMILY)
    assert size(PROGRAM, FAMILY)[0] == 5
    assert size({**PROGRAM, "id": "a long one"}, FAMILY) == size(PROGRAM, FAMILY)


def test_what_matters_stays_as_small_as_it_can_be() -> None:
    assert shrunk(lambda program: sum(program["numbers"]) > 9)["numbers"] == [9, 1]
    assert shrunk(lambda program: 9 in program["numbers"])["numbers"] == [9]


def test_a_value_becomes_what_stands_in_it() -> None:
    note = shrunk(lambda program: "long" in str(program.get("note")))["note"]
    assert note == [["long"]]


def test_a_value_becomes_what_the_family_says_with_less() -> None:
    def merged(value: Any) -> tuple[Any, ...]:
        return ("long",) if value == ["long"] else ()

    note = shrunk(lambda program: "long" in str(program.get("note")), merged=merged)["note"]
    assert note == ["long"]


def test_the_familys_own_edits_are_tried_after_whole_fields() -> None:
    tried: list[Json] = []

    def own(smallest: Callable[[], Json]) -> Iterator[Json]:
        yield {**smallest(), "numbers": [7, 7]}

    def holds(program: Json) -> bool:
        tried.append(program)
        return False

    shrunk(holds, edits=(own,))
    assert [{*PROGRAM} - {*program} for program in tried[:2]] == [{"note"}, set()]
    assert tried[1]["numbers"] == [7, 7]


def test_values_under_names_stay() -> None:
    def holds(program: Json) -> bool:
        return bool(program.get("note")) and "type" in str(program["note"])

    assert "'type': 'kind'" in str(shrunk(holds, names=("id", "path", "type"))["note"])
    assert "'type': 'y'" in str(shrunk(holds)["note"])


def test_texts_and_keys_stay_such_as_can_be_read() -> None:
    def holds(program: Json) -> bool:
        note = program.get("note")
        return isinstance(note, list) and bool(note) and isinstance(note[0], (str, dict))

    program = {**PROGRAM, "note": [{"": "", "x": ["key", "text"]}]}
    line = str([*smaller(program, holds, FAMILY)])
    assert "''" not in str(shrink(program, holds, FAMILY))
    assert "['x', 'text']" in line or "'x'" in line


def test_shrinking_is_deterministic_and_leaves_its_input_alone() -> None:
    before = str(PROGRAM)
    found = [shrunk(lambda program: len(program["numbers"]) > 1) for _ in range(2)]
    assert found[0] == found[1]
    assert str(PROGRAM) == before


def test_shrinking_ends_when_its_time_is_over() -> None:
    ticks = itertools.count()
    tests: list[Json] = []

    def holds(candidate: Json) -> bool:
        tests.append(candidate)
        return False

    assert shrink(PROGRAM, holds, FAMILY, seconds=5, clock=lambda: float(next(ticks))) is PROGRAM
    assert 0 < len(tests) <= 5


def test_what_never_holds_is_tried_once_each() -> None:
    tests: list[str] = []

    def holds(candidate: Json) -> bool:
        tests.append(str(candidate))
        return False

    assert shrink(PROGRAM, holds, FAMILY) is PROGRAM
    assert len(tests) == len({*tests}) > 20


@pytest.mark.parametrize("seed", range(5))
def test_what_is_kept_is_always_a_program(seed: int) -> None:
    [program] = FAMILY.programs([seed], "toy-2/up")

    def holds(candidate: Json) -> bool:
        FAMILY.require(candidate)
        return bool(candidate["numbers"])

    assert shrink(program, holds, FAMILY)["numbers"] == [0]
