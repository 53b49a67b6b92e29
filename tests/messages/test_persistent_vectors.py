from __future__ import annotations

import copy
import operator
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentcore.errors import ImmutableWriteError
from agentcore.messages import vectors
from agentcore.messages.brief import json_path
from agentcore.messages.readonly import MUTATORS
from agentcore.messages.vectors import (
    FrozenDict,
    FrozenList,
    FrozenSet,
    Vector,
    extend_vector,
    following,
    frozen_list,
    frozen_list_or_none,
    remove_item,
    replace_item,
    updated_vector,
    vector,
)

LENGTHS = st.integers(0, 2200)
FLAGS: Any = st.booleans()


def fields(made: Any) -> list[Any]:
    return [getattr(made, slot) for slot in ("_count", "_shift", "_root", "_tail", "_tail_offset")]


# ---------------------------------------------------------------- a vector is a list that does not change


@given(LENGTHS, st.lists(st.integers(0, 70), max_size=5))
def test_vectors_of_one_length_have_one_shape_however_they_grew(length: int, growths: list[int]) -> None:
    made = vector(range(length))
    for more in growths:
        kept, before = made, [*made]
        made = extend_vector(made, range(len(made), len(made) + more))
        assert [*kept] == before
        assert (made is kept) == (not more)
    assert fields(made) == fields(vector(range(len(made))))
    assert [*made] == [*range(len(made))]
    assert bool(fields(made)[3]) == bool(made)


@given(LENGTHS, st.data())
def test_reading_a_vector_is_reading_a_list(length: int, data: st.DataObject) -> None:
    made: Any = vector(range(length))
    plain = [*range(length)]
    assert len(made) == length
    cut = data.draw(st.slices(length))
    assert [*made[cut]] == plain[cut]
    assert type(made[cut]) is Vector
    assert made.copy() == plain
    assert made == plain
    assert [*operator.add(made, [1])] == [*plain, 1]
    assert type(made * 2) is Vector
    assert [*(2 * made)] == plain * 2
    for index in {0, -1, length // 2, -length, length - 1} if length else ():
        assert made[index] == plain[index]
    for index in (length, -length - 1):
        with pytest.raises(IndexError):
            made[index]


@given(st.integers(1, 2200), st.data())
def test_changed_copies_are_those_of_a_list(length: int, data: st.DataObject) -> None:
    made, plain = vector(range(length)), [*range(length)]
    index = data.draw(st.integers(-length, length - 1))
    other, shorter = [*plain], [*plain]
    other[index] = -1
    del shorter[index]
    assert [*replace_item(made, index, -1)] == other
    assert fields(remove_item(made, index)) == fields(vector(shorter))
    places = data.draw(st.sets(st.integers(0, length - 1), max_size=5))
    changed = updated_vector(made, dict.fromkeys(places, -2), [7, 8])
    assert [*changed] == [*(-2 if at in places else at for at in plain), 7, 8]
    assert [*made] == plain


@pytest.mark.parametrize(
    "change", [lambda made: replace_item(made, 3, 0), lambda made: remove_item(made, -4)]
)
def test_an_index_that_is_not_there_is_an_error(change: Callable[[Any], object]) -> None:
    with pytest.raises(IndexError):
        change(vector([1, 2, 3]))


def test_a_vector_that_grows_keeps_no_room() -> None:
    made: Any = extend_vector(vector(range(8)), [8])
    assert sys.getsizeof(made._tail) == sys.getsizeof([0]) + 8 * 8


def test_a_list_is_extended_in_place_by_what_is_read_only() -> None:
    for items in (vector([2]), FrozenList([2])):
        plain: Any = [1]
        same = plain
        plain += items
        assert plain is same
        assert plain == [1, 2]
    assert type(operator.add(FrozenList([1]), [2])) is FrozenList
    assert type(FrozenList([1, 2])[:1]) is FrozenList
    with pytest.raises(TypeError):
        FrozenList([1]) + 2  # type: ignore[operator]
    with pytest.raises(TypeError):
        vector([1]) + 2  # type: ignore[operator]


def test_a_copy_is_ones_own() -> None:
    for made, own in ((vector([1]), [1]), (FrozenList([1]), [1]), (FrozenDict({"a": 1}), {"a": 1})):
        assert made.copy() == own
        assert type(made.copy()) is type(own)


def test_lists_are_made_once() -> None:
    made = frozen_list([1])
    assert frozen_list(made) is made
    assert frozen_list(()) is frozen_list([])
    assert frozen_list_or_none(None) is None
    assert frozen_list_or_none([1]) == made


# ---------------------------------------------------------------- every mutator is refused

READ_ONLY: dict[str, Any] = {
    "list": [vector([1, 2]), vector(), FrozenList([1, 2]), FrozenList()],
    "dict": [FrozenDict({"a": 1}), FrozenDict()],
    "set": [FrozenSet({1}), FrozenSet()],
}
OURS: dict[str, type] = {"list": list, "dict": dict, "set": set}
# What Python's own have that changes nothing.
READERS = {
    "list": {"copy", "count", "index"},
    "dict": {"copy", "get", "items", "keys", "values", "fromkeys"},
    "set": {
        *("copy", "difference", "intersection", "isdisjoint", "issubset", "issuperset"),
        *("symmetric_difference", "union"),
    },
}
OPERATORS = (
    "__setitem__",
    "__delitem__",
    "__iadd__",
    "__imul__",
    "__ior__",
    "__iand__",
    "__isub__",
    "__ixor__",
)


@pytest.mark.parametrize("kind", READ_ONLY)
def test_the_table_has_every_mutator_of_pythons_own(kind: Any) -> None:
    public = {name for name in dir(OURS[kind]) if name[0] != "_"} - READERS[kind]
    assert public | {name for name in OPERATORS if hasattr(OURS[kind], name)} <= set(MUTATORS[kind])


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, row in MUTATORS.items() for name in row])
def test_a_mutator_is_refused_with_what_to_make_instead(kind: Any, name: str) -> None:
    for made in READ_ONLY[kind]:
        before = repr(made)
        for arguments in ((), (0,), (0, 1), ("a",), ("a", 1), ([1],), (slice(0, 1), [2])):
            with pytest.raises(ImmutableWriteError, match=r"is refused; make a new one, such as ") as caught:
                getattr(made, name)(*arguments)
            assert caught.value.path[0] == "$"
        with pytest.raises(ImmutableWriteError):
            getattr(made, name)(key=1)
        assert repr(made) == before


