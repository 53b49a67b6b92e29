from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from agentcore.heap.copying import CopyDepth
from agentcore.kit.framework import decision, fields_of, words_of
from agentcore.oracle.comparison import comparands
from agentcore.oracle.comparison.changes import (
    Both,
    Change,
    Changes,
    Pair,
    Witness,
    _fewest,
    compare,
    first_place,
    marked,
    says_all,
    witness_of,
)
from agentcore.oracle.comparison.comparands import Runner, Side, SideError, side
from agentcore.oracle.drivers.packages import Target
from kit.installed import installed
from oracle import toy_versions
from oracle.driver_commands import TESTS
from oracle.toy_versions import FAMILY, FIRST, SECOND, ToyProfile, trace

Json = dict[str, Any]
SEEDS = range(200)


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    with installed(toy_versions.ENTRY):
        yield


def live(monkeypatch: pytest.MonkeyPatch, version: str) -> Side:
    """A package that is expected to be `sum@2`, and is the driver of a version."""
    target = Target(profile="sum@2", package="sum", source="oracle", folder="none")
    monkeypatch.setattr(comparands, "target_of", lambda _: target)
    monkeypatch.setattr(comparands, "command", lambda _: toy_versions.driver(version))
    return side("live:sum@2")


def found() -> dict[str | None, Change]:
    changes = compare(side("sum@1"), side("sum@2"), SEEDS)
    return {change.field: change for change in changes.classes}


def programs() -> list[Json]:
    return [*FAMILY.programs(SEEDS, "sum@1")]


def pair() -> Pair:
    assert FAMILY.emulation is not None
    return Pair(FAMILY, FAMILY.emulation, FIRST, SECOND)


def numbers(*of: int) -> Json:
    return {"id": "a", "numbers": [*of]}


# ---------------------------------------------------------------- causes


def test_the_fields_that_differ_are_compared_in_their_order_and_names_are_not() -> None:
    assert pair().fields == ("forgets", "doubles", "shouts", "hidden", "skips", "misses")
    assert [field.name for field in fields_of(ToyProfile)] == [*pair().fields]
    assert {field.group for field in fields_of(ToyProfile)} == {"Sums"}
    assert fields_of(ToyProfile)[1].statement == "Whether a 7 counts twice."


def test_values_of_fields_are_told_in_words() -> None:
    values = (None, True, False, CopyDepth.DEEP, ("a", "b"), {"a": False}, "v3")
    assert [words_of(value) for value in values] == ["none", "yes", "no", "deep", "`a`, `b`", "a: no", "v3"]


def test_a_field_without_a_decision_has_no_statement() -> None:
    assert {field.statement for field in fields_of(Pair)} == {""}


def test_what_a_field_decides_needs_no_source_and_its_heading_lasts_until_the_next() -> None:
    says = [decision("First.", heading="A"), decision("Second."), decision("Third.", heading="B")]
    made = attrs.make_class("Made", {f"f{at}": attrs.field(metadata=one) for at, one in enumerate(says)})
    fields = [(field.statement, field.group) for field in fields_of(made)]
    assert fields == [("First.", "A"), ("Second.", "A"), ("Third.", "B")]


def test_what_a_field_decides_ends_in_a_full_stop() -> None:
    with pytest.raises(ValueError, match="ends in a full stop: 'Whether it is'"):
        decision("Whether it is")


def test_each_field_that_undone_alone_shows_is_a_cause_at_the_places_where_it_does() -> None:
    program = numbers(1, 3, 7)
    different = pair().differing(pair().traced_before(program), pair().traced_after(program))
    assert different == ("$.sums[].sum", "$.sums[].mark", "$.end")
    assert pair().causes(program, different) == {
        "forgets": ("$.sums[].sum", "$.end"),
        "doubles": ("$.sums[].mark", "$.sums[].sum", "$.end"),
        "shouts": ("$.sums[].mark",),
    }


def test_what_causes_nothing_that_differs_is_no_cause() -> None:
    assert pair().causes(numbers(7), ("$.elsewhere",)) == {}


