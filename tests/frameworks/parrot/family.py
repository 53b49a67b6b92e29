"""Parrot's programs: texts, and for each step the ops of a hook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from agentcore.kit.choices import Choices
from agentcore.kit.compare import ids_may_differ
from agentcore.kit.families import Comparison, Emulation, Family, Refusal, Shrinking, Write
from agentcore.kit.program import ProgramSchema, Schema, program_to_line
from frameworks.parrot.emulator import Hook, ParrotLoop, Settings
from frameworks.parrot.profiles import PROFILES, ParrotProfile

Json = dict[str, Any]
FIELDS: Final = ("id", "messages", "hooks")
VERBS: Final = ("append", "set", "clear", "return")
_HERE: Final = "frameworks.parrot"
_PROGRAM: Final = ProgramSchema("program", _HERE)
_TRACE: Final = Schema("trace", _HERE)
_TEXTS: Final = ("a", "b", "c")


# ---------------------------------------------------------------- running one


def _hook(ops: Sequence[Json]) -> Hook:
    def hook(messages: Any) -> Any:
        for op in ops:
            match op:
                case {"append": text}:
                    messages.append(text)
                case {"set": index, "to": text} if index < len(messages):
                    messages[index] = text
                case {"clear": _}:
                    messages.clear()
                case {"return": texts}:
                    return [*texts]
        return None

    return hook


class Recording:
    """A program about to run under a profile."""

    def __init__(self, profile: ParrotProfile, program: Json) -> None:
        settings = Settings(messages=program["messages"], hooks=[_hook(ops) for ops in program["hooks"]])
        self.id = program["id"]
        self.loop = ParrotLoop(profile, settings)
        self.refusals: Sequence[Refusal] = ()

    def trace(self) -> Json:
        """Runs the program and writes its trace."""
        self.loop.run()
        plain = self.loop.store.plain
        caller, history = plain(self.loop.caller), plain(self.loop.history)
        return {"id": self.id, "prompts": self.loop.prompts, "caller": caller, "history": history}


def trace_under(profile: ParrotProfile, program: Json) -> Json:
    """The trace of a program under a profile of one's own."""
    return Recording(profile, program).trace()


def trace(program: Json, profile: str) -> Json:
    """The trace of a program under a profile."""
    return trace_under(PROFILES[profile], program)


def to_line(program: Mapping[str, Any]) -> str:
    """The program's line."""
    return program_to_line(program, FIELDS)


# ---------------------------------------------------------------- making them, and making them smaller


def random_program(choices: Choices, program_id: str, _: str) -> Json:
    """A random program, the same for every profile."""
    messages = [choices.sample(_TEXTS) for _ in range(choices.integer(1, 3))]
    hooks = [[_op(choices) for _ in range(choices.integer(0, 2))] for _ in range(choices.integer(1, 3))]
    return {"id": program_id, "messages": messages, "hooks": hooks}


def _op(choices: Choices) -> Json:
    text = choices.sample(_TEXTS)
    match choices.sample(VERBS):
        case "append":
            return {"append": text}
        case "set":
            return {"set": choices.integer(0, 2), "to": text}
        case "clear":
            return {"clear": True}
    return {"return": [text]}


def features(program: Json) -> set[str]:
    """What a program contains."""
    ops = {f"op {next(iter(op))}" for hook in program["hooks"] for op in hook}
    return ops | ({"several steps"} if len(program["hooks"]) > 1 else {"one step"})


def writes(program: Json) -> Iterator[Write]:
    """The ops of a program, in the order in which a run comes to them."""
    for step, ops in enumerate(program["hooks"]):
        for number, op in enumerate(ops):
            yield Write("hook", next(iter(op)), ("hooks", step, number))


def _without_a_step(smallest: Callable[[], Json]) -> Iterator[Json]:
    for step in reversed(range(len(smallest()["hooks"]))):
        program = smallest()
        yield {**program, "hooks": [*program["hooks"][:step], *program["hooks"][step + 1 :]]}


FAMILY: Final = Family(
    name="parrot",
    profiles=tuple(PROFILES),
    check=_PROGRAM.check,
    to_line=to_line,
    trace=trace,
    program=random_program,
    comparison=Comparison(permitted={"id": ids_may_differ}, order=("prompts", "caller", "history")),
    shrinking=Shrinking(
        required=FIELDS,
        names=("id",),
        measure=lambda program: (len(program["hooks"]), sum(map(len, program["hooks"]))),
        edits=(_without_a_step,),
    ),
    feature_names=(*(f"op {verb}" for verb in VERBS), "one step", "several steps"),
    features=features,
    smallest=lambda text: {"id": "lint", "messages": [text], "hooks": [[]]},
    trace_problem=_TRACE.problem,
    writes=writes,
    emulation=Emulation(profiles=PROFILES, trace=trace_under),
    recording=lambda program, profile: Recording(PROFILES[profile], program),
    trace_fields=("prompts",),
)
