from __future__ import annotations

import copy
import datetime as dt
import decimal
import enum
import json
import pickle
import sys
import weakref
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import attrs
import pyrsistent
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import ImmutableWriteError, InvalidJsonError
from agentcore.messages import values
from agentcore.messages.messages import ContentOutput
from agentcore.messages.values import (
    FrozenDict,
    Vector,
    canonical_json,
    dump_json,
    extend_vector,
    freeze,
    frozen,
    json_path,
    maker,
    parse_json,
    sealed,
    strict_key,
    thaw,
    vector,
)
from strategies import json_values, texts

DEPTH = 5_000


def nested(depth: int, inner: Any = 1) -> Any:
    for level in range(depth):
        inner = [inner] if level % 2 else {"a": inner}
    return inner


class Name(enum.StrEnum):
    READ = "read"


class Level(enum.IntEnum):
    HIGH = 3


class Ratio(float):
    pass


# ---------------------------------------------------------------- freeze and thaw


@given(json_values)
def test_thaw_undoes_freeze(value: Any) -> None:
    assert thaw(freeze(value)) == value


@given(json_values)
def test_a_frozen_value_is_returned_as_it_is_and_is_hashable(value: Any) -> None:
    once = freeze(value)
    assert freeze(once) is once
    hash(once)


@given(json_values)
def test_the_walk_freezes_as_the_recursion_does(value: Any) -> None:
    assert repr(values._walked_freeze(value, "$")) == repr(freeze(value))
    once = freeze(value)
    assert values._walked_freeze(once, "$") is once


def test_json_that_was_frozen_once_is_not_gone_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    by_walk = values._walked_freeze({"a": [{"b": 1}] * 100}, "$")
    built = FrozenDict({"a": values.FrozenList([FrozenDict({"b": 1})] * 100)})
    for made in (freeze({"a": [{"b": 1}] * 100}), by_walk, freeze(built), values._walked_freeze(built, "$")):
        monkeypatch.setattr(values, "_quickly_frozen", None)
        assert freeze(made) is made
        assert values._walked_freeze([made], "$") == (made,)
        monkeypatch.undo()
    assert freeze(built) is built


def test_a_frozen_mapping_that_holds_what_can_change_is_frozen() -> None:
    inner = [1]
    made: Any = freeze(FrozenDict({"a": inner}))
    inner.append(2)
    assert made == {"a": (1,)}
    assert freeze(pickle.loads(pickle.dumps(made))) == made


@given(json_values)
def test_freezing_leaves_its_input_alone_and_keeps_the_order_of_keys(value: Any) -> None:
    before = json.dumps(value)
    assert json.dumps(thaw(freeze(value))) == before
    assert json.dumps(value) == before


def test_changing_the_source_afterwards_does_not_change_the_frozen_value() -> None:
    source = {"a": [1, {"b": 2}]}
    once = freeze(source)
    source["a"].append(3)
    assert thaw(once) == {"a": [1, {"b": 2}]}


def test_thawing_gives_new_containers_each_time() -> None:
    once = freeze({"a": [1]})
    thaw(once)["a"].append(2)
    assert thaw(once) == {"a": [1]}


def test_all_mappings_and_sequences_become_the_same_two_types() -> None:
    source = {"o": OrderedDict(x=1), "d": deque([1]), "v": pyrsistent.pvector([1]), "t": (1,), "r": range(2)}
    once = freeze(source)
    assert once == FrozenDict(o=FrozenDict(x=1), d=(1,), v=(1,), t=(1,), r=(0, 1))
    assert dump_json(source) == '{"o":{"x":1},"d":[1],"v":[1],"t":[1],"r":[0,1]}'
    assert thaw(source) == {"o": {"x": 1}, "d": [1], "v": [1], "t": [1], "r": [0, 1]}


