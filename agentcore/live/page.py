"""The report of a check as a page of the player: each finding with its two runs side by side."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeAlias

import attrs

from agentcore.heap.player import Comparison, Player, document, pairs
from agentcore.heap.player_runs import Caption, Moment, Recorded
from agentcore.live.reporting import counts, place_of

__all__ = ["player_of"]

Json: TypeAlias = dict[str, Any]
_WRITTEN: Final = ("write", "harmless-write", "not-isolated")
_HOLDERS: Final = {
    "this-prompt": "the prompt of this step",
    "next-prompt": "the next prompt",
    "later-prompts": "later prompts",
    "later-runs": "prompts of later turns",
    "caller": "the caller's messages",
    "result": "the result",
    "steps": "the records of steps",
    "store": "the store",
    "observers": "observers",
}
_RUNS: Final = {
    "live": ("live", "The hook gets the framework's objects, and what it returns is used."),
    "value": ("as a value", "The hook gets copies, and only what it returns counts."),
}
_APART: Final = "not in the other run at this moment"
_CLASS: Final = "<class>"
# How the Python core shows numbers and booleans, so that True is not 1.
_ATOM: Final = re.compile(r"<(True|False|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)>")
_PROMPTS: Final = ("this-prompt", "next-prompt", "later-prompts", "later-runs")
# What a run with such a finding shows otherwise is another finding's.
_SEEN_BY_NOBODY: Final = ("harmless-write", "not-isolated", "accumulates")
# By what is written to: how both runs say it, and what becomes of it in the run as a value.
_WHERE: Final = {
    "": ("in place", "in its copy", "Nobody else holds the copy."),
    "handle": ("through a handle", "through a handle", "When the call ends, it is taken back."),
    "returned": ("to what it had returned", "to what it had returned", "The framework has a copy of that."),
}
# Lists in these have an element for each turn.
_BY_TURN: Final = ("result", "steps")
_DEEPEST: Final = 2
# No hook has a name with a space.
_MODEL: Final = "the model"
_END: Final = "the end of the run"
_MOST: Final = 6


def player_of(report: Mapping[str, Any]) -> Player:
    """Returns the player of a report in the form of `schemas/findings.schema.json`.

    A report of a version that recorded no runs has a page without them.
    """
    hook, framework = report["hook"], report["framework"]
    release = f"{framework['name']} {framework['version'] or ''}".strip()
    shown = [_comparison(finding, report) for finding in report["findings"]]
    if not shown or report["not_judged"] is not None:
        shown.append(_without_finding(report))
    return Player(document(shown, f"{hook['name']} at {hook['at']} in {release}"))


def _without_finding(report: Mapping[str, Any]) -> Comparison:
    refused = report["not_judged"]
    if refused is not None:
        about = [("not judged", f"{refused['message']} ({refused['reason']})"), ("checked", counts(report))]
        return Comparison("not judged", [], about=about)
    said = "No difference was found between the hook live and what it returns alone."
    return Comparison("clean", [], about=[("clean", said), ("checked", counts(report))])


# ---------------------------------------------------------------- a finding


def _comparison(finding: Json, report: Mapping[str, Any]) -> Comparison:
    title = f"{finding['severity']}: {finding['kind']} {finding['place'] or finding['cause'] or ''}".strip()
    recorded = finding.get("runs")
    if recorded is None:
        return Comparison(title, [], about=[*_about(finding, report)])
    kept = {(each["turn"], each["step"]) for name in _RUNS for each in recorded[name]["moments"]}
    steps = sorted(kept)
    names = _names(steps)
    if report["tool"]["language"] == "python":
        recorded = {name: _readable_run(recorded[name]) for name in _RUNS}
    runs = _compare(
        [_Telling(finding, recorded[name], name, steps).recorded() for name in _RUNS],
        is_of_others=finding["kind"] in _SEEN_BY_NOBODY,
    )
    if finding["kind"] in _WRITTEN:
        runs = [_with_reach(runs[0], _reach(runs[0], finding["seen"], names)), runs[1]]
    return Comparison(title, runs, about=[*_about(finding, report)], steps=names)


def _names(steps: Sequence[tuple[int, int]]) -> list[str]:
    several = len({turn for turn, _ in steps}) > 1
    return [f"turn {turn}, step {step}" if several else f"step {step}" for turn, step in steps]


def _about(finding: Json, report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield finding["severity"], finding["message"]
    if finding["suppressed"] is not None:
        yield "suppressed", f"for {finding['suppressed']['for']}: {finding['suppressed']['reason']}"
    elif not finding["counts_for_verdict"]:
        yield "counts", "not for the verdict"
    yield "at", place_of(finding, report)
    if finding["before"] is not None or finding["after"] is not None:
        yield "changed", f"{finding['before'] or 'nothing'} → {finding['after'] or 'nothing'}"
    seen = ", ".join(_HOLDERS[holder] for holder in finding["seen"])
    if seen or finding["kind"] in _WRITTEN:
        yield "reaches", seen or "nobody in this release"
    yield "found in", f"{finding['counts']['text']} conversations ({', '.join(finding['paths'])})"
    yield "instead", finding["remedy"]
    recorded = finding.get("runs")
    if recorded is None:
        yield "played", "nothing: no runs of this finding were recorded"
    elif any(recorded["cut"].values()):
        yield "cut", "; ".join(_cut(recorded["cut"]))
    if recorded is not None:
        yield "≠", _APART
    if finding["test"]:
        yield "a test to paste", finding["test"]


def _cut(cut: Mapping[str, int]) -> Iterator[str]:
    words = {
        "texts": "long texts are shown without their middle",
        "lists": "long lists have … for elements in their middle",
        "moments": "moments at the end are shown without what was handed out",
    }
    yield from (f"{cut[name]} {said}" for name, said in words.items() if cut[name])


# ---------------------------------------------------------------- one run


class _Telling:
    """One recorded run of a finding, as the player takes it."""

    def __init__(self, finding: Json, run: Json, name: str, steps: Sequence[tuple[int, int]]) -> None:
        self._finding = finding
        self._run = run
        self._name = name
        self._steps = steps
        self._all = run["moments"]
        self._hook = finding["hook"]
        # What the hook got with its call, as it was when it was last looked at.
        self._held: dict[str, Any] = {}

    def recorded(self) -> Recorded:
        """The run with a caption for each moment."""
        name, note = _RUNS[self._name]
        moments = [*self._moments()]
        asked = [each for each in self._all if each["kind"] == "prompt"]
        return Recorded(
            name=name,
            moments=moments,
            prompts=[(self._step(each), [*_messages(each["value"])]) for each in asked],
            notes=[note],
            error=self._run["error"],
        )

    def _step(self, moment: Json) -> int:
        return self._steps.index((moment["turn"], moment["step"]))

    def _moments(self) -> Iterator[Moment]:
        is_missing = self._finding["kind"] in _WRITTEN and not any(
            each["kind"] == "written" for each in self._all
        )
        ended = None
        if is_missing:
            # Written after the call had ended, or through a handle: the finding knows where.
            at = (self._finding["turn"], self._finding["step"])
            ends = [
                number
                for number, each in enumerate(self._all)
                if (each["turn"], each["step"]) == at and each["kind"] in ("handed", "returned")
            ]
            ended = max(ends, default=None)
        for number, moment in enumerate(self._all):
            yield self._moment(moment)
            if number == ended:
                found = {name: self._finding[name] for name in ("before", "after")}
                found["places"] = self._finding["places"] or [self._finding["place"] or "arguments"]
                yield self._write({**moment, "value": None, "writes": [found]})

    def _moment(self, moment: Json) -> Moment:
        kinds: dict[str, Callable[[Json], Moment]] = {
            "handed": self._call,
            "written": self._write,
            "returned": self._return,
            "raised": self._raise,
            "prompt": self._prompt,
            "end": self._end,
        }
        return kinds[moment["kind"]](moment)

    def _caption(self, moment: Json, kind: str, name: str, says: str, **more: Any) -> Moment:
        value = more.pop("value", None)
        return Moment(
            kind=kind,
            step=self._step(moment),
            name=name,
            value=value,
            caption=Caption(says=says, **more),
        )

    def _call(self, moment: Json) -> Moment:
        hook = self._hook
        self._held = _fields(moment["value"])
        says = f"{hook} gets {_amount(self._held)}."
        return self._caption(moment, "boundary", hook, says, headed=f"What {hook} got", value=self._held)

    def _write(self, moment: Json) -> Moment:
        before, after = self._held, _fields(moment["value"])
        self._held = after or before
        touched = [*dict.fromkeys(_field_of(each["places"], before) for each in moment["writes"])]
        changes = {
            name: (_items(before.get(name)), _items(after.get(name)))
            for name in touched
            if name is not None and after
        }
        first, *others = (_sentence(each, before) for each in moment["writes"])
        root = _root(moment["writes"][0]["places"][0])
        live, value, note = _WHERE.get(root, _WHERE[""])
        where = live if self._name == "live" else value
        lines = [f"and {each}" for each in others[:_MOST]]
        lines += [f"and {len(others) - _MOST} more"] if len(others) > _MOST else []
        lines += [note] if self._name != "live" else []
        return self._caption(
            moment, "write", self._hook, f"{self._hook} writes {where}: {first}", changes=changes, lines=lines
        )

    def _return(self, moment: Json) -> Moment:
        hook, value = self._hook, _fields({"returned": moment["value"]})
        says = f"{hook} returns {_amount(value)}."
        return self._caption(
            moment, "boundary", f"{hook} returned", says, headed=f"What {hook} returned", value=value
        )

    def _raise(self, moment: Json) -> Moment:
        return self._caption(moment, "refusal", self._hook, f"{self._hook} raises {moment['value']}")

    def _prompt(self, moment: Json) -> Moment:
        count = _count(len([*_messages(moment["value"])]), "message")
        return self._caption(moment, "boundary", _MODEL, f"The model is asked with {count}.")

    def _end(self, moment: Json) -> Moment:
        error = self._run["error"]
        says = f"The run failed: {error}" if error else "The run has ended."
        value = _fields(moment["value"], _BY_TURN)
        return self._caption(moment, "end", "end", says, headed="What is left at the end", value=value)


def _readable_run(run: Json) -> Json:
    return {**run, "moments": [{**each, "value": _readable(each["value"])} for each in run["moments"]]}


def _readable(value: Any) -> Any:
    """A value of the Python core with numbers as such, and without those fields of objects that are None."""
    if isinstance(value, list):
        return [*map(_readable, value)]
    if isinstance(value, dict):
        empty: tuple[Any, ...] = (None,) if _CLASS in value else ()
        return {
            key: _readable(each)
            for key, each in value.items()
            if each not in empty and (key, each) != ("__pydantic_extra__", {})
        }
    if not isinstance(value, str) or not (atom := _ATOM.fullmatch(value)):
        return value
    return {"True": True, "False": False}.get(atom[1]) if atom[1][0] in "TF" else json.loads(atom[1])


def _sentence(write: Json, held: Mapping[str, Any]) -> str:
    place = next((each for each in write["places"] if _field_of([each], held)), write["places"][0])
    before, after = (write[name] if write[name] is not None else "nothing" for name in ("before", "after"))
    return f"{place}, from {before} to {after}."


# ---------------------------------------------------------------- what was handed out, by name


def _fields(value: Any, by_turn: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the fields of a moment, lists and other values by name; lists inside are named by paths."""
    if not isinstance(value, dict):
        return {} if value is None else {"value": value}
    return {
        inside: each
        for name, child in value.items()
        for inside, each in _flat(name, child, 0, by_turn=name in by_turn)
    }


