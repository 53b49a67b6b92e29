"""The heap: earlier heaps stay, clones share nothing, and a naive walk finds what is printed and reached."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import ImmutableWriteError
from agentcore.heap.heap import (
    DEEPEST,
    UNDEFINED,
    DataCloneError,
    DateCell,
    DepthError,
    ErrorCell,
    Function,
    Heap,
    HeapTypeError,
    ObjectCell,
    PatternCell,
    Ref,
    Store,
    keyed,
    number,
)
from agentcore.kit.emulate import StepCell
from agentcore.kit.program import MAX_DEPTH

FUNCTION: Final = Function(name="f")
SCALARS: Final = st.sampled_from((None, True, False, 0, 1, 0.5, "", "x", FUNCTION))
SIZE: Final = 6


@st.composite
def slots(draw: st.DrawFn) -> Any:
    """A scalar, or a reference into a store of SIZE cells."""
    return draw(SCALARS | st.builds(Ref, st.integers(0, SIZE - 1)))


CELLS: Final = st.one_of(
    st.lists(slots(), max_size=3).map(tuple),
    st.dictionaries(st.sampled_from("abc"), slots(), max_size=3).map(ObjectCell),
)
GRAPHS: Final = st.lists(CELLS, min_size=SIZE, max_size=SIZE)


def store_of(cells: list[Any]) -> Store:
    store = Store()
    store.cells.extend(cells)
    return store


# ---------------------------------------------------------------- references of the tests


def naive_plain(store: Store, slot: Any, above: tuple[int, ...] = ()) -> Any:
    if not isinstance(slot, Ref):
        return None if isinstance(slot, Function) else slot
    if slot.address in above:
        return {"cycle": len(above) - above.index(slot.address)}
    above = (*above, slot.address)
    cell = store.cells[slot.address]
    if isinstance(cell, tuple):
        return [naive_plain(store, item, above) for item in cell]
    kept = {key: item for key, item in cell.items() if not isinstance(item, Function)}
    return {key: naive_plain(store, item, above) for key, item in kept.items()}


def naive_paths(heap: Heap, root: Ref) -> dict[int, list[tuple[Any, ...]]]:
    """All shortest paths to each address, by widening rings."""
    found: dict[int, list[tuple[Any, ...]]] = {root.address: [()]}
    ring: dict[int, list[tuple[Any, ...]]] = found.copy()
    while ring:
        wider: dict[int, list[tuple[Any, ...]]] = {}
        for address, paths in ring.items():
            for key, slot in keyed(heap.cells[address]):
                if isinstance(slot, Ref) and slot.address not in found:
                    wider.setdefault(slot.address, []).extend((*path, key) for path in paths)
        found |= wider
        ring = wider
    return found


def snapshot(store: Store) -> list[Any]:
    return copy.deepcopy([(type(cell), list(keyed(cell))) for cell in store.cells])


# ---------------------------------------------------------------- earlier heaps

WRITES: Final = st.one_of(
    st.tuples(st.just("cell"), st.integers(0, SIZE - 1), CELLS),
    st.tuples(st.just("new"), st.just(0), CELLS),
    st.tuples(st.just("clone"), st.integers(0, SIZE - 1), st.none()),
    st.tuples(st.just("seal"), st.integers(0, SIZE - 1), st.none()),
    st.tuples(st.just("heap"), st.just(0), st.none()),
)


@given(GRAPHS, st.lists(WRITES, max_size=15))
def test_a_heap_is_what_the_store_was_when_it_was_taken_whatever_is_written_later(
    graph: list[Any], writes: list[Any]
) -> None:
    store = store_of(graph)
    taken: list[tuple[Heap, list[Any], set[int]]] = []
    for verb, address, cell in [*writes, ("heap", 0, None)]:
        if verb == "cell" and address not in store.sealed:
            store.replace(Ref(address), cell)
        elif verb == "new":
            store.cells.append(cell)
        elif verb == "seal":
            store.seal(Ref(address))
        elif verb == "clone" and not reaches_function(store, address):
            store.clone(Ref(address))
        elif verb == "heap":
            taken.append((store.heap(), snapshot(store), set(store.sealed)))
    for heap, cells, sealed in taken:
        assert [(type(cell), list(keyed(cell))) for cell in heap.cells] == cells
        assert heap.sealed == sealed
        assert isinstance(hash(heap), int)


def reaches_function(store: Store, address: int) -> bool:
    reached = store.heap().reached(Ref(address))
    return any(isinstance(slot, Function) for at in reached for _, slot in keyed(store.cells[at]))


def test_a_heap_keeps_the_cells_that_did_not_change() -> None:
    store = Store()
    first, second = store.load([1]), store.load([2])
    before = store.heap()
    store.push(first, [3])
    after = store.heap()
    assert after.cell(second) is before.cell(second)
    assert (before.cell(first), after.cell(first)) == ((1,), (1, 3))
    with pytest.raises(IndexError):
        before.cell(Ref(99))


def test_heaps_are_equal_and_hashed_by_value() -> None:
    heaps = []
    for _ in range(2):
        store = Store()
        store.load({"a": [1, {"b": None}]})
        heaps.append(store.heap())
    assert heaps[0] == heaps[1]
    assert hash(heaps[0]) == hash(heaps[1])


# ---------------------------------------------------------------- cells


@pytest.mark.parametrize("kind", [ObjectCell, ErrorCell, StepCell])
def test_no_method_of_a_cell_writes(kind: type[ObjectCell]) -> None:
    cell = kind({"a": 1})
    arguments: dict[str, tuple[Any, ...]] = {
        "__setitem__": ("a", 2),
        "__delitem__": ("a",),
        "__ior__": ({"a": 2},),
        "clear": (),
        "pop": ("a",),
        "popitem": (),
        "setdefault": ("b", 2),
        "update": ({"a": 2},),
    }
    for method, given_arguments in arguments.items():
        with pytest.raises(ImmutableWriteError, match=f"an {kind.__name__} never changes"):
            getattr(cell, method)(*given_arguments)
    assert dict(cell) == {"a": 1}
    # Whatever else a dict has must be known not to write.
    reads = {"copy", "fromkeys", "get", "items", "keys", "values"}
    assert {name for name in dir(dict) if name[0] != "_"} - set(arguments) == reads


def test_cells_are_values_whose_kind_counts() -> None:
    cell = ObjectCell({"a": Ref(1), "b": "x"})
    assert cell == ObjectCell({"b": "x", "a": Ref(1)})
    assert hash(cell) == hash(ObjectCell({"b": "x", "a": Ref(1)}))
    assert cell != ErrorCell(cell)
    assert cell != {"a": Ref(1), "b": "x"}
    assert copy.copy(cell) is copy.deepcopy(cell) is cell
    assert pickle.loads(pickle.dumps(cell)) == cell
    assert not hasattr(cell, "__dict__")


def test_undefined_is_one_falsy_thing() -> None:
    assert not UNDEFINED
    assert copy.deepcopy(UNDEFINED) is UNDEFINED
    assert repr(UNDEFINED) == "UNDEFINED"


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("value", "held"),
    [
        (2**53, 2**53),
        # node -e 'console.log(9007199254740993, 18446744073709551616, 12345678901234567890, -(2**63))'
        (2**53 + 1, 9007199254740992),
        (2**64, 18446744073709552000),
        (12345678901234567890, 12345678901234567000),
        (-(2**63), -9223372036854776000),
        (1.0, 1),
        (-0.0, 0),
        (1e20, 10**20),
        (1e21, 1e21),
        (10**21, 1e21),
        (0.5, 0.5),
        (5e-324, 5e-324),
    ],
)
def test_a_number_is_held_as_javascript_holds_it(value: float, held: float) -> None:
    assert (type(number(value)), number(value)) == (type(held), held)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_what_json_has_no_number_for_is_refused(value: float) -> None:
    with pytest.raises(HeapTypeError, match="JSON"):
        number(value)


# ---------------------------------------------------------------- loading


class Word(str):
    __slots__ = ()


class Count(int):
    __slots__ = ()


class Share(float):
    __slots__ = ()


def test_subclasses_of_text_and_numbers_are_loaded_as_what_they_are_a_kind_of() -> None:
    store = Store()
    loaded = [store.load(value) for value in (Word("x"), Count(3), Share(0.5))]
    assert [(type(slot), slot) for slot in loaded] == [(str, "x"), (int, 3), (float, 0.5)]
    assert store.plain(store.load({Word("a"): 1})) == {"a": 1}


def test_undefined_is_left_out_of_objects_and_null_in_arrays() -> None:
    store = Store()
    assert store.load(UNDEFINED) is UNDEFINED
    assert store.plain(store.load({"a": UNDEFINED, "b": [UNDEFINED]})) == {"b": [None]}
    assert store.plain(store.object({"a": UNDEFINED, "b": 1})) == {"b": 1}
    assert store.plain(UNDEFINED) is None


def test_references_and_functions_are_kept_when_loaded() -> None:
    store = Store()
    inside = store.load([1])
    outside = store.load({"a": inside, "f": FUNCTION})
    assert store.cells[outside.address] == ObjectCell({"a": inside, "f": FUNCTION})


def test_a_value_inside_itself_is_loaded_as_such() -> None:
    value: dict[str, Any] = {"a": []}
    value["a"].append(value)
    store = Store()
    assert store.plain(store.load(value)) == {"a": [{"cycle": 2}]}


# ---------------------------------------------------------------- printing, cloning, reaching


@given(GRAPHS, st.lists(st.tuples(st.integers(0, SIZE - 1), CELLS), max_size=4))
def test_a_value_prints_as_a_naive_walk_prints_it_after_every_write(
    graph: list[Any], writes: list[tuple[int, Any]]
) -> None:
    store = store_of(graph)
    for address, cell in [(0, graph[0]), *writes]:
        store.replace(Ref(address), cell)
        for root in range(SIZE):
            assert store.plain(Ref(root)) == naive_plain(store, Ref(root))


@given(GRAPHS)
def test_a_clone_shares_nothing_and_keeps_the_sharing_inside(graph: list[Any]) -> None:
    store = store_of(graph)
    if reaches_function(store, 0):
        with pytest.raises(DataCloneError, match="f could not be cloned"):
            store.clone(Ref(0))
        return
    clone = store.clone(Ref(0))
    assert isinstance(clone, Ref)
    heap = store.heap()
    original, copied = heap.reached(Ref(0)), heap.reached(clone)
    assert not set(original) & set(copied)
    # The same paths lead to the same places: walks meet the copies in the order of the originals.
    assert list(original.values()) == list(copied.values())
    twin = dict(zip(original, copied, strict=True))
    for address, other in twin.items():
        moved = [
            (key, Ref(twin[slot.address]) if isinstance(slot, Ref) else slot)
            for key, slot in keyed(heap.cells[address])
        ]
        assert list(keyed(heap.cells[other])) == moved


@given(GRAPHS)
def test_what_is_reached_is_what_widening_rings_reach_by_a_shortest_path(graph: list[Any]) -> None:
    heap = store_of(graph).heap()
    reached, naive = heap.reached(Ref(0)), naive_paths(heap, Ref(0))
    assert set(reached) == set(naive)
    for address, path in reached.items():
        assert path in naive[address]
    assert [len(path) for path in reached.values()] == sorted(len(path) for path in reached.values())


def test_a_scalar_reaches_nothing_and_is_its_own_clone() -> None:
    assert Store().heap().reached("x") == {}
    assert Store().clone("x") == "x"
    with pytest.raises(DataCloneError):
        Store().clone(FUNCTION)


@pytest.mark.parametrize(
    ("error", "cloned"),
    [
        # node -e 'const e = new TypeError("m"); e.extra = 1; const c = structuredClone(e);
        #          console.log(c.name, c.message, Object.keys(c))'
        ({"name": "TypeError", "message": "m", "extra": 1}, {"name": "TypeError", "message": "m"}),
        ({"name": "AI_NoSuchToolError", "message": "m"}, {"name": "Error", "message": "m"}),
        ({}, {"name": "Error"}),
    ],
)
def test_a_clone_of_an_error_keeps_its_message_and_a_name_of_the_language(error: Any, cloned: Any) -> None:
    store = Store()
    copied = store.clone(store.object(error, ErrorCell))
    assert isinstance(copied, Ref)
    assert store.cells[copied.address] == ErrorCell(cloned)


@pytest.mark.parametrize(
    ("cell", "cloned"),
    [
        # node -e 'const d = new Date(0), r = /a/; d.x = r.x = 1;
        #          console.log(structuredClone(d).x, structuredClone(r).x)'
        (DateCell({"time": 0, "x": 1}), DateCell({"time": 0})),
        (PatternCell({"x": 1}), PatternCell()),
    ],
)
def test_a_clone_of_a_date_or_a_pattern_has_nothing_that_was_put_there(cell: Any, cloned: Any) -> None:
    store = Store()
    copied = store.clone(store.object(dict(cell), type(cell)))
    assert isinstance(copied, Ref)
    assert store.cells[copied.address] == cloned


def test_a_clone_of_a_step_result_has_lost_the_computed_fields() -> None:
    store = Store()
    copied = store.clone(store.object({"content": 1}, StepCell))
    assert isinstance(copied, Ref)
    assert store.cells[copied.address] == ObjectCell({"content": 1})


# ---------------------------------------------------------------- writing


def test_a_frozen_cell_refuses_writes_and_so_does_all_below_it() -> None:
    store = Store()
    root = store.load({"a": [{}]})
    store.seal(root)
    store.seal("nothing to freeze")
    for address in store.heap().reached(root):
        with pytest.raises(HeapTypeError, match="frozen"):
            store.replace(Ref(address), ())


def test_a_field_of_an_array_and_an_element_of_an_object_are_refused() -> None:
    store = Store()
    with pytest.raises(HeapTypeError, match="an array has no field 'a'"):
        store.put(store.array([]), "a", 1)
    with pytest.raises(HeapTypeError, match="push is not a function"):
        store.push(store.object({}), [1])


def test_writes_keep_the_kind_of_a_cell() -> None:
    store = Store()
    step = store.object({}, StepCell)
    store.put(step, "content", 1)
    assert store.cells[step.address] == StepCell({"content": 1})


def test_origins_are_kept_while_watching_and_only_then() -> None:
    store = Store()
    first, second = store.load([1]), store.load([2])
    store.derive(second, first)
    assert store.origins == {}
    store.watching = True
    store.derive(second, first, "a scalar")
    store.derive(second, first, fields=frozenset({"a"}))
    assert store.origins == {second.address: ((first.address, None), (first.address, frozenset({"a"})))}
    copied = store.clone(first)
    assert isinstance(copied, Ref)
    assert store.origins[copied.address] == ((first.address, None),)


# ---------------------------------------------------------------- depth


@pytest.mark.parametrize("levels", [MAX_DEPTH, DEEPEST])
@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}])
def test_a_value_as_deep_as_programs_and_hooks_make_it_is_loaded_printed_and_cloned(
    levels: int, wrap: Any
) -> None:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    store = Store()
    slot = store.load(value)
    assert store.plain(store.clone(slot)) == store.plain(slot) == value


def test_what_is_deeper_is_refused_by_name() -> None:
    store = Store()
    slot = store.array([])
    for _ in range(DEEPEST + 1):
        slot = store.array([slot])
    for walk in (store.plain, store.clone):
        with pytest.raises(DepthError, match="make it flatter") as caught:
            walk(slot)
        assert caught.value.name == "RangeError"


def test_depth_is_seen_when_it_was_printed_level_by_level() -> None:
    store = Store()
    slot = store.array([])
    for _ in range(DEEPEST):
        store.plain(slot)
        slot = store.array([slot])
    store.plain(slot)
    with pytest.raises(DepthError):
        store.plain(store.array([slot]))


def test_depth_beside_a_cycle_is_refused_by_name() -> None:
    store = Store()
    inside_itself = store.array([])
    store.push(inside_itself, [inside_itself])
    deep = store.array([])
    for _ in range(DEEPEST):
        deep = store.array([deep])
    with pytest.raises(DepthError):
        store.plain(store.array([inside_itself, deep]))


@pytest.mark.parametrize("round_", [False, True])
def test_a_caller_deep_in_its_own_recursion_gets_the_typed_error_and_the_store_stays_whole(
    round_: bool,
) -> None:
    store = Store()
    levels = 300
    slot = store.array([])
    for _ in range(levels):
        slot = store.array([slot])
    if round_:
        first = store.array([])
        store.push(first, [first])
        slot = store.array([first, slot])

    def below(frames: int) -> Any:
        return below(frames - 1) if frames else store.plain(slot)

    with pytest.raises(DepthError):
        below(sys.getrecursionlimit() - len(inspect.stack(0)) - levels // 2)
    assert store.plain(slot) == naive_plain(store, slot)
