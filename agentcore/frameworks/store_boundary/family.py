"""Programs of turns on a store: their format and ops, and how they are generated and made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias

from agentcore.frameworks.store_boundary.emulator import StoreLoop
from agentcore.frameworks.store_boundary.profiles import (
    PROFILES,
    Event,
    Hook,
    Settings,
    StoreProfile,
    Turn,
    default_order,
)
from agentcore.heap.views import View
from agentcore.kit.choices import ChoicePoints, Choices, Marker, Weights
from agentcore.kit.compare import Each, ids_may_differ
from agentcore.kit.families import Comparison, Emulation, Family, Refusal, Shrinking, Write
from agentcore.kit.ops import NowhereError, Op, Path, Record, Slot, Spelling, below, slot
from agentcore.kit.ops import Turn as OpTurn
from agentcore.kit.program import BadProgram, ProgramSchema, Schema, id_of, program_to_line, schema
from agentcore.kit.shrink import Smallest, entries_out

__all__ = ["FAMILY", "events_of", "program_of", "trace_under"]

Json: TypeAlias = dict[str, Any]

_PACKAGE: Final = "agentcore.frameworks.store_boundary"
_FIELDS: Final = ("id", "stored", "turns", "order")

# ---------------------------------------------------------------- programs

_PROGRAM: Final = ProgramSchema("program", _PACKAGE)
_TRACE: Final = Schema("trace", _PACKAGE)


def check(program: Json) -> None:
    """Raises BadProgram unless plain JSON is a program of the format."""
    _PROGRAM.check(program)
    steps = [len(turn.get("script", ())) for turn in program["turns"]]
    loaded: dict[int, int] = {}
    for index, event in enumerate(program.get("order", ())):
        reason = _misplaced(event, steps, loaded)
        if reason:
            raise BadProgram(reason, f"$.order[{index}]", id_of(program))


def _misplaced(event: Json, steps: Sequence[int], done: dict[int, int]) -> str | None:
    """Returns the fault of an event, if any, and updates `done`, the steps of each turn that has loaded."""
    ((does, turn),) = event.items()
    if turn >= len(steps):
        return f"there is no turn {turn}; the last one is {len(steps) - 1}"
    if does == "load":
        if turn in done:
            return f"turn {turn} has loaded before; `retry` has a refused turn load again"
        done[turn] = 0
    elif turn not in done:
        return f"turn {turn} has not loaded yet; put its load before"
    elif does == "step":
        done[turn] += 1
        if done[turn] > steps[turn]:
            return f"the script of turn {turn} has {steps[turn]} answers; add one, or drop the step"
    return None


def events_of(program: Json) -> list[Event]:
    """Returns the events of a program, in order."""
    if "order" in program:
        return [event for entry in program["order"] for event in entry.items()]
    return [*default_order([len(turn.get("script", ())) for turn in program["turns"]])]


def to_line(program: Mapping[str, Any]) -> str:
    """The program's line, its top-level fields in the order of the format."""
    return program_to_line(program, _FIELDS)


# ---------------------------------------------------------------- ops


class _Ops(OpTurn):
    """The ops of one call of a hook, on the messages that it gets."""

    spelling: ClassVar[Mapping[str, Spelling]] = MappingProxyType(
        {
            "set": Spelling("set"),
            "addText": Spelling("add text"),
            "delete": Spelling("delete"),
            "push": Spelling("push"),
            "insert": Spelling("insert"),
            "splice": Spelling("splice"),
            "reverse": Spelling("reverse"),
            "clear": Spelling("clear"),
        }
    )

    def __init__(self, recording: Recording, by: str, messages: Any) -> None:
        super().__init__(recording.record, by)
        self.loop = recording.loop
        self.messages = messages
        self.returned: list[Any] | None = None

    def at(self, op: Op, path: Path) -> Any:
        """Returns the value at a path from the list."""
        del op
        return below(self.messages, path)

    def field(self, op: Op, path: Path, *, fresh: bool = False) -> Slot:
        """The field or element that a path leads to from the list."""
        *above, key = path
        container = self.at(op, above)
        return Slot(container, slot(container, key, fresh=fresh))

    def refused(self, number: int, op: Op, error: Exception) -> None:
        """An op that an object refuses leads nowhere."""
        del op
        self.list_error(number, str(error))

    def _rewrite(self, op: Op) -> None:
        for place, message in enumerate(self.messages):
            if isinstance(message, Mapping) and message.get("id") == op["id"]:
                self.messages[place] = {**op["value"], "id": op["id"]}
                return
        raise NowhereError(f"no message has the id {op['id']!r}")

    def _return(self, op: Op) -> None:
        self.returned = [self._returned(each) for each in op["messages"]]
        self.over = True

    def _returned(self, item: Json) -> Any:
        if "message" in item:
            return item["message"]
        found = below(self.messages, [item["at"]])
        if "with" not in item:
            return found
        if not (isinstance(found, View) and isinstance(found, Mapping)):
            raise NowhereError("only a message can be copied with other fields")
        return self.loop.copy_of(found, item["with"])

    extras: ClassVar[Mapping[str, Callable[[Any, Op], None]]] = MappingProxyType(
        {"rewrite": _rewrite, "return": _return}
    )