def _flat(name: str, value: Any, depth: int, *, by_turn: bool = False) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list) and (by_turn or any(isinstance(each, list) for each in value)):
        for number, each in enumerate(value):
            yield from _flat(name if len(value) == 1 else f"{name}[{number}]", each, depth)
        return
    lists = [key for key, each in value.items() if _is_listed(each)] if isinstance(value, dict) else []
    if not lists or depth == _DEEPEST:
        yield name, value
        return
    for key in lists:
        yield from _flat(f"{name}.{key}", value[key], depth + 1)
    rest = {key: each for key, each in value.items() if key not in lists}
    if rest:
        yield name, rest


def _is_listed(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, dict | list) for each in value)


def _messages(prompt: Any) -> Iterator[Any]:
    """The messages of a prompt, and what stands beside them first."""
    if isinstance(prompt, list):
        yield from prompt
    elif isinstance(prompt, dict):
        yield from ({key: each} for key, each in prompt.items() if not _is_listed(each))
        for each in prompt.values():
            if _is_listed(each):
                yield from each
    elif prompt is not None:
        yield prompt


def _field_of(places: Sequence[str], held: Mapping[str, Any]) -> str | None:
    """The name of the field that has one of some places: the longest that begins it."""
    found = [
        name
        for place in places
        for name in held
        if re.match(rf"{re.escape(name)}(?![\w$])", place.removeprefix("."))
    ]
    return max(found, key=len, default=None)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _amount(fields: Mapping[str, Any]) -> str:
    """Describes how much was handed out: the length of the first list."""
    for name, value in fields.items():
        if isinstance(value, list):
            last = re.split(r"[.\[]", name)[-1]
            if last in ("messages", "history", "prompt"):
                return _count(len(value), "message")
            return f"{name}, {_count(len(value), 'element')}"
    return ", ".join(fields) or "nothing"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


