"""The moments of a run, for those who look at a finding: what the hook got, wrote and returned.

Two runs of the smallest conversation are recorded, live and as a value, with each prompt, in the form of
`runs` in `schemas/findings.schema.json`. What is recorded is bounded; what was cut is counted. Runs under the
interpreter of whoever's hook is checked: standard library only.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentcore.guard.reading import ATOMS
from agentcore.guard.snapshot import Snapshot
from agentcore.live.copies import Data
from agentcore.live.originals import Originals
from agentcore.live.shown import show
from agentcore.live.tap import Mode
from agentcore.live.writes import general, writes

if TYPE_CHECKING:
    from agentcore.live.adapter import Boundary
    from agentcore.live.conversations import Conversation
    from agentcore.live.judge import Judge, Shown
    from agentcore.live.runs import Observation

__all__ = ["Log", "runs_of"]

Where = Callable[[], tuple[int, int]]
_LONGEST: Final = 2_000
_END: Final = 500
_MOST: Final = 500
_FIRST: Final = 10
_LAST: Final = 50
_DEEPEST: Final = 40
_WHOLE: Final = 300_000
_LEFT_OUT: Final = "…"


def runs_of(judge: Judge, of: Conversation, path: str, seed: int, shown: Shown) -> dict[str, Any]:
    """Runs a conversation twice more, live and as a value, and returns what each shows moment by moment.

    Args:
        judge: the check.
        of: the conversation.
        path: the framework's path.
        seed: the seed of the runs.
        shown: the finding: only writes at places such as its own are recorded.
    """
    cut: Counter[str] = Counter()
    made: dict[str, Any] = {}
    for name, mode in (("live", Mode.LIVE), ("value", Mode.VALUE)):
        log = Log(judge.boundary, {general(each) for each in shown.places}, judge.drop)
        seen = judge.run(of, path, seed, mode, log=log)
        made[name] = log.run(seen, cut)
    return {**made, "cut": {name: cut[name] for name in ("texts", "lists", "moments")}}


@dataclass
class _Call:
    """One call of the hook, from its begin on; `held` is all that it was given, as it is compared."""

    given: dict[str, Any]
    held: dict[str, Any]
    reader: Data
    turn: int
    step: int
    snapshot: Snapshot


class Log:
    """Records the moments of one run."""

    def __init__(self, boundary: Boundary, wanted: AbstractSet[str], drop: Collection[str] = ()) -> None:
        """Begins without moments.

        Args:
            boundary: where the hook is attached.
            wanted: the places, without indices, at which writes are recorded.
            drop: names of attributes that are left out, such as random ids.
        """
        self._boundary = boundary
        self._wanted = wanted
        self._drop = drop
        # A hook may replace what is used to look at what it did.
        self._originals = Originals()
        self._open: list[_Call] = []
        self._moments: list[dict[str, Any]] = []

    def around(self, where: Where) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Returns what goes around the hook of a run whose turn and step `where` returns."""

        def wrapped(hook: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(hook)
            def call(*args: Any, **options: Any) -> Any:
                one = self._begin(args, options, where)
                try:
                    returned = hook(*args, **options)
                except BaseException as error:
                    self._fail(one, error)
                    raise
                if inspect.isawaitable(returned):
                    return self._await(one, returned)
                self._end(one, returned)
                return returned

            return call

        return wrapped

    def prompt(self, turn: int, step: int, shown: Any) -> None:
        """Adds a prompt; what open calls have written until now comes before it."""
        for each in self._open:
            self._look(each)
        self._add("prompt", turn, step, shown)

    def run(self, seen: Observation, cut: Counter[str]) -> dict[str, Any]:
        """Returns the moments of the run, which has ended, in the form of the schema.

        Args:
            seen: what is seen of the run.
            cut: counts what is left out.
        """
        for each in self._open:
            self._look(each)
        last = self._moments[-1] if self._moments else {"turn": 0, "step": 0}
        held = {name: value for name, value in seen.shown.items() if name not in ("prompts", "error")}
        self._add("end", last["turn"], last["step"], held)
        error = None if seen.error is None else f"{type(seen.error).__name__}: {seen.error}"
        return {"moments": [*_bound_all(self._moments, cut)], "error": error and _text(error, cut)}

    # ------------------------------------------------------------ one call

    def _begin(self, args: Any, options: Any, where: Where) -> _Call:
        boundary = self._boundary
        given = {**dict(zip(boundary.names(args), args, strict=False)), **options}
        kept = frozenset(id(each) for each in boundary.kept(given) if type(each) not in ATOMS)
        turn, step = where()
        # After the model, the step's own prompt has been counted already.
        step -= boundary.after and step > 0
        held = {name: each for name, each in given.items() if name != boundary.handler}
        if handles := boundary.handles(given):
            held["handle"] = [*handles]
        reader = Data(kept)
        one = _Call(given, held, reader, turn, step, Snapshot({**held}, reader))
        self._open.append(one)
        self._add("handed", turn, step, show(held, reader, self._drop))
        return one

    async def _await(self, one: _Call, returned: Any) -> Any:
        try:
            value = await returned
        except BaseException as error:
            self._fail(one, error)
            raise
        self._end(one, value)
        return value

    def _fail(self, one: _Call, error: BaseException) -> None:
        self._originals.restore()
        self._close(one)
        self._add("raised", one.turn, one.step, f"{type(error).__name__}: {error}")

    def _end(self, one: _Call, returned: Any) -> None:
        self._originals.restore()
        if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
            return  # its call goes on
        self._close(one)
        if returned is not None:
            self._add("returned", one.turn, one.step, show(returned, one.reader, self._drop))

    def _close(self, one: _Call) -> None:
        self._look(one)
        self._open = [each for each in self._open if each is not one]

    def _look(self, one: _Call) -> None:
        """Adds the writes since the last look, those at the places that are wanted."""
        found = [
            each
            for each in writes(one.snapshot, one.reader, one.turn, one.step, "argument")
            if not self._wanted.isdisjoint(map(general, each.places))
        ]
        if not found:
            return
        one.snapshot = Snapshot({**one.held}, one.reader)
        written = [{"places": [*each.places], "before": each.before, "after": each.after} for each in found]
        self._add("written", one.turn, one.step, show(one.held, one.reader, self._drop), writes=written)

    def _add(self, kind: str, turn: int, step: int, value: Any, **more: Any) -> None:
        self._moments.append({"kind": kind, "turn": turn, "step": step, "value": value, **more})


# ---------------------------------------------------------------- bounds


def _bound_all(moments: Iterable[dict[str, Any]], cut: Counter[str]) -> Iterable[dict[str, Any]]:
    """Yields the moments with bounded values, and without values from where the whole would be too long."""
    whole = 0
    for moment in moments:
        value = _bound(moment["value"], cut, 0)
        whole += len(json.dumps(value))
        if whole > _WHOLE:
            cut["moments"] += 1
            value = None
        yield {**moment, "value": value}


def _bound(value: Any, cut: Counter[str], depth: int) -> Any:
    if isinstance(value, str):
        return _text(value, cut)
    if isinstance(value, dict | list) and depth > _DEEPEST:
        return _LEFT_OUT
    if isinstance(value, dict):
        return {_text(key, cut): _bound(each, cut, depth + 1) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > _FIRST + _LAST:
        cut["lists"] += 1
    # Those in the middle keep their places, so that indices stay right.
    end = len(value) - _LAST
    made = [
        _LEFT_OUT if _FIRST <= index < end else _bound(each, cut, depth + 1)
        for index, each in enumerate(value[:_MOST])
    ]
    return made if len(value) <= _MOST else [*made, f"{_LEFT_OUT} {len(value) - _MOST} more"]


def _text(text: str, cut: Counter[str]) -> str:
    if len(text) <= _LONGEST:
        return text
    cut["texts"] += 1
    start = _LONGEST - _END
    return f"{text[:start]}{_LEFT_OUT}({len(text) - _LONGEST} characters){_LEFT_OUT}{text[-_END:]}"