def test_subclasses_of_plain_types_become_plain() -> None:
    ((key, (text, number, ratio)),) = thaw(freeze({Name.READ: [Name.READ, Level.HIGH, Ratio(0.5)]})).items()
    assert [type(x) for x in (key, text, number, ratio)] == [str, str, int, float]
    assert (key, text, number, ratio) == ("read", "read", 3, 0.5)


def test_a_frozen_mapping_with_enum_keys_is_frozen_again() -> None:
    once = freeze(FrozenDict({Name.READ: 1}))
    assert isinstance(once, FrozenDict)
    assert [type(key) for key in once] == [str]


def test_thaw_leaves_what_is_not_json_alone() -> None:
    assert thaw([b"x", 1.5]) == [b"x", 1.5]


@attrs.frozen
class Thing:
    a: int = 1


@pytest.mark.parametrize(
    ("value", "path", "advice"),
    [
        ({"a": [1, {2}]}, "$.a[1]", "sorted"),
        ([b"x"], "$[0]", "FilePart.data"),
        (bytearray(b"x"), "$", "base64"),
        ({"a b": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}, '$["a b"]', "isoformat"),
        ([[Thing()]], "$[0][0]", "message_to_wire"),
        ([decimal.Decimal(1)], "$[0]", "a Decimal is not JSON"),
        ({"a": object()}, "$.a", "an object is not JSON"),
        ({"a": {1: 2}}, "$.a", "str(1)"),
        ({"a": float("nan")}, "$.a", "nan is not a JSON number"),
        ([float("-inf")], "$[0]", "-inf"),
        (10**400, "$", "use a string"),
        ([-(10**309)], "$[0]", "largest 64-bit float"),
    ],
)
def test_what_is_not_json_is_refused_with_its_path_and_what_to_do(value: Any, path: str, advice: str) -> None:
    with pytest.raises(InvalidJsonError) as caught:
        freeze(value)
    assert caught.value.path == path
    assert advice in caught.value.reason
    assert str(caught.value) == f"{path}: {caught.value.reason}"
    for other in (dump_json, canonical_json):
        with pytest.raises(InvalidJsonError):
            other(value)


def test_the_path_of_a_fault_begins_with_the_path_given() -> None:
    with pytest.raises(InvalidJsonError) as caught:
        freeze({"a": [set()]}, "$.input")
    assert caught.value.path == "$.input.a[0]"


def test_a_cycle_is_refused() -> None:
    cycle: list[Any] = [1]
    cycle.append({"again": cycle})
    with pytest.raises(InvalidJsonError, match="contains itself"):
        freeze(cycle)


def test_one_object_in_two_places_is_no_cycle() -> None:
    shared = {"a": 1}
    assert thaw(freeze([shared, shared])) == [{"a": 1}, {"a": 1}]


class Endless(Mapping[str, Any]):
    """A view of a cycle: a new object at every access."""

    def __getitem__(self, key: str) -> Any:
        return Endless()

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


def test_a_view_without_end_is_refused() -> None:
    with pytest.raises(InvalidJsonError, match="without end"):
        freeze(Endless())


# ---------------------------------------------------------------- deep values


def test_values_far_deeper_than_the_stack_are_frozen_compared_printed_and_thawed() -> None:
    once = freeze(nested(DEPTH))
    assert strict_key(once) == canonical_json(nested(DEPTH)) == dump_json(thaw(once))
    assert dump_json(once).count("[") == DEPTH // 2
    assert strict_key(freeze(nested(DEPTH, 2))) != strict_key(once)


