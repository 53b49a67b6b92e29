"""Families: a format of programs, the profiles that say what becomes of them, and how traces are compared.

The mechanisms of this package (reading lines, running drivers, comparing, shrinking, vectors) are the same
for all. What they need to know of a format is a `Family`, one value, and `FAMILIES` has them all: those of
the frameworks that are installed (`agentcore.kit.framework`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.kit.choices import Choices, RandomChoices
from agentcore.kit.compare import Comparison, Each, Trace
from agentcore.kit.framework import FRAMEWORKS, GROUP, Framework, entries, load_family
from agentcore.kit.program import Place, by_value, check_program, parse_program, without

if TYPE_CHECKING:
    from agentcore.heap.pollution import Watched
    from agentcore.kit.isolation import Isolation
    from agentcore.kit.sweeps import Scene

__all__ = [
    "DEFAULT_PROFILE",
    "FAMILIES",
    "PROFILE_NAMES",
    "Comparison",
    "Each",
    "Emulation",
    "Family",
    "Recorded",
    "Refusal",
    "Shrinking",
    "Trace",
    "UnknownProfileError",
    "Write",
    "family_of",
    "framework_of",
    "profile_names",
    "profiles_under",
    "slow_tools",
    "without_writes",
]

Json: TypeAlias = dict[str, Any]


# --- what a family is ---------------------------------------------------------------------------------------


Edits: TypeAlias = Callable[[Callable[[], Json]], Iterator[Json]]
"""A pass over a program: asked for the smallest one again before each edit, it yields smaller ones."""


@attrs.frozen
class Write:
    """A removable cause of differences in a program: an op of a hook, or a tool that takes time.

    `hook` is where it runs, `op` its verb, `place` where it stands in the program.
    """

    hook: str
    op: str
    place: Place


def _none_else(_: Any) -> tuple[Any, ...]:
    return ()


def _any_program(_: Json) -> bool:
    return True


def _any_trace(_: Trace) -> None:
    return None


@attrs.frozen(kw_only=True)
class Shrinking:
    """A format's description for the shrinker.

    `required` fields of a program stay. `names` are keys whose values stay: two things that come to be called
    alike are another program, and seldom a simpler one to read. `measure` is what a smaller program has less
    of before it has fewer characters. `edits` are tried in this order, after whole fields have been taken out
    and before everything else that stands in something. `merged` is what a value may become that is written
    with less. A program that is not `within` what implementations are compared on is not smaller: it may show
    something else that nobody was looking for.
    """

    required: Collection[str]
    names: Collection[str]
    measure: Callable[[Json], tuple[int, ...]]
    edits: tuple[Edits, ...] = ()
    merged: Callable[[Any], Iterable[Any]] = _none_else
    within: Callable[[Json], bool] = _any_program


@attrs.frozen(kw_only=True)
class Refusal:
    """An op that an object refused: where (`step 0, prepareStep`), which of the hook's ops, and why."""

    where: str
    op: int
    path: tuple[str | int, ...]
    reason: str


class Recorded(Protocol):
    """A program about to run under a profile."""

    @property
    def loop(self) -> Watched | None:
        """The loop that runs it on the heap, to be watched; None where there is no heap."""

    @property
    def refusals(self) -> Sequence[Refusal]:
        """The ops that were refused, once it has run."""

    def trace(self) -> Trace:
        """Runs the program and writes its trace."""


def _on_copies(run: Any) -> Any:
    """Wraps what runs a program: it is given one in which no two places are one object."""

    def on_copies(*arguments: Any) -> Any:
        return run(*[by_value(each) if isinstance(each, dict) else each for each in arguments])

    return None if run is None else wraps(run)(on_copies)


@attrs.frozen(kw_only=True)
class Emulation:
    """A family's emulation on the heap; `profiles` are data, by name (`attrs.evolve` makes others).

    `trace(profile, program)` is the trace under one of them.
    """

    profiles: Mapping[str, Any]
    trace: Callable[[Any, Json], Trace] = attrs.field(converter=_on_copies)


def _error(program_id: Any, name: str, message: str) -> Json:
    return {"id": program_id, "error": {"name": name, "message": message}}


