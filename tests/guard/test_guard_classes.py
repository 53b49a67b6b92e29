"""What a guard sees of state that classes and members of enums hold, or names as what it does not see."""

from __future__ import annotations

import array
import collections
import contextvars
import dataclasses
import enum
import functools
import itertools
import logging
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import attrs
import pydantic
import pytest

from agentcore import UserMessage
from agentcore.guard import Instance, Report, guard


def changed(write: Callable[[], object], *given: Any) -> Report:
    with guard(*given) as report:
        write()
    return report


def paths(report: Report) -> list[str]:
    return [change.path for change in report.changes]


class Store:
    """An object of its own, with a state of its own."""

    def __init__(self) -> None:
        self.items: list[Any] = []


class Meta(type):
    registry: list[Any] = []  # noqa: RUF012 - shared on purpose, as below


class Counted:
    """A descriptor that keeps something for all objects."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __get__(self, owner: object, cls: type) -> int:
        return len(self.calls)


class Computed:
    """A descriptor that holds nothing but code."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __get__(self, owner: object, cls: type) -> Any:
        return self.function(owner)


class History(metaclass=Meta):
    messages: list[Any] = []  # noqa: RUF012
    by_id: dict[str, Any] = {}  # noqa: RUF012
    seen: set[Any] = set()  # noqa: RUF012
    recent = collections.deque[Any]()  # noqa: RUF012
    raw = bytearray()
    numbers = array.array("i")
    view = types.MappingProxyType(by_id)
    parts = ([], [])  # type: ignore[var-annotated]
    made = 0
    limit: Any = None


class Below(History):
    __slots__ = ("own",)

    @classmethod
    def method(cls) -> None:
        """Code."""


WRITES: dict[str, tuple[Callable[[], object], str]] = {
    "a list": (lambda: History.messages.append("x"), "$.messages[0]"),
    "a dict": (lambda: History.by_id.update(a=1), "$.by_id.a"),
    "a set": (lambda: History.seen.add("x"), "$.seen{'x'}"),
    "a deque": (lambda: History.recent.append("x"), "$.recent[0]"),
    "bytes": (lambda: History.raw.extend(b"x"), "$.raw"),
    "an array": (lambda: History.numbers.append(1), "$.numbers"),
    "a list in a tuple": (lambda: History.parts[1].append("x"), "$.parts[1][0]"),
    "a number": (lambda: setattr(History, "made", 1), "$.made"),
    "another value": (lambda: setattr(History, "limit", [1]), "$.limit"),
    "a new name": (lambda: setattr(History, "more", [1]), "$.more"),
    "its class": (lambda: Meta.registry.append("x"), "$.registry[0]"),
}


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    for held in (History.messages, History.by_id, History.seen, History.recent, History.raw, Meta.registry):
        held.clear()
    History.parts[1].clear()
    del History.numbers[:]
    History.made, History.limit = 0, None
    if "more" in vars(History):
        delattr(History, "more")


@pytest.mark.parametrize("kind", WRITES)
@pytest.mark.parametrize("cls", [History, Below])
def test_what_a_class_holds_is_seen_at_its_objects_and_those_of_classes_below(
    kind: str, cls: type[History]
) -> None:
    write, path = WRITES[kind]
    report = changed(write, cls())
    assert path in [each for change in report.changes for each in change.paths]


def test_what_a_class_holds_is_seen_at_the_class_which_is_said_to_be_opaque_for_the_rest() -> None:
    report = changed(lambda: History.messages.append("x"), {"kind": History})
    assert paths(report) == ["$.kind.messages[0]"]
    assert [each.path for each in report.opaque] == ["$.kind"]


def test_a_change_of_a_class_has_a_path_through_each_of_its_objects() -> None:
    report = changed(lambda: History.messages.append("x"), [History(), Below()])
    (change,) = report.changes
    assert change.paths == ("$[0].messages[0]", "$[1].messages[0]")


def test_a_class_of_objects_that_are_held_by_a_class_is_looked_into_too() -> None:
    class Held:
        notes: ClassVar[list[Any]] = []

    class Holder:
        all: ClassVar[list[Any]] = [Held()]

    assert paths(changed(lambda: Held.notes.append(1), Holder())) == ["$.all[0].notes[0]"]


@dataclasses.dataclass
class Data:
    text: str = ""
    shared: ClassVar[list[Any]] = []


@attrs.define
class Defined:
    text: str = ""
    shared: ClassVar[list[Any]] = []


class Model(pydantic.BaseModel):
    text: str = ""
    shared: ClassVar[list[Any]] = []


class Tags(list[str]):
    shared: ClassVar[list[Any]] = []


class FailedError(Exception):
    shared: ClassVar[list[Any]] = []


@pytest.mark.parametrize("cls", [Data, Defined, Model, Tags, FailedError])
def test_classes_of_every_kind_are_looked_into_and_have_nothing_opaque(cls: Any) -> None:
    report = changed(lambda: cls.shared.append("x"), [cls()])
    cls.shared.clear()
    assert paths(report) == ["$[0].shared[0]"]
    assert report.opaque == ()


def test_a_class_variable_that_is_overridden_below_is_that_of_the_class_below() -> None:
    class Own(History):
        messages: list[Any] = []  # noqa: RUF012

    assert paths(changed(lambda: Own.messages.append(1), Own())) == ["$.messages[0]"]
    assert not changed(lambda: History.messages.append(1), Own())


# ---------------------------------------------------------------- told, and not looked into


def closure() -> Callable[[], list[Any]]:
    held: list[Any] = []
    return lambda: held


class Service:
    log = logging.getLogger("tests.guard")
    store = Store()
    counted = Counted()
    numbers = itertools.count()
    kind = Store