# ---------------------------------------------------------------- running one


class Recording:
    """A program about to run under a profile."""

    refusals: Sequence[Refusal] = ()

    def __init__(self, profile: StoreProfile, program: Json) -> None:
        self.profile = profile
        self.program = program
        self.record = Record()
        self.settings = self._settings()
        self.loop = StoreLoop(profile, self.settings)

    def _settings(self) -> Settings:
        turns = [self._turn(number, turn) for number, turn in enumerate(self.program["turns"])]
        return Settings(stored=self.program.get("stored", ()), turns=turns, order=events_of(self.program))

    def _turn(self, number: int, turn: Json) -> Turn:
        hooks = [
            self._hook(f"turn {number}, step {step}", ops) if ops else None
            for step, ops in enumerate(turn.get("hooks", ()))
        ]
        return Turn(
            agent=turn["agent"],
            given=turn["input"],
            answers=turn.get("script", ()),
            hooks=hooks,
            retry=turn.get("retry", False),
        )

    def _hook(self, by: str, ops: Sequence[Op]) -> Hook:
        def hook(messages: Any) -> Any:
            turn = _Ops(self, by, messages)
            turn.run(ops)
            return turn.returned

        return hook

    def trace(self) -> Json:
        """Runs the program and writes its trace."""
        self.loop.run()
        return {
            "id": self.program["id"],
            "profile": self.profile.name,
            "loads": self.loop.loads,
            "prompts": self.loop.prompts,
            "saves": self.loop.saves,
            **self.record.entries_of("opErrors"),
            **self.loop.outcome(),
        }


def trace_under(profile: StoreProfile, program: Json) -> Json:
    """The trace of a program under a profile of one's own."""
    return Recording(profile, program).trace()


def trace(program: Json, profile: str) -> Json:
    """The trace of a program under a profile."""
    return trace_under(PROFILES[profile], program)


# ---------------------------------------------------------------- what programs contain

_WORDS: Final = {
    "program": "program",
    "event": "event",
    "message": "message",
    "message.role": "role",
    "message.content": "content",
    "part": "part",
    "turn": "turn",
    "op": "op",
    "op insert": "insert",
    "splice": "splice",
    "returned": "returned",
}
_EXTRAS: Final = (
    *("several turns", "several agents", "an agent again", "several steps", "turns at once", "saved early"),
    *("saved again", "never saved", "equal messages", "an id again"),
)
_POINTS: Final = ChoicePoints(schema("program", _PACKAGE), _WORDS)
FEATURES: Final = (*_POINTS.names, *_EXTRAS)


def features(program: Json) -> set[str]:
    """Returns the `FEATURES` that a program has."""
    return _POINTS.of(program) | {name for name, holds in _extras(program).items() if holds}


def _extras(program: Json) -> Mapping[str, bool]:
    turns, events = program["turns"], events_of(program)
    agents = [turn["agent"] for turn in turns]
    saves = [turn for does, turn in events if does == "save"]
    said = [*_messages(program)]
    ids = [message["id"] for message in said if "id" in message]
    return {
        "several turns": len(turns) > 1,
        "several agents": len({*agents}) > 1,
        "an agent again": len({*agents}) < len(agents),
        "several steps": any(len(turn.get("script", ())) > 1 for turn in turns),
        "turns at once": any(_overlap(events, turn) for turn in range(len(turns))),
        "saved early": any(
            ("save", turn) in events[:place] for place, (does, turn) in enumerate(events) if does == "step"
        ),
        "saved again": len({*saves}) < len(saves),
        "never saved": len({*saves}) < len(turns),
        "equal messages": any(message in said[:place] for place, message in enumerate(said)),
        "an id again": len({*ids}) < len(ids),
    }