def test_a_fault_far_down_has_its_path() -> None:
    with pytest.raises(InvalidJsonError) as caught:
        freeze(nested(DEPTH, {1}))
    assert caught.value.path == "$" + "[0].a" * (DEPTH // 2)


def test_text_nested_as_deep_as_python_reads_is_read_and_text_nested_deeper_is_refused() -> None:
    deep = sys.getrecursionlimit() // 2
    text = "[" * deep + "]" * deep
    assert dump_json(freeze(parse_json(text))) == text
    with pytest.raises(InvalidJsonError, match="nested too deeply"):
        parse_json("[" * 1_000_000)


# ---------------------------------------------------------------- equality


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (True, 1, False),
        (False, 0, False),
        (1, 1.0, True),
        (0, -0.0, True),
        (None, False, False),
        ("1", 1, False),
        (10**20, 1e20, True),
        (2**53 + 1, float(2**53), False),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True),
        ({"a": 1}, {"a": True}, False),
        ([1, 2], [2, 1], False),
        ([], {}, False),
        (["1.0"], ["1"], False),
        ([1.5, "1.0"], [1.5, "1.0"], True),
        ({}, None, False),
        ("[]", [], False),
    ],
)
def test_equality_is_that_of_json(left: Any, right: Any, *, equal: bool) -> None:
    assert (strict_key(freeze(left)) == strict_key(freeze(right))) is equal
    assert (canonical_json(left) == canonical_json(right)) is equal