def test_objects_that_a_class_holds_are_named_and_not_looked_into() -> None:
    report = changed(lambda: Service.store.items.append("x"), [Service()])
    assert not report
    assert {(each.path, each.type_name) for each in report.opaque} == {
        ("$[0].log", "Logger"),
        ("$[0].store", "Store"),
        ("$[0].counted", "Counted"),
        ("$[0].numbers", "count"),
        ("$[0].kind", "type"),
    }


class Keeping:
    def default(self, held: list[Any] = []) -> list[Any]:  # noqa: B006 - on purpose, as below
        return held

    def keyword(self, *, held: dict[str, Any] = {}) -> dict[str, Any]:  # noqa: B006
        return held

    @staticmethod
    def plain(number: int = 1, names: tuple[str, ...] = ("a",)) -> tuple[int, tuple[str, ...]]:
        return number, names

    @classmethod
    def of_class(cls, held: set[Any] = set()) -> set[Any]:  # noqa: B006
        return held

    closed = closure()


def test_a_method_that_keeps_a_container_from_call_to_call_is_named() -> None:
    with guard(Keeping()) as report:
        pass
    assert [each.path for each in report.opaque] == ["$.default", "$.keyword", "$.of_class", "$.closed"]


def test_code_of_a_class_is_no_state() -> None:
    class Coded:
        computed = Computed(len)

        @functools.cached_property
        def cached(self) -> int:
            return 1

        @property
        def value(self) -> int:
            return 1

        @staticmethod
        def function() -> None:
            """Code."""

    with guard(Coded()) as report:
        pass
    assert report.opaque == ()


class Holding:
    """Holds what it is given."""

    def __init__(self, value: object) -> None:
        self.value = value


def default(held: list[Any] = []) -> list[Any]:  # noqa: B006 - on purpose
    return held


def keyword_default(*, held: list[Any] = []) -> list[Any]:  # noqa: B006
    return held


STORE = Store()


@pytest.mark.parametrize(
    "value",
    [
        closure(),
        closure().__closure__[0],  # type: ignore[index]
        default,
        keyword_default,
        [].append,
        STORE.items.append,
        weakref.ref(STORE),
        iter([[]]),
        reversed([[]]),
        ([] for _ in "a"),
        zip([[]], strict=False),
        map(list, [[]]),
        {}.values(),
        memoryview(bytearray(b"a")),
        types,
        contextvars.ContextVar("held"),
        itertools.count(),
        types.MethodType(default, STORE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_held_out_of_sight_is_named(value: object) -> None:
    with guard({"held": Holding(value)}) as report:
        pass
    assert [(each.path, each.type_name) for each in report.opaque] == [("$.held.value", type(value).__name__)]


def test_a_partial_is_looked_into_and_its_function_named() -> None:
    held: list[Any] = []
    report = changed(lambda: held.append(1), functools.partial(default, held))
    assert paths(report) == ["$.args[0][0]"]
    assert "$.func" in [each.path for each in report.opaque]


# ---------------------------------------------------------------- members of enums


class Kind(enum.Enum):
    LISTED = ["x"]  # noqa: RUF012 - on purpose
    MAPPED = {"k": {"deep": 1}}  # noqa: RUF012
    PLAIN = 1

    note: Any


class Colour(enum.Flag):
    RED = 1
    BLUE = 2


def test_what_a_member_holds_is_looked_into() -> None:
    report = changed(lambda: Kind.LISTED.value.append("y"), [{"kind": Kind.LISTED}, {"kind": Kind.LISTED}])
    Kind.LISTED.value.pop()
    (change,) = report.changes
    assert change.paths == ("$[0].kind.value[1]", "$[1].kind.value[1]")


@pytest.mark.parametrize("given", [Kind.MAPPED, (Kind.MAPPED,), {Kind.MAPPED}, {Kind.MAPPED: 1}])
def test_a_member_is_looked_into_wherever_it_stands(given: Any) -> None:
    report = changed(lambda: Kind.MAPPED.value["k"].update(deep=2), given)
    Kind.MAPPED.value["k"]["deep"] = 1
    assert [change.path.endswith(".value.k.deep") for change in report.changes] == [True]


def test_what_is_set_on_a_member_is_reported() -> None:
    report = changed(lambda: setattr(Kind.PLAIN, "note", "x"), {"kind": Kind.PLAIN})
    del Kind.PLAIN.note
    assert paths(report) == ["$.kind.note"]


def test_a_member_is_shown_as_itself_and_another_in_its_place_is_another_value() -> None:
    report = changed(lambda: given.update(kind=Kind.PLAIN), given := {"kind": Kind.LISTED})
    (change,) = report.changes
    assert (change.before, change.after, change.in_place) == (Kind.LISTED, Kind.PLAIN, True)


def test_combining_flags_changes_nothing() -> None:
    assert not changed(lambda: Colour.RED | Colour.BLUE, [Colour.RED])


# ---------------------------------------------------------------- what stays as it was


def test_values_of_the_core_have_no_class_that_is_looked_into() -> None:
    with guard([UserMessage("a")]) as report:
        pass
    assert (report.changes, report.opaque) == ((), ())


def test_a_class_is_not_shown_as_what_it_holds() -> None:
    given: dict[str, Any] = {"kind": History}
    report = changed(lambda: given.update(kind=Store()), given)
    assert report.changes[0].before.type_name == "Meta"
    assert report.changes[0].after == Instance("Store", report.changes[0].after.fields)


def test_classes_that_are_not_to_be_looked_into_are_not_looked_into_themselves() -> None:
    with guard([History()], opaque=(History,)) as report:
        History.messages.append("x")
    assert not report
    assert [each.path for each in report.opaque] == ["$[0]"]
