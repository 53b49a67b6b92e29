"""Who sees a write, measured: one conversation, each place that a hook can reach, one write at one call.

Runs under the interpreter of the framework: standard library only. The rules are those of `js/src/probe.js`;
`spec/contracts.md` states them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from agentcore.guard.reading import ATOMS
from agentcore.live.adapter import Adapter, Attached, Boundary
from agentcore.live.places import (
    Objects,
    Place,
    Scene,
    Shape,
    Texts,
    Undone,
    Walk,
    made,
    of_side,
    shape_of,
    write,
)
from agentcore.live.seeded import seeded
from agentcore.live.session import Session, translated

__all__ = ["measured"]

_T = TypeVar("_T")
_SEED: Final = 1
_MADE: Final = "returned"
_COPIES: Final = frozenset({_MADE, "passed", "delta"})
_BRIEF: Final = 200
_Does = Callable[[Mapping[str, Any], Place, frozenset[int]], None]


@dataclass
class _Call:
    """One call of the hook: its number in the run, turn and number of prompts in it, and the arguments."""

    number: int
    turn: int
    count: int
    given: Mapping[str, Any]
    places: list[Place] = field(default_factory=list)


class _Recorder:
    """The recorder of one run: prompts as text, and who holds the mark at the end of the first turn."""

    def __init__(self, adapter: Adapter, scene: Scene) -> None:
        self.turn = self.count = 0
        self.prompts: list[tuple[int, int, bool]] = []
        self.held: set[str] = set()
        self._drop, self._mark, self._text = adapter.drop, scene.mark, scene.objects.text
        self._holders: dict[str, Any] = {}

    def begin_turn(self, turn: int) -> None:
        self.turn, self.count = turn, 0

    def prompt(self, messages: Any) -> int:
        self.prompts.append((self.turn, self.count, self._has_mark(messages)))
        self.count += 1
        return self.count - 1

    async def settle(self) -> None:
        """No hook is left running."""

    def result(self, value: Any) -> None:
        # Later, what the caller passes on has the result in it.
        if self.turn == 0:
            holders = {**self._holders, "result": value}
            self.held |= {name for name, each in holders.items() if self._has_mark(each)}

    def holder(self, name: str, value: Any) -> None:
        self._holders[name] = value

    def _has_mark(self, value: Any) -> bool:
        return self._mark in self._text(value, self._drop)

    def seen(self, count: int, *, after: bool) -> set[str]:
        """Returns who has the mark, if `count` prompts of the turn had been made when it was written."""
        found = {*self.held}
        for turn, step, has_mark in self.prompts:
            if not has_mark:
                continue
            if turn > 0:
                found.add("later-runs")
            elif step > count:
                found.add("later-prompts")
            elif step == count:
                found.add("next-prompt" if after else "this-prompt")
            else:
                found.add("earlier-prompts")
        return found


class _Probe:
    def __init__(
        self, adapter: Adapter, rules: Mapping[str, Any], report: Callable[[], None], objects: Objects
    ) -> None:
        self._adapter, self._rules, self._report = adapter, rules, report
        conversation = rules["conversation"]
        shapes = _shapes(adapter, conversation)
        self._scene = Scene(rules["mark"], Texts(conversation), shapes, objects)
        self._copied = objects.copied
        self.rows: dict[tuple[str, ...], dict[str, Any]] = {}
        self.unmeasured: list[dict[str, str]] = []
        self._answers: dict[tuple[int, str, Any], dict[str, Any]] = {}
        self.runs = 0

    # ------------------------------------------------------------ one boundary

    def measure(self, at: str, path: str) -> None:
        boundary = self._adapter.boundaries[at]
        calls: list[_Call] = []

        def look(call: _Call) -> Any:
            calls.append(call)
            call.places = self._places(boundary, call)

            def look_at(value: Any) -> Any:
                call.places += self._made_places(boundary, call, value)
                return value

            return _passive(boundary, call.given, look_at)

        _, error = self._run(at, path, look)
        own = [call for call in calls if call.turn == 0]
        why = f"the run without a write ends with: {_said(error)}" if error else "the hook is not called"
        if error or not own:
            self.unmeasured.append({"path": path, "boundary": at, "why": why})
            return
        wanted = self._rules["step"] + boundary.after
        count = wanted if any(call.count == wanted for call in own) else own[-1].count
        found: dict[tuple[str, ...], dict[str, tuple[_Call, Place]]] = {}
        for call in [each for each in own if each.count == count][: self._rules["most_calls"]]:
            for place in call.places:
                found.setdefault(_row_of(path, at, place), {}).setdefault(place.name, (call, place))
        for places in found.values():
            for call, place in _some_of([*places.values()], self._rules["most_places"]):
                self._try(at, path, call, place)
        self._answers.clear()
        if not found:
            why = "nothing of the conversation is in what the hook is given"
            self.unmeasured.append({"path": path, "boundary": at, "why": why})

    def _places(self, boundary: Boundary, call: _Call) -> list[Place]:
        kept = _kept(boundary, call.given)
        roots = [(name, each) for name, each in call.given.items() if name != boundary.handler]
        places = Walk(roots, self._scene, kept).places
        behind = Walk(_behind(boundary, call.given).items(), self._scene, frozenset()).places
        if _goes_on(boundary, call.given):
            places += self._first_of("passed", _passed_on(boundary, call.given), kept)
        return [*places, *of_side(behind, "handle")]

    def _made_places(self, boundary: Boundary, call: _Call, value: Any) -> list[Place]:
        """Returns places in what a handler returned, and in what the hook returns."""
        kept = _kept(boundary, call.given)
        places: list[Place] = []
        if _goes_on(boundary, call.given):
            places += of_side(Walk([("result", value)], self._scene, kept).places, "result")
        if boundary.delta:
            return [*places, *self._delta_places(call, kept)]
        return [*places, *self._first_of(_MADE, _offered(boundary, call.given, value), kept)]

    def _first_of(self, side: str, value: Any, kept: frozenset[int]) -> list[Place]:
        """Returns the first text of each owner, and the first list of messages."""
        found: dict[tuple[str, str], Place] = {}
        for place in Walk([("", [value])], self._scene, kept).places:
            if place.act == "change" or (place.act, place.place) == ("push", "list"):
                found.setdefault((place.owner, place.act), place)
        return made(found.values(), side, side)

    def _delta_places(self, call: _Call, kept: frozenset[int]) -> list[Place]:
        """Of an update: a message of each owner, under the key at which the argument has the messages."""
        places = Walk(call.given.items(), self._scene, kept).places
        messages = [each for each in places if each.place == "message" and len(each.keys) == _IN_DELTA]
        by_owner = {each.owner: each for each in reversed(messages) if each.keys[1].kind == "key"}
        return made(by_owner.values(), "delta", _MADE, "change")

    # ------------------------------------------------------------ one write

    def _try(self, at: str, path: str, call: _Call, place: Place) -> None:
        """Adds the answer for a place; one object may be reached in several ways, and is written once."""
        key = (call.number, place.side, place.target)
        if key not in self._answers:
            self._answers[key] = self._answer(at, path, call, place)
        self._add(at, path, place, self._answers[key])

    def _answer(self, at: str, path: str, call: _Call, place: Place) -> dict[str, Any]:
        """Runs once more, and writes at the place."""
        boundary = self._adapter.boundaries[at]
        undone: list[Undone | None] = []
        counts = [call.count]

        def does(values: Mapping[str, Any], where: Place, kept: frozenset[int]) -> None:
            counts.append(self._recorder.count)
            undone.append(write(values, where, self._scene, kept, own=place.side in _COPIES))

        def look(again: _Call) -> Any:
            if again.number != call.number:
                return _passive(boundary, again.given, lambda value: value)
            return self._with_write(boundary, again.given, place, does)

        recorder, error = self._run(at, path, look)
        # What an around hook has called on for, and returns, comes after the model.
        late = place.side == "result" or (place.side == _MADE and _goes_on(boundary, call.given))
        seen = recorder.seen(counts[-1], after=boundary.after or late)
        return self._said(undone, error, seen)

    def _with_write(self, boundary: Boundary, given: Mapping[str, Any], place: Place, does: _Does) -> Any:
        """Does what a hook does that does nothing, but for the write."""
        kept = _kept(boundary, given)
        if place.side == "given":
            does(given, place, kept)
        elif place.side == "handle":
            does(_behind(boundary, given), place, frozenset())
        elif place.side == "passed":
            given = self._passing(boundary, given, lambda value: does({"": [value]}, place, kept))
        elif place.side == "delta":
            return self._delta(given, place, does)

        def finish(value: Any) -> Any:
            if place.side == "result":
                does({"result": value}, place, kept)
            if place.side != _MADE:
                return value
            copy = self._copied([_offered(boundary, given, value)], kept)
            does({"": copy}, place, kept)
            return copy[0]

        return _passive(boundary, given, finish)

    def _said(
        self, undone: list[Undone | None], error: BaseException | None, seen: set[str]
    ) -> dict[str, Any]:
        if not undone:
            return {"result": "unknown", "why": "the call did not come again"}
        if undone[0] is not None:
            return undone[0]._asdict()
        if error is not None:
            return {"result": "breaks", "why": _said(error)}
        if "earlier-prompts" in seen:
            return {"result": "unknown", "why": "a prompt that was made before the write has the mark"}
        return {"result": "seen", "seen": [name for name in self._rules["holders"] if name in seen]}

    def _passing(
        self, boundary: Boundary, given: Mapping[str, Any], does: Callable[[Any], None]
    ) -> dict[str, Any]:
        """Returns the arguments with a handler that passes a marked copy on."""
        name, kept = str(boundary.handler), _kept(boundary, given)

        def handler(*args: Any, **options: Any) -> Any:
            request, *more = self._copied([*args], kept)
            does(request)
            return given[name](request, *more, **options)

        return {**given, name: handler}

    def _delta(self, given: Mapping[str, Any], place: Place, does: _Does) -> dict[str, Any]:
        """Returns an update with a marked copy of the message at a place."""
        name, key, index = place.keys
        copy = self._copied([given[name][key.key][index.key]], frozenset())
        walk = Walk([("", copy)], self._scene, frozenset())
        text = next(each for each in walk.places if each.act == "change")
        does({"": copy}, text, frozenset())
        return {key.key: copy}

    def _add(self, at: str, path: str, place: Place, answer: dict[str, Any]) -> None:
        key = _row_of(path, at, place)
        names = ("path", "boundary", "root", "owner", "role", "place", "act")
        row = self.rows.setdefault(key, {**dict(zip(names, key, strict=True)), "answers": []})
        for each in row["answers"]:
            if (each["result"], each.get("seen")) == (answer["result"], answer.get("seen")):
                each["places"].append(place.name)
                return
        row["answers"].append({**answer, "places": [place.name]})

    # ------------------------------------------------------------ one run

    def _run(
        self, at: str, path: str, look: Callable[[_Call], Any]
    ) -> tuple[_Recorder, BaseException | None]:
        self.runs += 1
        self._report()
        boundary, recorder = self._adapter.boundaries[at], _Recorder(self._adapter, self._scene)
        self._recorder, numbers = recorder, iter(range(1_000_000))

        def called(args: Sequence[Any], options: Mapping[str, Any]) -> Any:
            given = {**dict(zip(boundary.names(args), args, strict=False)), **options}
            return look(_Call(next(numbers), recorder.turn, recorder.count, given))

        attached = _attached(boundary, called, awaits=bool(getattr(self._adapter, "awaits", False)))
        try:
            with seeded(_SEED, lambda _: False):
                self._adapter.run(
                    Session(deepcopy(self._rules["conversation"]), recorder), attached, at, path
                )
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever ends a run is an answer
            return recorder, error
        return recorder, None


def _row_of(path: str, at: str, place: Place) -> tuple[str, ...]:
    return path, at, place.root, place.owner, place.role, place.place, place.act


def _some_of(items: Sequence[_T], most: int) -> Sequence[_T]:
    """Returns the first, the last, and some between."""
    if len(items) <= most:
        return items
    return [items[round(index * (len(items) - 1) / (most - 1))] for index in range(most)]


_IN_DELTA: Final = 3
"""Steps to a message of an argument that is updated: its name, the key, the index."""


def _goes_on(boundary: Boundary, given: Mapping[str, Any]) -> bool:
    """Returns whether the hook is given a function with which it calls on."""
    return boundary.handler in given


def _offered(boundary: Boundary, given: Mapping[str, Any], value: Any) -> Any:
    """Returns what returns the conversation as it is; `value` is what a hook returns that does nothing."""
    return value if boundary.offers is None else boundary.offers(given)


def _behind(boundary: Boundary, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns conversation data that is reached by what is kept, by name."""
    if boundary.reaches is not None:
        return boundary.reaches(given)
    return {f"handle{index or ''}": each for index, each in enumerate(boundary.handles(given))}


