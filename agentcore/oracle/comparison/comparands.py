"""Sides of a comparison: a profile of the reference, or a real package that is driven.

A name is that of a profile (`name-6/path`; `name-6` for all of its paths, each for the programs of that
path), or of a target (`name@6.0.134`, and `name@6.0.134/path` for one path of it). Where a
profile and a target are called alike, `live:` before the name means the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.kit.families import (
    Family,
    Trace,
    UnknownProfileError,
    family_of,
    framework_of,
    profiles_under,
)
from agentcore.oracle.drivers.driver import Answer, Crashed, Driver, Hung, Malformed, Unsupported
from agentcore.oracle.drivers.packages import TargetError, command, target_of

__all__ = ["Runner", "Side", "SideError", "side"]

Json: TypeAlias = dict[str, Any]

_LIVE: Final = "live:"


class SideError(AgentCoreError):
    """A side that there is not, or whose package gave no trace; the message says which, and why."""


@attrs.frozen(kw_only=True)
class Side:
    """One of two things that are compared: its name, and the profile (or those of several paths) it has.

    `target` is the package that is driven; None for the reference.
    """

    name: str
    profile: str
    target: str | None

    @property
    def family(self) -> Family:
        """The family of its programs."""
        return family_of(self.profile)

    @property
    def path(self) -> str | None:
        """The path that programs are run on; None where each program names its own, or none has one."""
        _, slash, path = self.profile.rpartition("/")
        return path if slash and framework_of(self.profile).has_path else None

    def profile_for(self, program: Mapping[str, Any]) -> str:
        """The one profile that a program is run under."""
        under = profiles_under(self.profile)
        return under[self.profile] if self.profile in under else under[program["path"]]

    def own(self, program: Json) -> Json:
        """The program as it is run on this side."""
        return program if self.path is None else {**program, "path": self.path}


def side(name: str) -> Side:
    """The side of a name.

    Raises:
        SideError: if neither a profile nor a target is called so.
    """
    wanted = name.removeprefix(_LIVE)
    if wanted == name:
        try:
            profiles_under(name)
        except UnknownProfileError as unknown:
            missing = str(unknown)
        else:
            return Side(name=name, profile=name, target=None)
    else:
        missing = ""
    target, _, path = wanted.partition("/")
    try:
        held_to = target_of(target).profile
    except TargetError as unknown:
        raise SideError("; ".join(filter(None, (missing, str(unknown))))) from None
    profile = held_to + (f"/{path}" if path else "")
    try:
        profiles_under(profile)
    except UnknownProfileError as unknown:
        raise SideError(f"{target} has no path {path!r}: {unknown}") from None
    return Side(name=name, profile=profile, target=target)


class Runner:
    """Runs programs on a side; a driver is started for a target. Use it in a `with` block.

    Raises TargetError if a target cannot be installed.
    """

    def __init__(self, side: Side, *, time_limit: float = 20.0) -> None:
        self.side = side
        self._family = side.family
        self._driver = (
            None
            if side.target is None
            else Driver(command(side.target), time_limit=time_limit, trace_fields=self._family.trace_fields)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._driver is not None:
            self._driver.close()

    def traces(self, programs: Sequence[Json]) -> list[Trace | None]:
        """The traces of some programs, in order, None for what the side does not support.

        Raises:
            SideError: if the driver crashes, hangs or answers what is no trace.
        """
        own = [self.side.own(program) for program in programs]
        if self._driver is None:
            return [self._reference(program) for program in own]
        for program in own:
            self._driver.submit(program)
        return [self._received(self._driver, program) for program in own]

    def trace(self, program: Json) -> Trace | None:
        """The trace of one program. See `traces`."""
        return self.traces([program])[0]

    def _reference(self, program: Json) -> Trace | None:
        trace = self._family.trace(program, self.side.profile_for(program))
        return None if "unsupported" in trace else _without_path(trace)

    def _received(self, driver: Driver, program: Json) -> Trace | None:
        match driver.receive():
            case Answer(trace):
                return _without_path(trace)
            case Unsupported():
                return None
            case Crashed(reason) | Malformed(reason):
                failure = reason
            case Hung(seconds):
                failure = f"no answer within {seconds:g} seconds"
        raise SideError(f"{self.side.name} failed at the program {program.get('id')!r}: {failure}")


def _without_path(trace: Trace) -> Trace:
    """`path` is the program's, and two paths can be compared."""
    return {key: value for key, value in trace.items() if key != "path"}
