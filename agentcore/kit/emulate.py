"""Runs of any framework's emulation, `emulate.run(profile, settings)`, and what measures its contract.

from agentcore.kit import emulate

ran = emulate.run("name@1.0", Settings(...))  # the settings of the framework that has the profile
ran.pollution

And step results as the loops in TypeScript have them: objects whose getters read the content's parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Protocol, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.heap.heap import UNDEFINED, ComputedCell, Ref, Slot, Store, Value
from agentcore.heap.js import elements, get, joined
from agentcore.kit.families import framework_of
from agentcore.kit.framework import FRAMEWORKS, Framework, load_emulator, load_family

__all__ = [
    "Conversation",
    "Emulated",
    "Given",
    "NotEmulatedProfileError",
    "Point",
    "Probe",
    "Reply",
    "StepCell",
    "Turn",
    "fresh",
    "parts",
    "run",
    "typed_message",
    "typed_part",
    "typed_results",
]


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


Given: TypeAlias = Mapping[str, Any]
"""The arguments of a call of a hook, by name."""

Probe: TypeAlias = Callable[..., Any]
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Conversation(Protocol):
    """One run of the probe's conversation."""

    @property
    def instructions(self) -> str | None:
        """The system prompt."""
        ...

    @property
    def tools(self) -> Sequence[str]:
        """The names of the tools that are called."""
        ...

    @property
    def calls(self) -> Sequence[str]:
        """The ids of all calls."""
        ...

    @property
    def turn(self) -> int:
        """The number of the turn."""
        ...

    def answer(self, prompt: Any) -> Sequence[Mapping[str, Any]]:
        """Records a prompt as the model receives it, and returns the neutral parts of its answer."""
        ...

    def call(self, number: str) -> Mapping[str, Any]:
        """Returns the neutral part of a call, with its output."""
        ...

    def holder(self, name: str, value: Any) -> None:
        """Names an object that is looked through when the first turn has ended."""
        ...


@attrs.frozen(kw_only=True)
class Reply:
    """A turn's outcome: the messages that the caller passes on with the next turn, and the result."""

    messages: Sequence[Any]
    result: Any


Turn: TypeAlias = Callable[[list[Any]], Reply]
"""Runs a turn with the caller's messages."""


@attrs.frozen(kw_only=True)
class Point:
    """A boundary of an emulation.

    `parameters` are the names of the positional arguments; the fields of a single argument without a name
    are known by themselves. `after` says whether the hook runs after the model. `stay` are arguments, and
    fields of the first, that are the framework's or the person's own, and are not looked into. `passive`
    returns what a hook returns that does nothing, and `offers` what one does that returns the conversation as
    it is, if that is something else. `reaches` returns by name what of the conversation is behind what stays.
    `goes_on` is the name of the argument with which the hook calls on. `paths` are those of the framework
    that have the boundary; None for all.
    """

    parameters: tuple[str, ...] = ("",)
    after: bool = False
    stay: tuple[str, ...] = ()
    passive: Callable[[Given], Any] = lambda _: None
    offers: Callable[[Given], Any] | None = None
    reaches: Callable[[Given], Mapping[str, Any]] | None = None
    goes_on: str | None = None
    paths: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class Emulated:
    """Profiles whose emulation is measured as the live check measures a framework's releases.

    `framework` is the name of the live adapter. `releases` has for each release the profiles of its paths.
    `points` returns the boundaries of a release, given a function that returns the output of a call. `user`,
    `answer` and `results` translate neutral parts into messages, as the adapter does. `begin` attaches a
    hook at a boundary and returns what runs a turn. `roots` are names of places here and in the package,
    where these differ. `unheld` are those who may see a write, and of whom the
    emulation does not know, and `unexpressed` rows that it cannot express: patterns of `release path boundary
    root owner.role.place.act`. Both have the reason.
    """

    framework: str
    releases: Mapping[str, Mapping[str, str]]
    points: Callable[[str, Callable[[str], Any]], Mapping[str, Point]]
    user: Callable[[Sequence[Mapping[str, Any]]], Any]
    answer: Callable[[Sequence[Mapping[str, Any]]], Any]
    results: Callable[[Sequence[Mapping[str, Any]]], Any]
    begin: Callable[[str, Conversation, Probe, str, str], Turn]
    roots: Mapping[str, str] = _NOTHING
    unheld: Mapping[str, str] = _NOTHING
    unexpressed: Mapping[str, str] = _NOTHING


# ---------------------------------------------------------------- messages


def fresh(value: Any) -> Any:
    """Returns a deep copy of JSON."""
    if isinstance(value, dict):
        return {key: fresh(each) for key, each in value.items()}
    return [fresh(each) for each in value] if isinstance(value, list) else value


def typed_part(part: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a neutral part as a part with a `type`, which a call has its id, tool and input beside."""
    if part["type"] != "call":
        return dict(part)
    named = {"toolCallId": part["id"], "toolName": part["tool"]}
    return {"type": "tool-call", **named, "input": fresh(part["input"])}


def typed_message(role: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns neutral parts as a message of parts with a `type`."""
    return {"role": role, "content": [typed_part(part) for part in parts]}


def typed_results(calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the message with the results of neutral calls."""
    content = []
    for call in calls:
        named = {"toolCallId": call["id"], "toolName": call["tool"]}
        output = {"type": "json", "value": fresh(call["output"])}
        content.append({"type": "tool-result", **named, "output": output})
    return {"role": "tool", "content": content}


def parts(store: Store, step: Ref, kind: str, dynamic: bool | None = None) -> list[Slot]:
    """The parts of a type in a step result's content; of calls those that are `dynamic`, or are not.

    Raises:
        HeapTypeError: if a hook left content that is no array of objects.
    """
    found = []
    for part in elements(store, get(store, step, "content")):
        if get(store, part, "type") != kind:
            continue
        if dynamic is None or (get(store, part, "dynamic") is True) == dynamic:
            found.append(part)
    return found


def _list_of(kind: str, dynamic: bool | None = None) -> Callable[[Store, Ref], Value]:
    return lambda store, step: store.array(parts(store, step, kind, dynamic))


def _text(store: Store, step: Ref) -> Value:
    return joined(store, [get(store, part, "text") for part in parts(store, step, "text")])


def _reasoning(store: Store, step: Ref) -> Value:
    return store.array(parts(store, step, "reasoning"))


def _reasoning_text(store: Store, step: Ref) -> Value:
    found = parts(store, step, "reasoning")
    return joined(store, [get(store, part, "text") for part in found]) if found else UNDEFINED


def _files(store: Store, step: Ref) -> Value:
    files = [get(store, part, "file") for part in parts(store, step, "file")]
    return store.array([None if file is UNDEFINED else file for file in files])


class StepCell(ComputedCell):
    """The slots of a step result, which also answers `text`, `toolCalls` and more, made when read."""

    __slots__ = ()

    computed: ClassVar[Mapping[str, Callable[[Store, Ref], Value]]] = MappingProxyType(
        {
            "text": _text,
            "reasoning": _reasoning,
            "reasoningText": _reasoning_text,
            "files": _files,
            "sources": _list_of("source"),
            "toolCalls": _list_of("tool-call"),
            "staticToolCalls": _list_of("tool-call", dynamic=False),
            "dynamicToolCalls": _list_of("tool-call", dynamic=True),
            "toolResults": _list_of("tool-result"),
            "staticToolResults": _list_of("tool-result", dynamic=False),
            "dynamicToolResults": _list_of("tool-result", dynamic=True),
        }
    )
