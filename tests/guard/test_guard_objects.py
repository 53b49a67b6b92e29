"""What a guard sees of objects: attributes of every kind of class, without running any code of theirs."""

from __future__ import annotations

import array
import dataclasses
import datetime as dt
import enum
import functools
import io
import pathlib
import random
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

import attrs
import pydantic
import pytest
from immutabledict import immutabledict
from pyrsistent import pvector

from agentcore import TextPart, UserMessage, vector
from agentcore.guard import Change, Instance, Opaque, Report, Unshown, guard
from agentcore.messages.prompt import prompt_form


def changed(write: Callable[[Any], object], given: Any) -> Report:
    with guard(given) as report:
        write(given)
    return report


def one(write: Callable[[Any], object], given: Any) -> Change:
    (change,) = changed(write, given).changes
    return change


# ---------------------------------------------------------------- classes


@dataclasses.dataclass
class Part:
    text: str


@dataclasses.dataclass(slots=True)
class Slotted:
    content: list[Part]
    note: Any = None


@attrs.define
class Defined:
    content: list[Part]
    note: Any = None


@attrs.define(slots=False)
class Open:
    content: list[Part]
    note: Any = None


class Model(pydantic.BaseModel):
    content: list[Any]
    note: Any = None


class Extra(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    content: list[Any]
    note: Any = None


class Plain:
    def __init__(self, content: list[Part]) -> None:
        self.content = content
        self.note: Any = None


class Bare:
    __slots__ = ("__weakref__", "content", "note")

    def __init__(self, content: list[Part]) -> None:
        self.content = content


class Below(Bare):
    """Has a `__dict__` beside the slots of its base."""


class Named(NamedTuple):
    content: list[Part]
    note: Any = None


class FailedError(Exception):
    def __init__(self, content: list[Part]) -> None:
        super().__init__("text")
        self.content = content
        self.note: Any = None


CLOSED = {"attrs", "dataclass with slots", "a class with slots", "pydantic"}
MADE: dict[str, Callable[[list[Any]], Any]] = {
    "dataclass with slots": Slotted,
    "attrs": Defined,
    "attrs without slots": Open,
    "pydantic": lambda content: Model(content=content),
    "pydantic with extra fields": lambda content: Extra(content=content),
    "a class": Plain,
    "a class with slots": Bare,
    "a class below one with slots": Below,
    "a namespace": lambda content: types.SimpleNamespace(content=content, note=None),
    "an exception": FailedError,
}


@pytest.mark.parametrize("made", MADE)
def test_an_attribute_that_is_set_is_reported(made: str) -> None:
    given = [MADE[made]([Part("a")])]
    report = changed(lambda messages: setattr(messages[0], "note", "b"), given)
    change = next(each for each in report.changes if each.path == "$[0].note")
    assert (change.after, change.in_place) == ("b", True)


@pytest.mark.parametrize("made", MADE)
def test_what_an_attribute_holds_is_looked_into(made: str) -> None:
    given = [MADE[made]([Part("a")])]
    change = one(lambda messages: setattr(messages[0].content[0], "text", "b"), given)
    assert (change.path, change.before, change.after) == ("$[0].content[0].text", "a", "b")


@pytest.mark.parametrize("made", [name for name in MADE if name not in CLOSED])
def test_an_attribute_that_is_new_is_reported(made: str) -> None:
    given = MADE[made]([])
    report = changed(lambda message: setattr(message, "more", 1), given)
    change = next(each for each in report.changes if each.path.endswith(".more"))
    assert (change.kind, change.after) == ("added", 1)


def test_a_deleted_slot_is_reported() -> None:
    change = one(lambda message: delattr(message, "content"), Bare([]))
    assert (change.path, change.kind, change.before) == ("$.content", "removed", ())


def test_a_named_tuple_has_the_names_of_its_fields_in_paths() -> None:
    change = one(lambda message: message.content.append(1), Named([]))
    assert change.path == "$.content[0]"
    assert one(lambda given: given.append(Named([])), []).after == Instance(
        "Named", immutabledict(content=(), note=None)
    )


def test_objects_are_shown_by_class_and_attributes() -> None:
    def replace(messages: list[Any]) -> None:
        messages[0] = Defined([Part("b")], note={"k": {1}})

    change = one(replace, [Defined([Part("a")])])
    part = Instance("Part", immutabledict(text="a"))
    assert change.before == Instance("Defined", immutabledict(content=(part,), note=None))
    assert str(change) == (
        "$[0]: another object, Defined(content=[Part(text='a')], note=None)"
        " -> Defined(content=[Part(text='b')], note={'k': {1}})"
    )


def test_a_field_of_pydantic_that_becomes_set_is_reported_too() -> None:
    report = changed(lambda message: setattr(message, "note", None), Model(content=[]))
    assert [(change.path, change.after) for change in report.changes] == [
        ("$.__pydantic_fields_set__{'note'}", "note")
    ]


def test_another_class_of_the_same_object_is_reported() -> None:
    class Other(Plain):
        pass

    change = one(lambda message: setattr(message, "__class__", Other), Plain([]))
    assert (change.path, change.before, change.after) == ("$.__class__", "Plain", "Other")


def test_an_object_that_becomes_one_that_is_not_looked_into_loses_all_that_it_had() -> None:
    report = changed(lambda message: setattr(message, "__class__", Client), Plain([]))
    assert [(change.path, change.kind) for change in report.changes] == [
        ("$.__class__", "replaced"),
        ("$.content", "removed"),
        ("$.note", "removed"),
    ]


def test_an_attribute_of_a_list_of_ones_own_class_is_reported_beside_its_elements() -> None:
    class Messages(list[Any]):
        note = 0

    def write(messages: Messages) -> None:
        messages.append(1)
        messages.note = 1

    report = changed(write, Messages())
    assert [change.path for change in report.changes] == ["$[0]", "$.note"]


# ---------------------------------------------------------------- containers


@pytest.mark.parametrize(
    ("given", "write", "path"),
    [
        (deque([1]), lambda given: given.append(2), "$[1]"),
        (defaultdict(list), lambda given: given["a"].append(1), "$.a"),
        (defaultdict(list), lambda given: setattr(given, "default_factory", int), "$.default_factory"),
        (Counter("a"), lambda given: given.update("a"), "$.a"),
        (OrderedDict(a=1, b=2), lambda given: given.move_to_end("a"), "$"),
        (array.array("d", [1.0]), lambda given: given.append(2.0), "$"),
        ({"a": frozenset({(1, Plain([]))})}, lambda given: next(iter(given["a"]))[1].content.append(1), None),
        (functools.partial(print, [1]), lambda given: given.args[0].append(2), "$.args[0][1]"),
        (pvector([[1]]), lambda given: given[0].append(2), "$[0][1]"),
        (vector([[1]]), lambda given: given[0].append(2), "$[0][1]"),
        (immutabledict(a=[1]), lambda given: given["a"].append(2), "$.a[1]"),
        (types.MappingProxyType({"a": [1]}), lambda given: given["a"].append(2), "$.a[1]"),
    ],
)
def test_containers_of_the_library_are_looked_into(
    given: Any, write: Callable[[Any], object], path: str | None
) -> None:
    report = changed(write, given)
    assert len(report.changes) == 1
    assert path in (None, report.changes[0].path)


def test_a_view_of_a_dict_and_the_dict_are_one() -> None:
    fields = {"a": 1}
    change = one(lambda _: fields.update(a=2), [types.MappingProxyType(fields), fields])
    assert change.paths == ("$[1].a", "$[0].a")
    shown = one(lambda given: given.append(types.MappingProxyType(fields)), []).after
    assert shown == immutabledict(a=2)


def test_the_methods_of_a_subclass_are_not_what_is_read() -> None:
    class Hiding(dict[str, Any]):
        def __iter__(self) -> Iterator[str]:
            return iter(())

        def items(self) -> NoReturn:
            raise AssertionError

        keys = values = __len__ = __getitem__ = items  # type: ignore[assignment]

    given = Hiding(a=1)
    assert one(lambda _: dict.__setitem__(given, "a", 2), given).path == "$.a"


# ---------------------------------------------------------------- code that is not run


class _Trap:
    """Everything that could be called in passing fails."""

    def __init__(self) -> None:
        self.held = [1]

    def _fail(self, *_: object) -> NoReturn:
        raise AssertionError("called")

    __eq__ = __hash__ = __repr__ = __bool__ = __len__ = __iter__ = __copy__ = __deepcopy__ = _fail
    __getattr__ = __reduce_ex__ = __getstate__ = __dir__ = __getattribute__ = _fail

    @property
    def value(self) -> NoReturn:
        self._fail()

    @property  # type: ignore[misc]
    def __class__(self) -> NoReturn:  # type: ignore[override]
        self._fail()


def test_no_code_of_an_object_is_run() -> None:
    trap = _Trap()
    held = object.__getattribute__(trap, "held")
    given: list[Any] = [trap]
    with guard(given) as report:
        held.append(2)
        given.append(trap)
    assert [change.path for change in report.changes] == ["$[1]", "$[0].held[1]"]
    assert report.changes[0].after == Instance("_Trap", immutabledict(held=(1, 2)))


def test_what_a_cached_property_keeps_is_no_change() -> None:
    class Lazy:
        @functools.cached_property
        def length(self) -> int:
            return 1

    assert not changed(lambda lazy: lazy.length, Lazy())


def test_a_hash_that_attrs_keeps_is_no_change() -> None:
    @attrs.frozen(cache_hash=True)
    class Hashed:
        text: str

    assert not changed(hash, Hashed("a"))


def test_values_of_the_core_are_unchanged_by_their_use() -> None:
    messages = [UserMessage([TextPart("")])]
    assert not changed(lambda given: prompt_form(given[0]), messages)
    shown = one(lambda given: given.append(UserMessage("a")), messages).after
    assert shown.fields["content"] == "a"


# ---------------------------------------------------------------- values that cannot change


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    __slots__ = ()


class Noted(str):  # noqa: SLOT000 - with attributes on purpose
    note = ""


@pytest.mark.parametrize(
    "make",
    [
        lambda: Decimal("1.0"),
        lambda: dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        lambda: pathlib.PurePosixPath("a"),
        lambda: Colour.RED,
        lambda: Level.LOW,
        lambda: Name("a"),
        lambda: 1 + 2j,
        lambda: range(3),
    ],
)
def test_an_equal_value_that_cannot_change_is_the_same(make: Callable[[], object]) -> None:
    assert not changed(lambda given: given.update(a=make()), {"a": make()})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Decimal("1.0"), Decimal("1.00")),
        (Colour.RED, Colour.BLUE),
        (Level.LOW, 1),
        (Name("a"), "a"),
        (
            dt.datetime(2024, 1, 1, 1, tzinfo=dt.UTC),
            dt.datetime(2024, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=1))),
        ),
    ],
)
def test_values_of_other_kinds_are_told_apart(before: object, after: object) -> None:
    assert one(lambda given: given.update(a=after), {"a": before}).in_place