@attrs.frozen(kw_only=True)
class Family:
    """A format of programs and traces.

    `profiles` are the names of those whose behaviour `trace(program, profile)` gives. One that ends in
    `/stream` is for programs with the path `stream`, and so on. `check` raises BadProgram unless the value is
    a program of the format. `to_line` is its line of ASCII, with the top-level fields in a fixed order.
    `program(choices, id, profile)` is a random program for a profile. `refusal(id, name, message)` is the
    answer to a line that gives no trace, and `trace_fields` are those that every answer has otherwise.
    `features(program)` says what the program has of `feature_names`, which name what programs may contain;
    `never_drawn` are the choices of the schema that no random program makes, with the reason.
    `writes(program)` are the tools that take time, then its ops in the order in which a run comes to them.
    `emulation` is None where there is no profile that is data, and `recording(program, profile)`, the run
    before it begins, where runs cannot be looked into. `isolation` is what a check of isolation knows of
    the format, None where there is no such check. `scenes(profile)` are what sweeps are made of, None where
    there are no sweeps. `smallest(text)` is the smallest program in which a user
    says a text. `trace_problem(trace)` says where something is wrong with a trace (`.set[0]`), and what; None
    if nothing is. `tells_refusals` says whether a `Recorded` has refused ops. `pictured` names the holders
    that are drawn in the picture of a run's heap, in their order; where it is empty, none is drawn.
    `notes(trace)` are sentences about a trace, for its explanation.
    """

    name: str
    profiles: tuple[str, ...]
    check: Callable[[Json], None]
    to_line: Callable[[Mapping[str, Any]], str]
    trace: Callable[[Json, str], Json] = attrs.field(converter=_on_copies)
    program: Callable[[Choices, str, str], Json]
    comparison: Comparison
    shrinking: Shrinking
    feature_names: tuple[str, ...]
    features: Callable[[Json], Collection[str]]
    never_drawn: Mapping[str, str] = attrs.field(factory=dict)
    smallest: Callable[[str], Json]
    writes: Callable[[Json], Iterable[Write]] = _none_else
    emulation: Emulation | None = None
    recording: Callable[[Json, str], Recorded] | None = attrs.field(default=None, converter=_on_copies)
    isolation: Isolation | None = None
    scenes: Callable[[str], Iterable[Scene]] | None = None
    refusal: Callable[[Any, str, str], Json] = _error
    trace_fields: tuple[str, ...] = ("error",)
    trace_problem: Callable[[Json], tuple[str, str] | None] = _any_trace
    tells_refusals: bool = False
    pictured: tuple[str, ...] = ()
    notes: Callable[[Trace], Iterable[str]] = _none_else

    def parse(self, line: str | bytes) -> Json:
        """The program of a line. Raises BadProgram for whatever else it may be."""
        return parse_program(line, self.check)

    def require(self, value: object) -> None:
        """Raises BadProgram unless a value in memory is a program."""
        check_program(value, self.check)

    def programs(self, seeds: Iterable[int], profile: str) -> Iterator[Json]:
        """A random program for each seed, made one at a time; its id names the seed (rule oracle.seeded)."""
        return (self.program(RandomChoices(seed), f"seed-{seed}", profile) for seed in seeds)


# --- which there are ----------------------------------------------------------------------------------------


def profile_names() -> tuple[str, ...]:
    """The profiles of all frameworks that are installed now. Imports no framework's format."""
    return tuple(name for framework in FRAMEWORKS.values() for name in framework.profiles)


PROFILE_NAMES: Final = profile_names()
"""The profiles of all frameworks, as they were installed when this module was imported."""

DEFAULT_PROFILE: Final = "ai-sdk-6"
"""What is meant where no profile is named: the one of these for the program's path."""


class UnknownProfileError(AgentCoreError, LookupError):
    """No family has a profile of this name."""

    def __init__(self, profile: str) -> None:
        known = ", ".join(profile_names()) or f"none: {_NONE_FOUND}"
        broken = "".join(f"; {entry.error}" for entry in entries() if entry.error)
        super().__init__(f"no profile is named {profile!r}; there are {known}{broken}")
        self.profile = profile


_NONE_FOUND: Final = f"no distribution has an entry point in {GROUP}; install agentcore-reference again"


class _Families(Mapping[str, Family]):
    """The families by name, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Family:
        return load_family(name)

    def __iter__(self) -> Iterator[str]:
        return iter(FRAMEWORKS)

    def __len__(self) -> int:
        return len(FRAMEWORKS)


FAMILIES: Final[Mapping[str, Family]] = _Families()
"""The families by name; looking one up imports it."""


def slow_tools(program: Json) -> Iterator[Write]:
    """The tools of a program that take time, where they stand under `tools`."""
    for name, tool in program.get("tools", {}).items():
        if "takes" in tool:
            yield Write("a tool", "takes", ("tools", name, "takes"))


def without_writes(program: Json, writes: Iterable[Write]) -> Json:
    """The program without some of its writes."""
    # From the end of each list, so that the places of those before it stay.
    for write in sorted(writes, key=lambda write: _index(write.place), reverse=True):
        program = without(program, write.place)
    return program


def _index(place: Place) -> int:
    return place[-1] if isinstance(place[-1], int) else 0


def framework_of(profile: str) -> Framework:
    """The framework that has the profile, or the paths of it (`name-6` of `name-6/path`).

    Raises:
        UnknownProfileError: where none has.
    """
    known = next(iter(profiles_under(profile).values()))
    return next(framework for framework in FRAMEWORKS.values() if known in framework.profiles)


def family_of(profile: str) -> Family:
    """The family of the framework that has this profile; `name-6` stands for profiles `name-6/path`.

    Raises:
        UnknownProfileError: where none has.
    """
    return load_family(framework_of(profile).name)


def profiles_under(profile: str) -> Mapping[str, str]:
    """The profiles for the paths of `name-6`, by path; of one without paths, itself by its own name.

    Raises:
        UnknownProfileError: where there is none.
    """
    names = profile_names()
    if profile in names:
        return MappingProxyType({profile: profile})
    below = f"{profile}/"
    found = {name.removeprefix(below): name for name in names if name.startswith(below)}
    if not found:
        raise UnknownProfileError(profile)
    return MappingProxyType(found)