def test_a_field_that_shows_with_another_only_is_told_with_it() -> None:
    assert pair().needed(numbers(7), "doubles", "$.end") == ("doubles",)
    assert pair().needed(numbers(7), "shouts", "$.sums[].mark") == ("shouts", "doubles")
    assert pair().needed(numbers(1, 3, 7), "doubles", "$.end") == ("doubles", "forgets")
    assert pair().needed(numbers(7), None, "$.sums[].mark") == ("doubles", "shouts")


# ---------------------------------------------------------------- classes


def test_a_class_is_a_field_and_counts_the_programs_in_which_it_shows() -> None:
    classes = found()
    threes = [one for one in programs() if 3 in one["numbers"][1:]]
    sevens = [one for one in programs() if 7 in one["numbers"]]
    assert {field: change.count for field, change in classes.items()} == {
        "doubles": len(sevens),
        "shouts": len(sevens),
        "forgets": len(threes),
        None: classes[None].count,
    }
    assert [*classes] == ["doubles", "shouts", "forgets", None]


def test_each_class_has_its_smallest_program() -> None:
    witnesses = {field: change.witnesses for field, change in found().items()}
    assert {field: [one.program["numbers"] for one in some] for field, some in witnesses.items()} == {
        "doubles": [[7]],
        "shouts": [[7]],
        "forgets": [[0, 3]],
        None: [[8]],
    }
    (forgets,) = witnesses["forgets"]
    assert (forgets.place, forgets.places, forgets.fields) == (
        "$.sums[].sum",
        ("$.sums[].sum", "$.end"),
        ("forgets",),
    )
    assert (forgets.before["end"], forgets.after["end"]) == (3, 0)
    (shouts,) = witnesses["shouts"]
    assert shouts.fields == ("shouts", "doubles")


def test_the_same_seeds_give_the_same_classes_and_equal_sides_give_none() -> None:
    one, other = (compare(side("sum@1"), side("sum@2"), range(40)) for _ in range(2))
    assert one == other
    alike = compare(side("sum@1"), side("sum@1"), range(40))
    assert (alike.differing, alike.classes) == (0, ())


@pytest.mark.slow
def test_several_processes_find_what_one_does() -> None:
    # Started anew, so a family that is made up here is not there.
    before, after = side("ai-sdk-6/generate"), side("ai-sdk-7/generate")
    seen: list[tuple[str, int, int]] = []

    def progress(what: str, done: int, total: int) -> None:
        seen.append((what, done, total))

    one = compare(before, after, range(1, 2), patience=1)
    two = compare(before, after, range(1, 2), patience=1, jobs=2, progress=progress)
    assert one == two
    assert one.differing == 1
    assert seen[0] == ("programs", 1, 1)
    assert {what for what, _, _ in seen} == {"programs", "classes"}


def test_patience_is_how_many_programs_show_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def counted(both: Both, program: Json, field: str | None, place: str) -> Witness | None:
        tried.append(f"{field} at {place}")
        return witness_of(both, program, field, place)

    monkeypatch.setattr("agentcore.oracle.comparison.changes.witness_of", counted)
    compare(side("sum@1"), side("sum@2"), SEEDS, patience=3)
    # The first is new, three more are not.
    assert tried.count("doubles at $.sums[].mark") == 4


def test_what_two_fields_cause_each_by_itself_is_told_by_the_place_and_the_fewest_that_are_needed() -> None:
    change = found()[None]
    assert change.place == "$.sums[].sum"
    (eight,) = change.witnesses
    assert (eight.fields, eight.places) == (("skips",), ("$.sums[].sum", "$.end"))


# ---------------------------------------------------------------- witnesses


def witness(**fields: Any) -> Witness:
    plain: Json = {
        "program": numbers(7),
        "place": "$.end",
        "places": ("$.sums[].sum", "$.end"),
        "fields": ("doubles",),
        "features": frozenset({"a"}),
        "before": {},
        "after": {},
    }
    return Witness(**(plain | fields))


def test_a_witness_says_all_that_one_with_more_features_fields_or_another_of_its_places_does() -> None:
    one = witness()
    assert says_all(one, witness(features=frozenset({"a", "b"})))
    assert says_all(one, witness(fields=("doubles", "forgets")))
    assert says_all(one, witness(place="$.sums[].sum"))
    assert not says_all(witness(features=frozenset({"a", "b"})), one)
    assert not says_all(witness(fields=("doubles", "forgets")), one)
    assert not says_all(one, witness(place="$.sums[].read"))