STATEMENTS = (
    *("items += [2]", "items *= 2", "items[0] = 2", "del items[0]", "items[0:1] = []", "items[0] += 1"),
    *("entries['b'] = 1", "del entries['a']", "entries |= {'b': 1}", "entries['a'] += 1"),
    *("members |= {2}", "members -= {1}", "members &= {2}", "members ^= {1}"),
)


def test_statements_are_refused_as_calls_are() -> None:
    items: Any = vector([1])
    entries: Any = FrozenDict({"a": 1})
    members: Any = FrozenSet({1})
    for code in STATEMENTS:
        names = {"items": items, "entries": entries, "members": members}
        with pytest.raises(ImmutableWriteError):
            exec(code, names)  # noqa: S102 - statements of this test
        assert (names["items"], names["entries"], names["members"]) == (items, entries, members)


@pytest.mark.parametrize("kind", READ_ONLY)
def test_attributes_cannot_be_written_either(kind: Any) -> None:
    for made in READ_ONLY[kind]:
        before, state = repr(made), getattr(made, "_count", None)
        for name in ("temperature", "_dict", "_count", "_tail", "_hash", "__class__"):
            with pytest.raises(ImmutableWriteError, match="assigning an attribute is refused") as caught:
                setattr(made, name, 1)
            assert caught.value.path == json_path("$", name)
            with pytest.raises(ImmutableWriteError, match="deleting an attribute is refused"):
                delattr(made, name)
        assert (repr(made), getattr(made, "_count", None)) == (before, state)


def test_what_is_made_of_a_read_only_list_is_read_only() -> None:
    made = FrozenList([1, 2])
    others: list[Any] = [made * 2, 2 * made, made + FrozenList([3]), made[1:], copy.copy(made)]
    for other in (*others, copy.deepcopy(made)):
        with pytest.raises(ImmutableWriteError):
            other.append(1)
    assert made * 2 == 2 * made == (1, 2, 1, 2)


# ---------------------------------------------------------------- equality, hashes, pickles


class Counted:
    """A value that counts how often it is compared and hashed."""

    compared = hashed = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return isinstance(other, Counted) and self.number == other.number

    def __hash__(self) -> int:
        Counted.hashed += 1
        return hash(self.number)


def prefixes(count: int) -> Vector[Vector[Counted]]:
    """Vectors of 1, 2, ... values, each grown from the one before."""
    made: list[Vector[Counted]] = [vector()]
    for number in range(count):
        made.append(extend_vector(made[-1], [Counted(number)]))
    return vector(made)