# ---------------------------------------------------------------- what differs between the two


def _compare(runs: Sequence[Recorded], *, is_of_others: bool) -> list[Recorded]:
    """The runs, with the elements of each that the other has not at the same moment."""
    both = [pair for pair in pairs(runs) if None not in pair]
    beside: list[dict[int, int]] = [{}, {}]
    for left, right in both:
        if left is not None and right is not None:
            beside[0][left], beside[1][right] = right, left
    return [
        _mark_differences(run, runs[1 - side], beside[side], is_of_others=is_of_others)
        for side, run in enumerate(runs)
    ]


def _mark_differences(
    run: Recorded, other: Recorded, beside: Mapping[int, int], *, is_of_others: bool
) -> Recorded:
    theirs = dict(other.prompts)
    asked = iter(run.prompts)
    known: set[str] = set()
    moments = []
    for number, moment in enumerate(run.moments):
        if moment.caption is None:
            continue
        caption, seen = moment.caption, set[str]()
        if moment.name == _MODEL:
            step, messages = next(asked)
            if different := _numbers_apart(messages, theirs.get(step)):
                seen = {f"prompt {step}"}
                said = f"{caption.says} {_of(len(different), len(messages))} the other run has not."
                caption = attrs.evolve(caption, says=said)
        elif number in beside:
            apart = _apart(moment.value or {}, other.moments[beside[number]].value or {})
            caption = attrs.evolve(caption, apart=apart)
            if moment.kind == "end":
                seen = {*map(_root, apart)} | ({_END} if run.error != other.error else set())
                caption = attrs.evolve(caption, lines=_lines_of_end(seen, is_of_others=is_of_others))
        moments.append(attrs.evolve(moment, caption=attrs.evolve(caption, sight=not seen <= known)))
        known |= seen
    return attrs.evolve(run, moments=moments)