def test_the_place_of_a_class_is_the_first_but_not_what_ops_met_with() -> None:
    assert first_place(("$.opErrors", "$.final.steps", "$.caller")) == "$.final.steps"
    assert first_place(("$.opErrors",)) == "$.opErrors"


def test_of_the_witnesses_those_are_kept_that_show_something_of_their_own_with_the_fewest_causes() -> None:
    seven, other = witness(), witness(place="$.x", places=("$.x",), program=numbers(1))
    larger = witness(program=numbers(7, 7), features=frozenset({"a", "b"}))
    mixed = witness(fields=("doubles", "forgets"), features=frozenset())
    pair_only = witness(fields=("doubles", "forgets"), place="$.y", places=("$.y",), program=numbers())
    kept = [*_fewest(FAMILY, [larger, pair_only, mixed, other, seven])]
    assert kept == [other, seven, pair_only]


def test_a_cause_is_held_to_the_fields_that_are_needed() -> None:
    assert pair().caused_by(numbers(0, 3), ["forgets"], "$.end")
    assert not pair().caused_by(numbers(7, 3), ["forgets"], "$.end")
    assert pair().caused_by(numbers(7, 3), ["forgets", "doubles"], "$.end")
    assert not pair().caused_by(numbers(3), ["forgets"], "$.end")


def test_a_smaller_program_is_made_smaller_again_under_the_fewer_fields_that_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds: list[tuple[str, ...]] = []

    def to_three(_: Json, shows: Any, *__: object, **___: object) -> Json:
        rounds.append(shows.keywords["fields"])
        return numbers(0, 3)

    monkeypatch.setattr("agentcore.oracle.comparison.changes.shrink", to_three)
    with Runner(side("sum@1")) as one, Runner(side("sum@2")) as other:
        assert witness_of(Both(one, other, FAMILY), numbers(7, 3), "forgets", "$.end") is not None
    assert rounds == [("forgets", "doubles"), ("forgets",)]


def test_no_other_cause_comes_in_while_a_program_is_made_smaller() -> None:
    with Runner(side("sum@1")) as one, Runner(side("sum@2")) as other:
        both = Both(one, other, FAMILY)
        small = witness_of(both, numbers(5, 7, 3, 7), "forgets", "$.end")
    assert small is not None
    assert (small.program["numbers"], small.fields) == ([0, 3], ("forgets",))


def test_empty_texts_become_marks_where_the_program_stays_one_and_shows_what_it_did() -> None:
    program = {"id": "", "numbers": [7], "note": "", "path": ""}
    assert marked(program, bool, FAMILY)["note"] == "#1"
    assert marked(program, lambda one: one["note"] == "", FAMILY) == program
    assert marked({**program, "odd": [""]}, bool, FAMILY)["odd"] == [""]


# ---------------------------------------------------------------- live sides


@pytest.mark.slow
def test_a_package_that_does_as_its_profile_says_is_explained_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = compare(side("sum@1"), live(monkeypatch, "sum@2"), range(40))
    assert {change.field for change in changes.classes} == {"doubles", "shouts", "forgets", None}
    nines = [one for one in FAMILY.programs(range(40), "sum@1") if 9 in one["numbers"]]
    assert changes.unsupported == len(nines) > 0


@pytest.mark.slow
def test_a_package_that_does_otherwise_is_told_by_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = compare(side("sum@2"), live(monkeypatch, "late"), range(10))
    (change,) = changes.classes
    assert (change.field, change.place) == (None, "$.end")
    assert [one.program["numbers"] for one in change.witnesses] == [[]]
    assert change.witnesses[0].fields == ()


@pytest.mark.slow
def test_a_profile_that_its_package_belies_explains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = compare(side("sum@1"), live(monkeypatch, "late"), range(10))
    assert {change.field for change in changes.classes} == {None}