@pytest.mark.parametrize("count", [40, 100, 400])
def test_vectors_that_share_nodes_are_compared_and_hashed_in_the_time_of_what_is_in_them(count: int) -> None:
    left, right = prefixes(count), prefixes(count)
    Counted.compared = Counted.hashed = 0
    assert left == right
    assert Counted.compared <= 2 * count
    assert hash(left) == hash(right)
    assert Counted.hashed <= 3 * count
    assert left[:-1] != right
    other = vector([*right[:-1], vector([*right[-1][:-1], Counted(-1)])])
    assert left != other


@given(st.lists(st.integers(0, 2) | st.lists(st.integers(0, 1), max_size=40), max_size=70), st.data())
@settings(deadline=None)
def test_equality_is_that_of_lists_and_equal_vectors_have_one_hash(
    items: list[Any], data: st.DataObject
) -> None:
    def made(values: list[Any]) -> Any:
        return vector(vector(each) if isinstance(each, list) else each for each in values)

    other = [*items]
    if other and data.draw(FLAGS):
        other[data.draw(st.integers(0, len(other) - 1))] = data.draw(st.sampled_from([0, [0] * 40]))
    assert (made(items) == made(other)) == (items == other)
    assert hash(made(items)) == hash(made([*items]))
    assert made(items) != tuple(items)
    assert made(items) != 7


@pytest.mark.parametrize("at", [0, 31, 32, 39, 1055])
def test_a_vector_differs_by_one_item_wherever_it_is(at: int) -> None:
    items = [*range(1100)]
    items[at] = -1
    assert vector(items) != vector(range(1100))
    assert vector(range(1100)) == vector([*range(1100)])


def test_a_comparison_that_raises_leaves_nothing_behind() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError

        def __hash__(self) -> int:
            raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            assert vector([Odd()] * 40) == vector([*[Odd()] * 39, Odd()])
        with pytest.raises(ZeroDivisionError):
            hash(vector([Odd()]))
    assert vector(range(40)) == vector(range(40))


@pytest.mark.parametrize("count", [100, 200, 400])
def test_a_pickle_has_each_shared_node_once(count: int) -> None:
    made: list[Vector[str]] = [vector()]
    for number in range(count):
        made.append(extend_vector(made[-1], [f"message {number}"]))
    text = pickle.dumps(made)
    assert len(text) < 500 * count
    again = pickle.loads(text)
    assert again == made
    assert again[-1]._root[0] is again[-2]._root[0]
    assert type(again[3]) is Vector
    assert copy.deepcopy(made) == made


# ---------------------------------------------------------------- what follows


@given(length=st.integers(0, 2200), more=st.integers(0, 40), shared=st.booleans())
@example(length=32, more=40, shared=True)  # the longer one has a level more
@example(length=1056, more=40, shared=True)
def test_what_follows_a_vector_is_found_whether_nodes_are_shared_or_not(
    length: int, more: int, shared: bool
) -> None:
    kept = vector(object() for _ in range(length))
    new = [object() for _ in range(more)]
    longer = extend_vector(kept, new) if shared else vector([*kept, *new])
    found = following(longer, kept)
    assert found is not None
    assert list(map(id, found)) == list(map(id, new))


@given(st.integers(1, 2200), st.integers(0, 40), st.data())
def test_nothing_follows_a_vector_that_another_does_not_begin_with(
    length: int, more: int, data: st.DataObject
) -> None:
    kept = vector(object() for _ in range(length))
    other = [*kept, *(object() for _ in range(more))]
    other[data.draw(st.integers(0, length - 1))] = object()
    assert following(vector(other), kept) is None
    assert following(vector(other[: length - 1]), kept) is None


def test_finding_what_follows_looks_at_few_nodes_of_a_vector_that_grew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    same = vectors._same_nodes

    def counting(kept: list[Any], longer: list[Any], shift: int) -> bool:
        looked.append(shift)
        return same(kept, longer, shift)

    monkeypatch.setattr(vectors, "_same_nodes", counting)
    kept = vector(range(100_000))
    assert following(extend_vector(kept, range(70)), kept) == list(range(70))
    grown = len(looked)
    assert following(vector([*kept]), kept) == []
    assert grown <= 32 * 3
    assert len(looked) > 1_000


def test_the_hash_of_a_mapping_is_made_once() -> None:
    class Counted(str):
        __slots__ = ()
        hashed: list[str] = []  # noqa: RUF012 - counts for all

        def __hash__(self) -> int:
            self.hashed.append(self)
            return super().__hash__()

    made = vectors.FrozenDict({Counted("a"): 1})
    Counted.hashed.clear()
    first = hash(made)
    count = len(Counted.hashed)
    assert (hash(made), len(Counted.hashed)) == (first, count)