def _overlap(events: Sequence[Event], turn: int) -> bool:
    """True if another turn has an event between the first and the last event of a turn."""
    own = [place for place, (_, number) in enumerate(events) if number == turn]
    return bool(own) and len(own) < own[-1] - own[0] + 1


def _messages(program: Json) -> Iterator[Json]:
    """All that is stored before, given and answered."""
    yield from program.get("stored", ())
    for turn in program["turns"]:
        yield from turn["input"]
        yield from (message for answer in turn.get("script", ()) for message in answer)


def writes(program: Json) -> Iterator[Write]:
    """The ops of a program, turn after turn."""
    for number, turn in enumerate(program["turns"]):
        for step, ops in enumerate(turn.get("hooks", ())):
            for place, op in enumerate(ops):
                yield Write("the hook", op["op"], ("turns", number, "hooks", step, place))


# ---------------------------------------------------------------- making them

_OPS: Final = Weights(
    {
        "set": 14,
        "addText": 12,
        "delete": 10,
        "push": 12,
        "insert": 8,
        "splice": 8,
        "reverse": 5,
        "clear": 5,
        "rewrite": 8,
        "return": 18,
    }
)
_AGENTS: Final = ("A", "B", "C")


class _Maker(Marker):
    """Draws a program; but for messages that come twice, each text stands nowhere else."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.ids: list[str] = []
        self.with_ids = choices.chance(55)
        self.said: list[Json] = []

    def program(self, program_id: str) -> Json:
        choices = self.choices
        stored = [self._pair(number) for number in range(choices.integer(0, 2))]
        turns = [self._turn() for _ in range(choices.integer(1, 3))]
        before = [message for pair in stored for message in pair]
        made: Json = {"id": program_id, **({"stored": before} if before else {}), "turns": turns}
        if choices.chance(65):
            made["order"] = self._order(turns)
        return made

    # --- messages -------------------------------------------------------------------------------------------

    def _pair(self, number: int) -> list[Json]:
        return [self._message("user" if number else "system"), self._message("assistant")]

    def _message(self, role: str) -> Json:
        choices = self.choices
        if self.said and choices.chance(8):
            # What was said before, word by word; half of the time with the id that it had.
            again = {**choices.sample(self.said)}
            if choices.chance(50):
                again.pop("id", None)
            return again
        text = self.mark()
        parts = role != "system" and choices.chance(50)
        return self._named({"role": role, "content": [{"type": "text", "text": text}] if parts else text})

    def _named(self, message: Json) -> Json:
        choices = self.choices
        if self.with_ids and choices.chance(80):
            again = bool(self.ids) and choices.chance(8)
            own = choices.sample(self.ids) if again else f"m{len(self.ids)}"
            self.ids.append(own)
            message = {"id": own, **message}
        if choices.chance(12):
            message["metadata"] = {"note": {"by": {"text": self.mark()}}}
        self.said.append(message)
        return message

    def _turn(self) -> Json:
        choices = self.choices
        turn: Json = {"agent": choices.sample(_AGENTS)}
        turn["input"] = [self._message("user") for _ in range(choices.integer(1, 2))]
        steps = choices.integer(0, 2) if choices.chance(30) else 1
        script = [self._answer(last=step == steps - 1) for step in range(steps)]
        if script:
            turn["script"] = script
        if script and choices.chance(60):
            turn["hooks"] = [self._hook() for _ in script]
        if choices.chance(30):
            turn["retry"] = True
        return turn

    def _answer(self, *, last: bool) -> list[Json]:
        if last:
            return [self._message("assistant")]
        call = f"c{self.mark()}"
        use = {"type": "tool-call", "toolCallId": call, "toolName": "look", "input": {"at": self.mark()}}
        output = {"type": "json", "value": {"seen": self.mark()}}
        result = {"type": "tool-result", "toolCallId": call, "toolName": "look", "output": output}
        return [
            self._named({"role": "assistant", "content": [use]}),
            self._named({"role": "tool", "content": [result]}),
        ]

    # --- hooks ----------------------------------------------------------------------------------------------

    def _hook(self) -> list[Json]:
        return [self._op() for _ in range(self.choices.integer(0, 2))]

    def _fresh(self) -> Json:
        message: Json = {"role": "user", "content": self.mark()}
        if self.with_ids and self.choices.chance(40):
            message["id"] = self.choices.sample(self.ids) if self.ids and self.choices.chance(50) else "h"
        return message

    def _index(self) -> int:
        return self.choices.sample((-1, 0, 1, -2))

    def _op(self) -> Json:
        choices = self.choices
        match _OPS.draw(choices):
            case "set":
                return self._set()
            case "addText":
                return {"op": "addText", "path": [self._index(), "content"], "value": self.mark()}
            case "delete":
                return {
                    "op": "delete",
                    "path": choices.sample(([self._index()], [self._index(), "content", 0])),
                }
            case "push":
                return {"op": "push", **self._in_a_list()}
            case "insert":
                return {"op": "insert", "index": choices.sample((0, 1, -1)), **self._in_a_list()}
            case "splice":
                return self._splice()
            case "rewrite":
                own = choices.sample(self.ids) if self.ids else "m0"
                return {"op": "rewrite", "id": own, "value": {"role": "user", "content": self.mark()}}
            case "return":
                return {"op": "return", "messages": [self._returned() for _ in range(choices.integer(0, 4))]}
            case word:
                return {"op": word}

    def _set(self) -> Json:
        index = self._index()
        whole = {"path": [index], "value": self._fresh()}
        kinds: tuple[Json, ...] = (
            {"path": [index, "content"], "value": self.mark()},
            {"path": [index, "content", 0, "text"], "value": self.mark()},
            {"path": [index, "content", 0, "input", "at"], "value": self.mark()},
            {"path": [index, "metadata", "note", "by", "text"], "value": self.mark()},
            whole,
        )
        return {"op": "set", **self.choices.sample(kinds)}

    def _in_a_list(self) -> Json:
        if self.choices.chance(70):
            return {"value": self._fresh()}
        return {"path": [self._index(), "content"], "value": {"type": "text", "text": self.mark()}}

    def _splice(self) -> Json:
        choices = self.choices
        op: Json = {"op": "splice"}
        if choices.chance(70):
            op["start"] = choices.sample((0, 1, -1))
        if choices.chance(70):
            op["count"] = choices.integer(0, 2)
        if choices.chance(60):
            op["items"] = [self._fresh() for _ in range(choices.integer(0, 2))]
        return op

    def _returned(self) -> Json:
        choices = self.choices
        match choices.integer(0, 3):
            case 0 | 1:
                return {"at": self._index()}
            case 2:
                return {"at": self._index(), "with": {"content": self.mark()} if choices.chance(50) else {}}
        return {"message": self._fresh()}

    # --- the order of what happens --------------------------------------------------------------------------

    def _order(self, turns: Sequence[Json]) -> list[Json]:
        queues = [self._events(number, len(turn.get("script", ()))) for number, turn in enumerate(turns)]
        order: list[Json] = []
        while any(queues):
            queue = self.choices.sample([queue for queue in queues if queue])
            order.append(queue.pop(0))
        return order

    def _events(self, number: int, steps: int) -> list[Json]:
        choices = self.choices
        early = choices.chance(15)
        events: list[Json] = [{"load": number}]
        for _ in range(steps):
            events += [{"save": number}] if early else []
            events.append({"step": number})
        if choices.chance(92):
            events.append({"save": number})
        if choices.chance(8):
            events.append({"save": number})
        return events


def program_of(choices: Choices, program_id: str, profile: str) -> Json:
    """A random program, the same for every profile."""
    del profile
    return _Maker(choices).program(program_id)


# ---------------------------------------------------------------- making them smaller


def _without_turn(smallest: Smallest) -> Iterator[Json]:
    for number in reversed(range(len(smallest()["turns"]))):
        yield _less(smallest(), number)


def _less(program: Json, gone: int) -> Json:
    turns = [turn for number, turn in enumerate(program["turns"]) if number != gone]
    if "order" not in program:
        return {**program, "turns": turns}
    kept = [event for entry in program["order"] for event in entry.items() if event[1] != gone]
    return {**program, "turns": turns, "order": [{does: turn - (turn > gone)} for does, turn in kept]}


def _turn_after_turn(smallest: Smallest) -> Iterator[Json]:
    """Events of a turn that come before those of another, as early as they can."""
    for place in range(1, len(smallest().get("order", ()))):
        if place < len(order := [*smallest().get("order", ())]):
            order[place - 1], order[place] = order[place], order[place - 1]
            yield {**smallest(), "order": order}


def _without_step(smallest: Smallest) -> Iterator[Json]:
    """A turn's last answer with its hook and its step, then one op after the other."""
    for number, turn in enumerate(smallest()["turns"]):
        for _ in turn.get("script", ()):
            yield _shorter(smallest(), number)
        for step in range(len(turn.get("hooks", ()))):
            yield from entries_out(smallest, "turns", number, "hooks", step)


