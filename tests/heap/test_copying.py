from __future__ import annotations

from collections.abc import Callable

import pytest

from agentcore.heap.copying import deep_copy, through_json
from agentcore.heap.heap import (
    DEEPEST,
    UNDEFINED,
    DepthError,
    ErrorCell,
    Function,
    HeapTypeError,
    Ref,
    Store,
    Value,
)
from agentcore.heap.js import get

Copy = Callable[[Store, Value], Value]
each = pytest.mark.parametrize("copy", [through_json, deep_copy])


def nested(store: Store, levels: int) -> Ref:
    """An object in an array in an object, so many levels below the first."""
    made = store.object({})
    for level in range(levels):
        made = store.array([made]) if level % 2 else store.object({"in": made})
    return made


@each
@pytest.mark.parametrize("value", [{"a": [1, {"b": None}], "c": "x"}, [], {}, "text", 7, None, True])
def test_a_copy_is_equal_and_another_object(copy: Copy, value: object) -> None:
    store = Store()
    original = store.load(value)
    made = copy(store, original)
    assert store.plain(made) == value
    assert not isinstance(original, Ref) or made != original


@each
def test_what_is_as_deep_as_a_heap_allows_is_copied_and_what_is_deeper_is_refused(copy: Copy) -> None:
    store = Store()
    assert copy(store, nested(store, DEEPEST)) is not None
    with pytest.raises(DepthError):
        copy(store, nested(store, DEEPEST + 2))


@each
def test_a_copy_tells_what_it_was_made_of(copy: Copy) -> None:
    store = Store()
    store.watching = True
    original = store.load({"a": [1]})
    made = copy(store, original)
    assert isinstance(made, Ref)
    assert store.origins[made.address] == ((original.address, None),)


@pytest.mark.parametrize("value", [UNDEFINED, Function(name="f")])
def test_what_json_cannot_hold_becomes_null(value: Value) -> None:
    assert through_json(Store(), value) is None


def test_json_drops_functions_of_objects_and_makes_those_of_arrays_null() -> None:
    store = Store()
    original = store.object({"f": Function(name="f"), "list": store.array([Function(name="f"), 1])})
    assert store.plain(through_json(store, original)) == {"list": [None, 1]}


def test_json_makes_several_objects_of_one_and_refuses_one_inside_itself() -> None:
    store = Store()
    shared = store.array([1])
    made = through_json(store, store.object({"a": shared, "b": shared}))
    assert get(store, made, "a") != get(store, made, "b")
    store.push(shared, [shared])
    with pytest.raises(HeapTypeError, match="circular"):
        through_json(store, shared)


def test_a_deep_copy_keeps_what_is_one_object_cycles_and_functions() -> None:
    store = Store()
    shared = store.array([Function(name="f")])
    store.push(shared, [shared])
    made = deep_copy(store, store.object({"a": shared, "b": shared}))
    assert get(store, made, "a") == get(store, made, "b") != shared
    inside = get(store, made, "a")
    assert isinstance(inside, Ref)
    assert store.cells[inside.address] == (Function(name="f"), inside)


@each
def test_an_error_becomes_an_object_of_what_it_owns(copy: Copy) -> None:
    store = Store()
    errors = [
        store.object({"name": name, "message": "no", "code": 1}, ErrorCell)
        for name in ("TypeError", "AI_Odd")
    ]
    made = [copy(store, error) for error in errors]
    assert [store.plain(one) for one in made] == [{"code": 1}, {"name": "AI_Odd", "code": 1}]
