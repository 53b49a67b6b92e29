"""Sweeps: programs that are made one after the other for all that there is, and not at random.

Rule oracle.swept.

A `Scene` is a program in which hooks are called, with how its format reads and writes there. Two sweeps are
made of scenes. The field sweep reads each field of each argument of each hook, those that the reference lacks
too. The alias sweep writes to each object of each argument of each hook, and in the same program every call
of a hook is read as a whole: whoever sees the write shows it. Where objects are is asked of the reference, by
running the scene with all readings.

The programs are programs like any other: they are run, compared, made smaller and saved as random ones are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.kit.families import Family, family_of, profiles_under
from agentcore.kit.program import Place, at, put

__all__ = ["SWEEPS", "Moment", "NoSweepError", "Scene", "sweep_programs"]

Json: TypeAlias = dict[str, Any]
Op: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[str | int, ...]


class NoSweepError(AgentCoreError, LookupError):
    """The format of a profile has no scenes."""

    def __init__(self, profile: str) -> None:
        super().__init__(f"there is no sweep for the profile {profile!r}: its format has no scenes")
        self.profile = profile


@attrs.frozen(kw_only=True)
class Moment:
    """A call of a hook in a scene.

    Attributes:
        name: what readings call it; each moment of a scene has its own.
        place: the list in the program that has its ops.
        fields: paths of what can be asked for there.
        objects: those of them that the alias sweep reads and writes in; all, unless they are given.
        after: how many ops of that list come before a sweep's.
        entry: which call of the hook it is, from 0, where one list has the ops of all of them.
    """

    name: str
    place: Place
    fields: tuple[Path, ...]
    objects: tuple[Path, ...] = attrs.field()
    after: int = 0
    entry: int = 0

    @objects.default
    def _all(self) -> tuple[Path, ...]:
        return self.fields


@attrs.frozen(kw_only=True)
class Scene(ABC):
    """A program in which hooks are called, and how its format reads and writes there.

    Attributes:
        program: the program, without a sweep's ops.
        moments: the calls of its hooks.
    """

    program: Json
    moments: tuple[Moment, ...]

    @abstractmethod
    def read(self, moment: Moment, path: Path, name: str) -> Op:
        """Returns the op by which a trace shows what is at a path, under a name."""

    @abstractmethod
    def writes(self, moment: Moment, path: Path, value: Any) -> Iterable[Op]:
        """Returns the ops that write in place to the object or list at a path, each in a way of its own.

        Args:
            moment: when it is written.
            path: where the object is, from the hook's argument.
            value: what is there, as a trace shows it.
        """

    @abstractmethod
    def readings(self, trace: Json) -> Mapping[str, Any]:
        """Returns what the readings of a program have shown, by name."""

    def ending(self, trace: Json) -> Any:
        """Returns what a run came to: the same, if a reading did not end it."""
        return trace.get("error")


Tracer: TypeAlias = Callable[[Json], Json]


def _fields(scene: Scene, tracer: Tracer) -> Iterator[Json]:
    """Each field alone: one that cannot be read ends a run, and is no reason not to read the others."""
    del tracer
    for moment in scene.moments:
        for path in moment.fields:
            yield _reading(scene, scene.program, [(moment, path)])


def _aliases(scene: Scene, tracer: Tracer) -> Iterator[Json]:
    readable = [*_objects_shown(scene, tracer)]
    program = _reading(scene, scene.program, readable)
    shown = scene.readings(tracer(program))
    for moment, path in readable:
        for below, value in _objects(shown.get(_name(moment, path)), ()):
            for op in scene.writes(moment, (*path, *below), value):
                yield _with_ops(program, moment, [op])


def _objects_shown(scene: Scene, tracer: Tracer) -> Iterator[tuple[Moment, Path]]:
    """The fields that have an object, by the reference, and can be read without an end to the run."""
    usual = scene.ending(tracer(scene.program))

    def found(moment: Moment, paths: Sequence[Path]) -> Iterator[Path]:
        trace = tracer(_reading(scene, scene.program, [(moment, path) for path in paths]))
        if "unsupported" not in trace and scene.ending(trace) == usual:
            shown = scene.readings(trace)
            yield from (path for path in paths if isinstance(shown.get(_name(moment, path)), dict | list))
        elif len(paths) > 1:
            half = len(paths) // 2
            yield from (*found(moment, paths[:half]), *found(moment, paths[half:]))

    for moment in scene.moments:
        yield from ((moment, path) for path in found(moment, moment.objects))


def _reading(scene: Scene, program: Json, readings: Sequence[tuple[Moment, Path]]) -> Json:
    for moment in scene.moments:
        ops = [scene.read(moment, path, _name(moment, path)) for read, path in readings if read is moment]
        program = _with_ops(program, moment, ops)
    return program


def _with_ops(program: Json, moment: Moment, ops: Sequence[Op]) -> Json:
    """The program with more ops at a moment, before those that a sweep has put there."""
    known = at(program, moment.place)
    changed: Json = put(program, moment.place, [*known[: moment.after], *ops, *known[moment.after :]])
    return changed


def _name(moment: Moment, path: Path) -> str:
    return f"{moment.name}: {'.'.join(map(str, path))}"


def _objects(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The objects and lists in a value; of a long list the first element and the last."""
    if not isinstance(value, dict | list) or _is_cycle(value):
        return
    yield path, value
    inside: Iterable[tuple[str | int, Any]]
    if isinstance(value, dict):
        inside = value.items()
    else:
        inside = ((index, value[index]) for index in sorted({0, len(value) - 1}) if value)
    for key, child in inside:
        yield from _objects(child, (*path, key))


def _is_cycle(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"cycle"}


SWEEPS: Final[Mapping[str, Callable[[Scene, Tracer], Iterator[Json]]]] = MappingProxyType(
    {"fields": _fields, "aliases": _aliases}
)
"""The sweeps by name."""


@cache
def sweep_programs(sweep: str, profile: str) -> Sequence[Json]:
    """Returns the programs of a sweep, their ids numbered from 0; made once in a process.

    Args:
        sweep: a name in SWEEPS.
        profile: whose hooks and fields; without its path, those of all paths.

    Raises:
        NoSweepError: if the format has no scenes.
        UnknownProfileError: if there is no such profile.
    """
    family = family_of(profile)
    if family.scenes is None:
        raise NoSweepError(profile)
    made: list[Json] = []
    for run in profiles_under(profile).values():
        for scene in family.scenes(run):
            made += SWEEPS[sweep](scene, _tracer(family, run))
    return [{**program, "id": f"{sweep}-{number}"} for number, program in enumerate(made)]


def _tracer(family: Family, profile: str) -> Tracer:
    return lambda program: family.trace(program, profile)