def _shorter(program: Json, number: int) -> Json:
    turns = [*program["turns"]]
    script = turns[number].get("script", [])[:-1]
    hooks = turns[number].get("hooks", [])[: len(script)]
    turn = {key: value for key, value in turns[number].items() if key != "hooks"}
    turns[number] = {**turn, "script": script} | ({"hooks": hooks} if hooks else {})
    made = {**program, "turns": turns}
    steps = [place for place, event in enumerate(program.get("order", ())) if event == {"step": number}]
    if len(steps) > len(script):
        made["order"] = [event for place, event in enumerate(program["order"]) if place != steps[-1]]
    return made


def _measure(program: Json) -> tuple[int, ...]:
    ops = sum(len(ops) for turn in program["turns"] for ops in turn.get("hooks", ()))
    events = events_of(program)
    switches = sum(one[1] != other[1] for one, other in pairwise(events))
    return len(program["turns"]), len(events) + ops, switches, len([*_messages(program)])


SHRINKING: Final = Shrinking(
    required=frozenset({"id", "turns"}),
    names=frozenset({"id", "agent", "role", "op", "type"}),
    measure=_measure,
    edits=(_without_turn, _without_step, _turn_after_turn),
)


def profiles_may_differ(trace: Json) -> Json:
    """`profile` names what ran the program."""
    return {key: value for key, value in trace.items() if key != "profile"}