def test_a_package_is_explained_by_its_profile_only_if_it_does_as_that_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for version, explained in (("sum@2", pair()), ("late", None)):
        with Runner(side("sum@1")) as one, Runner(live(monkeypatch, version)) as other:
            assert Both(one, other, FAMILY).pair(numbers(7)) == explained


def test_a_difference_that_a_live_side_does_not_show_is_no_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    late = live(monkeypatch, "sum@2")
    with Runner(side("sum@1")) as one, Runner(late) as other:
        assert witness_of(Both(one, other, FAMILY), numbers(7, 9), "doubles", "$.sums[].read") is None


def test_a_driver_that_ends_is_an_error_that_names_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SideError, match=r"live:sum@2 failed at the program .*exit code 1"):
        compare(side("sum@1"), live(monkeypatch, "broken"), range(40))


def test_a_driver_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = live(monkeypatch, "sum@2")
    monkeypatch.setattr(comparands, "command", lambda _: ("sleep", "60"))
    with Runner(slow, time_limit=0.1) as runner, pytest.raises(SideError, match=r"no answer within 0\.1 s"):
        runner.trace(numbers(1))


# ---------------------------------------------------------------- sides


def test_sides_of_two_families_are_not_compared() -> None:
    with pytest.raises(SideError, match=r"sum@1 runs programs of sum, mastra@1\.71\.0 those of mastra"):
        compare(side("sum@1"), side("mastra@1.71.0"), range(1))


@pytest.mark.parametrize(
    ("name", "profile", "target", "path"),
    [
        ("ai-sdk-6/generate", "ai-sdk-6/generate", None, "generate"),
        ("ai-sdk-6", "ai-sdk-6", None, None),
        ("immutable", "immutable", None, None),
        ("ai-sdk@6.0.134", "ai-sdk-6", "ai-sdk@6.0.134", None),
        ("ai-sdk@6.0.134/stream", "ai-sdk-6/stream", "ai-sdk@6.0.134", "stream"),
        ("mastra@1.71.0", "mastra@1.71.0", None, None),
        ("live:mastra@1.71.0", "mastra@1.71.0", "mastra@1.71.0", None),
    ],
)
def test_a_side_is_a_profile_or_a_target(
    name: str, profile: str, target: str | None, path: str | None
) -> None:
    one = side(name)
    assert (one.profile, one.target, one.path) == (profile, target, path)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ai-sdk-5", r"no profile is named 'ai-sdk-5'.*; there are ai-sdk@6\.0\.134"),
        ("live:ai-sdk-6", "no target is named 'ai-sdk-6'; there are"),
        ("ai-sdk@6.0.134/sideways", r"ai-sdk@6\.0\.134 has no path 'sideways'"),
    ],
)
def test_an_unknown_side_is_an_error_that_lists_what_there_is(name: str, says: str) -> None:
    with pytest.raises(SideError, match=says):
        side(name)


def test_a_side_runs_programs_on_its_path_and_its_profile() -> None:
    program = {"id": "a", "path": "stream", "messages": [], "script": []}
    six, generate = side("ai-sdk-6"), side("ai-sdk-6/generate")
    assert six.own(program) is program
    assert six.profile_for(program) == "ai-sdk-6/stream"
    assert generate.own(program)["path"] == "generate"
    assert generate.profile_for(generate.own(program)) == "ai-sdk-6/generate"


@pytest.mark.slow
def test_profiles_that_are_no_data_are_compared_by_place() -> None:
    changes = compare(side("immutable"), side("ai-sdk-6/generate"), range(2), patience=1)
    assert changes.differing > 0
    assert {change.field for change in changes.classes} == {None}
    assert all(one.fields == () for change in changes.classes for one in change.witnesses)


def test_what_a_profile_lacks_is_unsupported() -> None:
    told = {"id": "a", "hooks": [{"on": "modelDelta", "ops": []}]}
    with Runner(side("strands-py@1.62.0")) as runner:
        assert runner.traces([told]) == [None]


def test_changes_are_values() -> None:
    changes = compare(side("sum@1"), side("sum@2"), range(10))
    assert isinstance(changes, Changes)
    assert attrs.evolve(changes) == changes
    assert trace(numbers(7), "sum@2")["sums"][0]["mark"] == "!"