def _apart(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, dict[int, Any]]:
    """By the names of lists: the numbers of the elements that the other has not, and what it has there."""
    found = {}
    for name, value in mine.items():
        others = _items(theirs.get(name))
        if different := _numbers_apart(_items(value), others):
            found[name] = {n: others[n] if n < len(others) else None for n in different}
    return found


def _lines_of_end(seen: AbstractSet[str], *, is_of_others: bool) -> list[str]:
    where = ", ".join(_HOLDERS.get(name, name) for name in sorted(seen - {_END}))
    lines = [f"The other run has something else in {where}."] if where else []
    lines += ["The other run ends otherwise."] if _END in seen else []
    lines += ["That is of another finding."] if lines and is_of_others else []
    return lines or ["Both runs end alike."]


def _of(number: int, count: int) -> str:
    return "It" if number == count == 1 else f"{number} of them"


def _root(name: str) -> str:
    return re.split(r"[.\[]", name)[0]


def _numbers_apart(items: Sequence[Any], others: Sequence[Any] | None) -> list[int]:
    """The numbers of elements that are not among others."""
    known = {json.dumps(each, sort_keys=True) for each in others or ()}
    return [number for number, each in enumerate(items) if json.dumps(each, sort_keys=True) not in known]


def _reach(live: Recorded, seen: Sequence[str], names: Sequence[str]) -> list[str]:
    """Describes where the live run differs from the run beside it, as far as the write is seen there."""
    reached = []
    for moment in live.moments:
        caption = moment.caption
        if caption is None or not caption.sight:
            continue
        if moment.name == _MODEL and any(holder in _PROMPTS for holder in seen):
            reached.append(f"the prompt of {names[moment.step]}")
        elif moment.kind == "end":
            roots = dict.fromkeys(map(_root, caption.apart))
            reached += [_HOLDERS.get(root, root) for root in roots if root in seen]
            # What the framework refuses is seen by the result: there is none.
            reached += [_END] if live.error and "result" in seen else []
    return reached


def _with_reach(live: Recorded, reached: Sequence[str]) -> Recorded:
    """The live run, whose writes say whom they reach."""
    said = (
        f"In this conversation it reaches {', '.join(reached)}." if reached else "Nobody is seen to see it."
    )

    def with_line(moment: Moment) -> Moment:
        if moment.kind != "write" or moment.caption is None:
            return moment
        lines = [*moment.caption.lines, said]
        return attrs.evolve(moment, caption=attrs.evolve(moment.caption, lines=lines))

    return attrs.evolve(live, moments=[*map(with_line, live.moments)])
