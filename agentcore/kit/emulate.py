"""Runs of any framework's emulation: `emulate.run(profile, settings)`.

from agentcore.kit import emulate

ran = emulate.run("name@1.0", Settings(...))  # the settings of the framework that has the profile
ran.pollution
"""

from __future__ import annotations

from typing import Any

from agentcore.errors import AgentCoreError
from agentcore.kit.families import framework_of
from agentcore.kit.framework import FRAMEWORKS, Framework, load_emulator, load_family

__all__ = ["NotEmulatedProfileError", "run"]


class NotEmulatedProfileError(AgentCoreError, LookupError):
    """A profile, or a value given as one, that no framework emulates."""


def run(profile: Any, settings: Any) -> Any:
    """Runs settings under a profile, by the framework that has it, and watches every in-place write.

    Args:
        profile: the name of a profile, such as "name@1.0", or a profile of one's own: a value of the
            class that a framework's profiles have.
        settings: the settings of that framework.

    Returns:
        The run, ended, as that framework has it; each has `pollution`, `prompts` and `snapshots`.

    Raises:
        UnknownProfileError: if no framework has a profile of that name.
        NotEmulatedProfileError: if the framework does not emulate the profile, or no framework has profiles
            of that class.
        BrokenFrameworkError: if the framework's emulation cannot be imported.
    """
    framework = _named(profile) if isinstance(profile, str) else _with_profiles_like(profile)
    return load_emulator(framework.name)(profile, settings)


def _named(profile: str) -> Framework:
    framework = framework_of(profile)
    emulated = _emulated(framework)
    if profile not in emulated:
        there_are = f"there are {', '.join(emulated)}" if emulated else f"{framework.title} has no emulation"
        raise NotEmulatedProfileError(f"the profile {profile!r} is not emulated; {there_are}")
    return framework


def _with_profiles_like(profile: Any) -> Framework:
    for framework in FRAMEWORKS.values():
        if any(type(known) is type(profile) for known in _emulated(framework).values()):
            return framework
    kind = type(profile).__name__
    raise NotEmulatedProfileError(f"no framework has profiles of the class {kind}; give a name or a profile")


def _emulated(framework: Framework) -> dict[str, Any]:
    emulation = load_family(framework.name).emulation if framework.emulator else None
    return {} if emulation is None else {**emulation.profiles}
