"""Views do to the heap what the same Python does to dicts and lists: results, exceptions, and sharing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentcore.heap.heap import (
    DEEPEST,
    DepthError,
    Function,
    HeapTypeError,
    HostValueError,
    Store,
)
from agentcore.heap.views import ArrayView, Desk, ObjectView, View
from agentcore.kit.emulate import StepCell

# ---------------------------------------------------------------- the same ops on both

KEYS: Final = ("a", "b", "c")
LARGEST: Final = 12

Operand: TypeAlias = tuple[str, Any]
Op: TypeAlias = tuple[str, int, tuple[Operand, ...]]

SCALARS: Final = st.sampled_from((None, True, 0, 1, 2, -1, 0.5, "x", "y", ""))
FRESH: Final[dict[str, Callable[[], Any]]] = {
    "{}": dict,
    "[]": list,
    "{a: [1]}": lambda: {"a": [1]},
    "[1, {}]": lambda: [1, {}],
    "twice": lambda: [[]] * 2,
}
OPERANDS: Final = st.one_of(
    st.tuples(st.just("scalar"), SCALARS),
    st.tuples(st.just("fresh"), st.sampled_from(tuple(FRESH))),
    # An object that is somewhere already: the n-th of those that can be reached.
    st.tuples(st.just("known"), st.integers(0, 9)),
)
INDEXES: Final = st.integers(-4, 4)
SLICES: Final = st.builds(
    slice,
    st.none() | INDEXES,
    st.none() | INDEXES,
    st.none() | st.sampled_from((-2, -1, 1, 2)),
)
ANY_KEY: Final = st.one_of(st.sampled_from(KEYS), INDEXES, SLICES, st.just(()))


CONTAINERS: Final = (dict, list, tuple, View)


def objects(root: Any) -> list[Any]:
    """All that can be reached, each once, in an order that is the same for equal structures."""
    found: list[Any] = []
    seen: set[object] = set()
    queue = [root]
    for value in queue:
        if identity(value) in seen or not isinstance(value, CONTAINERS):
            continue
        seen.add(identity(value))
        found.append(value)
        children: Any = value.values() if isinstance(value, dict | ObjectView) else value
        queue.extend(children)
    return found


def identity(value: Any) -> object:
    return ("cell", value.ref.address) if isinstance(value, View) else id(value)


def shape(root: Any) -> list[Any]:
    """A value as data: objects by number, so that equal shapes are equal values with equal sharing."""
    known = objects(root)
    number = {identity(value): index for index, value in enumerate(known)}

    def slot(value: Any) -> Any:
        is_object = isinstance(value, CONTAINERS)
        return ("object", number[identity(value)]) if is_object else (type(value), value)

    return [
        [(key, slot(item)) for key, item in value.items()]
        if isinstance(value, dict | ObjectView)
        else [slot(item) for item in value]
        for value in known
    ]


def operand(given_operand: Operand, root: Any) -> Any:
    kind, value = given_operand
    if kind == "fresh":
        return FRESH[value]()
    return objects(root)[value % len(objects(root))] if kind == "known" else value


def by_text(value: Any) -> str:
    return value if isinstance(value, str) else "~"


def failing(value: Any) -> Any:
    return {"x": 0}[value]


def grown(target: Any, key: Any) -> None:
    """Adds while iterating."""
    for count, _ in enumerate(target):
        if count > LARGEST:
            break
        if isinstance(target, dict | ObjectView):
            target[f"new {count}"] = key
        else:
            target.append(key)


def shrunk(target: Any) -> list[Any]:
    """Takes out while iterating, and tells what was seen."""
    seen = []
    for item in target:
        seen.append(item)
        if isinstance(target, dict | ObjectView):
            del target[item]
        else:
            del target[0]
    return seen


def put(target: Any, key: Any, value: Any) -> None:
    # Field names are text, which a dict does not ask for.
    target[str(key) if isinstance(target, dict | ObjectView) else key] = value


def put_slice(target: Any, key: slice, value: Any) -> None:
    # Since Python 3.12 a slice has a hash, so that a dict takes it for a key. A field name is always text.
    if isinstance(target, dict):
        raise TypeError("a field name is text")
    target[key] = value


def added_to(target: Any, value: Any) -> Any:
    before = target
    target += value
    return before is target


def joined_to(target: Any, value: Any) -> Any:
    before = target
    target |= value
    return before is target


def repeated(target: Any, times: Any) -> Any:
    before = target
    target *= times
    return before is target


OPS: Final[dict[str, tuple[Callable[..., Any], tuple[st.SearchStrategy[Any], ...]]]] = {
    "get": (lambda t, k: t[k], (ANY_KEY,)),
    "set": (put, (ANY_KEY, OPERANDS)),
    "set slice": (lambda t, k, v: put_slice(t, k, [v, v]), (SLICES, OPERANDS)),
    "set slice to itself": (lambda t, k: put_slice(t, k, t), (SLICES,)),
    "del": (lambda t, k: t.__delitem__(k), (ANY_KEY,)),
    "append": (lambda t, v: t.append(v), (OPERANDS,)),
    "insert": (lambda t, k, v: t.insert(k, v), (INDEXES, OPERANDS)),
    "extend": (lambda t, v: t.extend(v), (OPERANDS,)),
    "extend by one object twice": (lambda t, v: t.extend([v, v]), (OPERANDS,)),
    "+=": (added_to, (OPERANDS,)),
    "*=": (repeated, (st.sampled_from((0, 1, 2, "x")),)),
    "|=": (joined_to, (OPERANDS,)),
    "update": (lambda t, v: t.update(v), (OPERANDS,)),
    "update by pairs": (lambda t, k, v: t.update([(k, v)]), (st.sampled_from(KEYS), OPERANDS)),
    "update by name": (lambda t, v: t.update(c=v), (OPERANDS,)),
    "setdefault": (lambda t, k, v: t.setdefault(k, v), (st.sampled_from(KEYS), OPERANDS)),
    "append to default": (lambda t, k: t.setdefault(k, []).append(1), (st.sampled_from(KEYS),)),
    "pop": (lambda t: t.pop(), ()),
    "pop key": (lambda t, k: t.pop(k), (st.sampled_from(KEYS) | INDEXES,)),
    "pop key or": (lambda t, k: t.pop(k, "none"), (st.sampled_from(KEYS),)),
    "popitem": (lambda t: t.popitem(), ()),
    "remove": (lambda t, v: t.remove(v), (OPERANDS,)),
    "reverse": (lambda t: t.reverse(), ()),
    "sort": (lambda t, r: t.sort(reverse=r), (st.booleans(),)),
    "sort by key": (lambda t, r: t.sort(key=by_text, reverse=r), (st.booleans(),)),
    "sort by failing key": (lambda t: t.sort(key=failing), ()),
    "sort while changed": (lambda t: t.sort(key=lambda _: t.append(1) or 0), ()),
    "clear": (lambda t: t.clear(), ()),
    "iterate": (list, ()),
    "iterate backwards": (lambda t: list(reversed(t)), ()),
    "iterate and add": (grown, (SCALARS,)),
    "iterate and take": (shrunk, ()),
    "keys": (lambda t: list(t.keys()), ()),
    "values": (lambda t: list(t.values()), ()),
    "items": (lambda t: list(t.items()), ()),
    "get or": (lambda t, k: t.get(k, "none"), (st.sampled_from(KEYS),)),
    "in": (lambda t, v: v in t, (OPERANDS,)),
    "len": (len, ()),
    "bool": (bool, ()),
    "index": (lambda t, v, a, b: t.index(v, a, b), (OPERANDS, INDEXES, INDEXES)),
    "count": (lambda t, v: t.count(v), (OPERANDS,)),
    "==": (lambda t, v: t == v, (OPERANDS,)),
    "== reflected": (lambda t, v: v == t, (OPERANDS,)),
    "!=": (lambda t, v: t != v, (OPERANDS,)),
    "<": (lambda t, v: t < v, (OPERANDS,)),
    "<=": (lambda t, v: t <= v, (OPERANDS,)),
    ">": (lambda t, v: t > v, (OPERANDS,)),
    ">=": (lambda t, v: t >= v, (OPERANDS,)),
    "+": (lambda t, v: t + v, (OPERANDS,)),
    "+ reflected": (lambda t, v: v + t, (OPERANDS,)),
    "*": (lambda t, n: t * n, (st.sampled_from((0, 2, "x")),)),
    "* reflected": (lambda t, n: n * t, (st.sampled_from((0, 2)),)),
    "|": (lambda t, v: t | v, (OPERANDS,)),
    "| reflected": (lambda t, v: v | t, (OPERANDS,)),
    "hash": (hash, ()),
    "copy": (copy.copy, ()),
    "copy method": (lambda t: t.copy(), ()),
    "deepcopy": (copy.deepcopy, ()),
    "deepcopy of two": (lambda t, v: copy.deepcopy([t, v, t]), (OPERANDS,)),
    "dict": (dict, ()),
    "unpack": (lambda t: {**t}, ()),
}


@st.composite
def ops(draw: st.DrawFn) -> Op:
    name = draw(st.sampled_from(tuple(OPS)))
    return name, draw(st.integers(0, 9)), tuple(draw(strategy) for strategy in OPS[name][1])


def run(root: Any, op: Op) -> Any:
    """What an op gives on the n-th object: the shape of its result, or the kind of its exception."""
    name, target, arguments = op
    function, strategies = OPS[name]
    known = objects(root)
    values = [
        operand(value, root) if strategy is OPERANDS else value
        for value, strategy in zip(arguments, strategies, strict=True)
    ]
    try:
        return shape([function(known[target % len(known)], *values)])
    except (TypeError, ValueError, LookupError, AttributeError, RuntimeError) as error:
        # A dict says KeyError where its view does; other families are compared by their built-in base.
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def grows_too_much(root: Any) -> bool:
    """Whether sizes would double at each op from now on."""
    return len(objects(root)) > 2 * LARGEST or any(len(value) > LARGEST for value in objects(root))


def start() -> Any:
    return {"a": [3, "x", 1], "b": {"a": {}}, "c": [[], {}]}


@given(st.lists(ops(), max_size=25))
@example([("set", 0, ("a", ("known", 0))), ("==", 0, (("known", 0),)), ("deepcopy", 0, ())])
def test_views_and_plain_dicts_and_lists_agree_on_every_sequence_of_ops(sequence: list[Op]) -> None:
    plain = start()
    desk = Desk(Store())
    view = desk.view(desk.slot(start()))
    for op in sequence:
        if grows_too_much(plain):
            break
        assert run(view, op) == run(plain, op), op
        assert shape(view) == shape(plain), op
    assert shape(view.thaw()) == shape(plain)


@pytest.mark.parametrize("name", OPS)
def test_every_op_agrees_on_an_object_and_on_an_array(name: str) -> None:
    @given(st.tuples(st.just(name), st.integers(0, 4), st.tuples(*OPS[name][1])))
    def agree(op: Op) -> None:
        plain = start()
        desk = Desk(Store())
        view = desk.view(desk.slot(start()))
        assert run(view, op) == run(plain, op)
        assert shape(view) == shape(plain)

    agree()


# ---------------------------------------------------------------- single facts


@pytest.fixture
def desk() -> Desk:
    return Desk(Store())


@pytest.mark.parametrize("key", [slice(None), slice(0, 1), 0, None, (1,)], ids=repr)
def test_what_is_no_text_is_no_field_name(desk: Desk, key: object) -> None:
    view = desk.view(desk.slot({"a": 1}))
    with pytest.raises(HeapTypeError, match="a field name is text"):
        view[key] = 2
    assert view.thaw() == {"a": 1}


def test_what_setdefault_gives_is_live(desk: Desk) -> None:
    view = desk.view(desk.slot({}))
    view.setdefault("a", []).append(1)
    assert view == {"a": [1]}


def test_a_view_put_into_a_value_keeps_the_reference(desk: Desk) -> None:
    message = desk.view(desk.slot({"role": "user"}))
    listed = desk.view(desk.slot([message, {"again": message}]))
    message["role"] = "system"
    assert listed == [{"role": "system"}, {"again": {"role": "system"}}]
    assert listed[0].is_same(listed[1]["again"])


def test_a_view_of_another_store_is_copied_in(desk: Desk) -> None:
    other = Desk(Store())
    theirs = other.view(other.slot([0, {"a": [1]}]))
    mine = desk.view(desk.slot({"theirs": theirs}))
    theirs[1]["a"].append(2)
    assert mine == {"theirs": [0, {"a": [1]}]}
    assert not mine["theirs"].is_same(theirs)


def test_one_plain_object_twice_in_a_value_is_one_cell(desk: Desk) -> None:
    shared = {"n": 1}
    view = desk.view(desk.slot({"a": shared, "b": [shared]}))
    view["a"]["n"] = 2
    assert view["b"][0]["n"] == 2


def test_one_tuple_twice_in_a_value_is_two_arrays(desk: Desk) -> None:
    shared = (1,)
    view = desk.view(desk.slot([shared, shared]))
    view[0].append(2)
    assert view == [[1, 2], [1]]


def test_iteration_ends_where_other_keys_come_even_if_as_many(desk: Desk) -> None:
    view = desk.view(desk.slot({"a": 1, "b": 2}))
    keys = iter(view)
    view["a'"] = view.pop(next(keys))
    with pytest.raises(RuntimeError, match="dictionary keys changed during iteration"):
        next(keys)
    assert view == {"b": 2, "a'": 1}


def test_a_field_name_is_text(desk: Desk) -> None:
    view = desk.view(desk.slot({}))
    with pytest.raises(HeapTypeError, match="a field name is text, not int"):
        view[1] = "x"
    with pytest.raises(HeapTypeError, match="a field name is text, not int"):
        view["a"] = {1: "x"}
    assert view == {}


def test_values_that_are_no_json_are_refused_and_nothing_is_written(desk: Desk) -> None:
    view = desk.view(desk.slot([1]))
    for value in (b"x", {1}, float("nan"), float("inf"), 10**400, [1, {"a": Decimal(1)}]):
        with pytest.raises(HostValueError):
            view.append(value)
    with pytest.raises(HostValueError):
        view.extend([2, {3}])
    assert view == [1]
    assert desk.journal == []


def test_a_frozen_object_refuses_every_write(desk: Desk) -> None:
    view = desk.view(desk.slot({"a": [2, 1]}))
    desk.store.seal(view.ref)
    writes: tuple[Callable[[], Any], ...] = (
        lambda: view.update(a=1),
        view.clear,
        view["a"].sort,
        lambda: view["a"].append(1),
        lambda: view["a"].__setitem__(0, 1),
    )
    for write in writes:
        with pytest.raises(HeapTypeError, match="frozen"):
            write()
    assert view == {"a": [2, 1]}
    assert desk.journal == []


def test_a_deep_copy_shares_what_the_original_shares_and_keeps_functions(desk: Desk) -> None:
    function = Function(name="execute", call=len)
    view = desk.view(desk.store.load({"f": function, "a": [1]}))
    view["b"] = view["a"]
    view["self"] = view
    copied, again = copy.deepcopy([view, view["a"]])
    assert copied["self"] is copied
    assert copied["a"] is copied["b"] is again
    assert copied["f"] is function
    copied["a"].append(2)
    assert view["a"] == [1]


def test_a_clone_is_a_view_of_new_cells(desk: Desk) -> None:
    view = desk.view(desk.slot({"a": [1]}))
    clone = view.clone()
    clone["a"].append(2)
    assert (view, clone) == ({"a": [1]}, {"a": [1, 2]})


def test_a_view_shows_the_value(desk: Desk) -> None:
    view = desk.view(desk.slot({"a": [1, None, "x"]}))
    assert repr(view) == "{'a': [1, None, 'x']}"


@pytest.mark.parametrize("value", [None, True, 1, 0.5, "x"])
def test_a_scalar_is_its_own_view(desk: Desk, value: Any) -> None:
    assert desk.view(desk.slot(value)) is value


# ---------------------------------------------------------------- step results


@pytest.fixture
def step(desk: Desk) -> Any:
    store = desk.store
    content = store.load([{"type": "text", "text": "x"}, {"type": "tool-call", "toolCallId": "c"}])
    return desk.view(store.object({"content": content}, StepCell), ("onStepFinish",))


def test_computed_fields_are_read_and_tested_for_but_not_listed(step: Any) -> None:
    assert step["text"] == "x"
    assert step.get("toolCalls") == [{"type": "tool-call", "toolCallId": "c"}]
    assert "toolResults" in step
    assert "anything" not in step
    assert list(step) == ["content"]
    with pytest.raises(KeyError):
        step["anything"]


def test_a_computed_list_is_new_at_each_reading_and_has_the_contents_own_parts(step: Any) -> None:
    step["toolCalls"].append(1)
    step["toolCalls"][0]["toolCallId"] = "d"
    assert step["content"][1]["toolCallId"] == "d"
    assert step["toolCalls"] == [{"type": "tool-call", "toolCallId": "d"}]


def test_a_computed_field_cannot_be_written_and_deleting_it_does_nothing(step: Any) -> None:
    with pytest.raises(HeapTypeError, match="only a getter"):
        step["text"] = "y"
    del step["text"]
    assert step["text"] == "x"
    step["extra"] = 1
    del step["extra"]
    assert list(step) == ["content"]


# ---------------------------------------------------------------- the journal


def test_every_write_is_entered_with_its_handle_and_what_was_there(desk: Desk) -> None:
    view = desk.view(desk.slot({"a": [1], "b": 2}), ("prepareStep",))
    heard: list[int] = []
    desk.on_write = lambda write: heard.append(write.number)
    desk.step, desk.hook = 3, "prepareStep"
    view["b"] = {"n": 1}
    view["a"].insert(-9, 0)
    view["a"][-1] = 5
    del view["a"][0]
    view["a"][:] = [7, 8]
    view["a"].reverse()
    del view["b"]
    entries = [(w.handle, w.key, w.operation, w.before, w.after) for w in desk.journal]
    inside = ("prepareStep", "a")
    assert entries == [
        (("prepareStep",), "b", "set", 2, {"n": 1}),
        (inside, 0, "insert", None, 0),
        (inside, 1, "set", 1, 5),
        (inside, 0, "remove", 0, None),
        (inside, None, "splice", [5], [7, 8]),
        (inside, None, "reverse", [7, 8], [8, 7]),
        (("prepareStep",), "b", "delete", {"n": 1}, None),
    ]
    assert heard == list(range(7))
    assert {(w.step, w.hook, w.size) for w in desk.journal} == {(3, "prepareStep", 3)}


def test_each_element_of_an_extension_has_its_entry(desk: Desk) -> None:
    view = desk.view(desk.slot([0]))
    view += (value for value in (1, 2))
    assert [(w.key, w.after) for w in desk.journal] == [(1, 1), (2, 2)]


def test_a_sort_that_moves_nothing_writes_nothing(desk: Desk) -> None:
    desk.view(desk.slot([1, 2])).sort()
    assert desk.journal == []


def test_what_the_journal_says_was_there_does_not_change_afterwards(desk: Desk) -> None:
    view = desk.view(desk.slot({"a": {"n": 1}}))
    inner = view["a"]
    view["a"] = 0
    inner["n"] = 2
    assert desk.journal[0].before == {"n": 1}


# ---------------------------------------------------------------- depth


def nested(levels: int) -> Iterator[Any]:
    objects_: Any = 1
    arrays: Any = 1
    for _ in range(levels):
        objects_, arrays = {"a": objects_}, [arrays]
    yield from (objects_, arrays)


def test_hooks_that_nest_too_deep_are_told_so(desk: Desk) -> None:
    view = desk.view(desk.slot({"a": 1}))
    for _ in range(DEEPEST + 1):
        view["a"] = {"b": view["a"]}
    deepest = view["a"]
    with pytest.raises(DepthError, match="nested more than 384 levels deep; make it flatter"):
        view["a"] = {"b": deepest}
    assert view["a"].is_same(deepest)
    for value in nested(DEEPEST + 2):
        with pytest.raises(DepthError):
            view["b"] = value
    assert "b" not in view


def test_what_hooks_may_nest_can_be_read_copied_and_shown(desk: Desk) -> None:
    for value in nested(DEEPEST):
        view = desk.view(desk.slot(value))
        assert isinstance(view, ObjectView | ArrayView)
        assert desk.store.plain(view.clone().ref) == value
        assert view.thaw() == value
        assert repr(view) == repr(value)