def _passed_on(boundary: Boundary, given: Mapping[str, Any]) -> Any:
    """Returns what an around hook passes on that does nothing; None if it passes nothing."""
    passed: list[Any] = []

    def handler(*args: Any, **_: Any) -> None:
        passed.extend(args)

    boundary.passive({**given, str(boundary.handler): handler})
    return passed[0] if passed else None


def _attached(boundary: Boundary, called: Callable[..., Any], *, awaits: bool) -> Attached:
    def call(*args: Any, **options: Any) -> Any:
        return called(args, options)

    async def call_async(*args: Any, **options: Any) -> Any:
        returned = called(args, options)
        return await returned if inspect.isawaitable(returned) else returned

    made: Any = call_async if awaits else call
    # Frameworks look at the names of parameters.
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    made.__signature__ = inspect.Signature(
        [inspect.Parameter(name, kind) for name in boundary.parameters if name]
    )
    return Attached(call=made, is_async=awaits)


def _passive(boundary: Boundary, given: Mapping[str, Any], made: Callable[[Any], Any]) -> Any:
    """Does nothing, and returns what `made` makes of what that returns."""
    value = boundary.passive(given)
    if not inspect.isawaitable(value):
        return made(value)

    async def awaited() -> Any:
        return made(await value)

    return awaited()