def json_equal(left: Any, right: Any) -> bool:
    """The definition, by recursion."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(json_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(json_equal, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


@given(json_values, json_values)
def test_keys_are_equal_exactly_if_values_are(left: Any, right: Any) -> None:
    assert (canonical_json(left) == canonical_json(right)) == json_equal(left, right)
    assert canonical_json(left) == canonical_json(copy.deepcopy(left))


@given(json_values)
def test_canonical_text_is_ascii_json_of_an_equal_value(value: Any) -> None:
    text = canonical_json(value)
    assert text.isascii()
    assert json_equal(parse_json(text), value)
    assert canonical_json(parse_json(text)) == text


@given(json_values)
def test_the_walk_prints_as_the_encoder_does(value: Any) -> None:
    once = freeze(value)
    for canonical in (False, True):
        walked = values._walked_text(once, canonical=canonical)
        assert walked == values._text(once, once, canonical=canonical)
        assert walked == values._text(once, value, canonical=canonical)


# ---------------------------------------------------------------- text


@given(json_values)
def test_parsing_undoes_printing(value: Any) -> None:
    text = dump_json(value)
    assert text.isascii()
    assert text == json.dumps(value, separators=(",", ":"))
    assert parse_json(text) == value


def test_a_lone_surrogate_is_printed_escaped() -> None:
    assert dump_json("\ud800") == '"\\ud800"'
    assert parse_json('"\\ud800"') == "\ud800"


def test_integers_are_exact() -> None:
    number = 2**53 + 1
    assert parse_json(dump_json(number)) == number
    assert parse_json(str(10**305)) == 10**305
    assert freeze(10**305) == 10**305


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON text"),
        ("{'a': 1}", "line 1, column 2"),
        ("NaN", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("1e999", "beyond every float"),
        ("9" * 400, "400 characters"),
        ("9" * 5000, "5000 characters"),
        ("[-" + "9" * 5000 + "]", "5001 characters"),
        ("\ufeff1", "BOM"),
    ],
)
def test_text_that_is_not_json_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidJsonError) as caught:
        parse_json(text)
    assert caught.value.path == "$"
    assert reason in caught.value.reason


@given(st.lists(st.integers(0, 99) | texts, max_size=4))
def test_paths_tell_keys_from_indices(keys: list[str | int]) -> None:
    path = json_path("$", *keys)
    assert path.startswith("$")
    assert path.isascii()
    assert path.count("[") >= sum(isinstance(key, int) for key in keys)


def test_a_path_looks_as_in_javascript() -> None:
    assert json_path("$.m", "a", 0, "b c", "ä", "$x") == '$.m.a[0]["b c"]["\\u00e4"].$x'


# ---------------------------------------------------------------- vectors and frozen classes


def is_pure(value: object) -> bool:
    return type(value) is Vector


def test_vectors_are_of_the_pure_python_kind() -> None:
    mine = vector([1, 2])
    assert is_pure(mine)
    assert vector(mine) is mine
    assert is_pure(vector(pyrsistent.pvector([1])))
    assert is_pure(vector())
    assert is_pure(vector(x for x in [1]))
    assert is_pure(extend_vector(mine, [3]))


@frozen
class Pair:
    left: int
    right: Any = attrs.field(factory=vector)


@pytest.mark.parametrize("name", ["left", "new"])
def test_a_write_to_a_frozen_value_raises_and_says_what_to_do(name: str) -> None:
    pair = Pair(1)
    for write in (partial(setattr, pair, name, 2), partial(delattr, pair, name)):
        with pytest.raises(ImmutableWriteError, match=r"attrs\.evolve") as caught:
            write()
        assert isinstance(caught.value, AttributeError)
        assert isinstance(caught.value, TypeError)
        assert caught.value.path == f"$.{name}"
    assert pair == Pair(1)


def test_a_frozen_class_has_slots_and_no_subclasses() -> None:
    assert not hasattr(Pair(1), "__dict__")
    with pytest.raises(TypeError, match="Pair is final"):
        type("Other", (Pair,), {})


def test_a_copy_of_a_frozen_value_is_the_value() -> None:
    pair = Pair(1, vector([2]))
    assert copy.copy(pair) is pair
    assert copy.deepcopy(pair) is pair
    assert copy.deepcopy([pair])[0] is pair


def test_a_pickled_vector_comes_back_as_the_pure_python_kind() -> None:
    pair = pickle.loads(pickle.dumps(Pair(1, vector([2]))))
    assert pair == Pair(1, vector([2]))
    assert is_pure(pair.right)


def test_a_third_positional_field_is_refused() -> None:
    with pytest.raises(TypeError, match="Three: make c keyword-only"):

        @sealed
        @attrs.frozen
        class Three:
            a: int
            b: int
            c: int


def test_a_long_vector_is_told_by_its_length() -> None:
    few, many = (ContentOutput([{"type": "text", "text": "x"}] * count) for count in (2, 17))
    assert repr(few).count('"x"') == 2
    assert "<17 items>" in repr(many)


# ---------------------------------------------------------------- values of fields that are right already


@sealed
@attrs.frozen
class Place:
    name: str
    level: int = attrs.field(default=1, converter=int)
    ids: Vector[str] = attrs.field(factory=vector, kw_only=True)
    _seen: bool = attrs.field(default=False, kw_only=True)
    _kept: object = attrs.field(default=None, init=False, eq=False)


new_place = maker(Place)


@pytest.mark.parametrize(
    ("args", "fields"),
    [(("a",), {}), (("a", 2), {"ids": vector("b")}), ((), {"name": "a", "level": 3, "seen": True})],
)
def test_a_made_value_is_the_one_that_the_constructor_makes(
    args: tuple[Any, ...], fields: dict[str, Any]
) -> None:
    made, constructed = new_place(*args, **fields), Place(*args, **fields)
    assert type(made) is Place
    assert made == constructed
    assert all(getattr(made, each.name) == getattr(constructed, each.name) for each in attrs.fields(Place))
    assert hash(made) == hash(constructed)
    assert pickle.loads(pickle.dumps(made)) == made
    assert weakref.ref(made)() is made


def test_a_made_value_takes_no_writes() -> None:
    made = new_place("a")
    with pytest.raises(ImmutableWriteError):
        made.name = "b"  # type: ignore[misc] # what is tested
    with pytest.raises(ImmutableWriteError):
        del made.name


def test_fields_of_a_made_value_are_taken_as_they_are() -> None:
    level: Any = "2"
    assert new_place("a", level).level is level


def test_a_maker_refuses_what_the_constructor_refuses() -> None:
    unknown: Any = {"other": 1}
    with pytest.raises(TypeError, match="other"):
        new_place("a", **unknown)
    with pytest.raises(TypeError, match="name"):
        new_place()  # type: ignore[call-arg] # what is tested


def test_a_class_with_a_maker_has_no_subclasses() -> None:
    with pytest.raises(TypeError, match="final"):
        type("Other", (Place,), {})