COMPARISON: Final = Comparison(
    permitted={"id": ids_may_differ, "profile": profiles_may_differ},
    order=(
        Each("loads", ("head", "messages")),
        Each("prompts", ("messages",)),
        Each("saves", ("expected", "actual", "refused", "saved", "stored")),
        *("opErrors", "losses", "final", "differs"),
    ),
)

# ---------------------------------------------------------------- the family


def _notes(trace: Json) -> Iterator[str]:
    """A sentence for each loss."""
    for loss in trace.get("losses", ()):
        whose = "stored before" if loss["turn"] is None else f"of turn {loss['turn']}"
        what = (
            "A message that nobody said" if loss["message"] is None else f"Message {loss['message']} {whose}"
        )
        at = f", at {', '.join(map(str, loss['at']))} in the store" if loss["at"] else ""
        by = loss["by"]
        since = f"since event {by['event']}, the {by['does']} of turn {by['turn']} by agent {by['agent']}"
        yield f"{what} is {loss['kind']}{at}, {since}."


FAMILY: Final = Family(
    name="store-boundary",
    profiles=tuple(PROFILES),
    check=check,
    to_line=to_line,
    trace=trace,
    program=program_of,
    comparison=COMPARISON,
    shrinking=SHRINKING,
    feature_names=FEATURES,
    features=features,
    smallest=lambda text: {
        "id": "lint",
        "turns": [{"agent": "A", "input": [{"role": "user", "content": text}]}],
    },
    trace_problem=_TRACE.problem,
    writes=writes,
    emulation=Emulation(profiles=PROFILES, trace=trace_under),
    recording=lambda program, profile: Recording(PROFILES[profile], program),
    trace_fields=("losses",),
    notes=_notes,
)