def _kept(boundary: Boundary, given: Mapping[str, Any]) -> frozenset[int]:
    return frozenset(id(each) for each in boundary.kept(given) if type(each) not in ATOMS)


def _shapes(adapter: Any, conversation: Mapping[str, Any]) -> list[Shape]:
    """Returns the shapes of the caller's messages: those of the whole conversation."""
    turn = conversation["turns"][0]
    spoken = [*turn["messages"], *({"role": "assistant", **each} for each in turn["answers"])]
    return [*{shape_of(each) for each in translated(spoken, adapter.user, adapter.answer, adapter.results)}]


def _said(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}".split("\n", maxsplit=1)[0][:_BRIEF]


def measured(
    adapter: Adapter, job: Mapping[str, Any], report: Callable[[], None], objects: Objects | None = None
) -> dict[str, Any]:
    """Measures boundaries of a framework.

    Args:
        adapter: the framework.
        job: `rules` are those of `schemas/places.json`; `at` and `path` choose, or are None for all.
        report: called before each run.
        objects: how objects are read and copied; as those of Python are if None.

    Returns:
        The rows, and what could not be measured, in the form of `schemas/contract.schema.json`.
    """
    probe = _Probe(adapter, job["rules"], report, objects or Objects())
    for at in [job["at"]] if job["at"] else adapter.boundaries:
        for path in adapter.paths:
            if job["path"] in (None, path) and path in (adapter.boundaries[at].paths or adapter.paths):
                probe.measure(at, path)
    when = {at: "after" if each.after else "before" for at, each in adapter.boundaries.items()}
    return {"when": when, "rows": [*probe.rows.values()], "unmeasured": probe.unmeasured, "runs": probe.runs}