def test_a_text_with_attributes_is_an_object() -> None:
    text = Noted("a")
    text.note = "x"
    change = one(lambda _: setattr(text, "note", "y"), [text])
    assert (change.path, change.before) == ("$[0].note", "x")


# ---------------------------------------------------------------- what cannot be looked into


class Client:
    def __init__(self) -> None:
        self.calls = 0

    def close(self) -> None:
        """Nothing to close."""


@dataclasses.dataclass
class Candle:
    close: float = 0.0


@pytest.mark.parametrize(
    "value",
    [
        threading.Lock(),
        len,
        lambda: None,
        Client,
        Client().close,
        Client(),
        io.BytesIO(b"a"),
        (each for each in "a"),
        object(),
        types,
        memoryview(b"a"),
        threading.local(),
        iter([1]),
    ],
)
def test_what_has_no_visible_state_is_compared_by_identity_and_said_to_be(value: object) -> None:
    report = changed(lambda given: given.update(n=1), {"a": [value], "n": 0})
    assert report.opaque == (Opaque(path="$.a[0]", type_name=type(value).__name__),)
    assert [change.path for change in report.changes] == ["$.n"]
    change = one(lambda given: given.update(a=value), {"a": print})
    assert change.before == Unshown("builtin_function_or_method", "opaque")
    assert not change.in_place


def test_what_happens_in_a_client_is_not_reported() -> None:
    assert not changed(lambda given: setattr(given["client"], "calls", 1), {"client": Client()})


def test_a_field_called_close_does_not_make_a_client() -> None:
    assert one(lambda candle: setattr(candle, "close", 1.0), Candle()).path == "$.close"


def test_a_class_built_on_one_in_c_is_looked_into_and_said_to_be_opaque_for_the_rest() -> None:
    class Dice(random.Random):
        thrown = 0

    change = one(lambda dice: setattr(dice, "thrown", dice.random() and 1), Dice())
    assert (change.path, change.kind) == ("$.thrown", "added")
    with guard([Dice()]) as report:
        pass
    assert report.opaque == (Opaque(path="$[0]", type_name="Dice"),)


def test_classes_that_are_not_to_be_looked_into_can_be_named() -> None:
    given = {"plain": Plain([]), "n": 0}
    with guard(given, opaque=(Plain,)) as report:
        given["plain"].content.append(1)  # type: ignore[attr-defined]
        given["n"] = 1
    assert [change.path for change in report.changes] == ["$.n"]
    assert report.opaque == (Opaque(path="$.plain", type_name="Plain"),)
