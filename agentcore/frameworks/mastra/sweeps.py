"""Scenes of the processors' format for sweeps: two steps with a tool, and processors in each place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from agentcore.kit.program import Place
from agentcore.kit.sweeps import Moment, Op, Path, Scene

__all__ = ["scenes"]

Json: TypeAlias = dict[str, Any]

_MARK: Final = "#swept"
_SCENE: Final[Json] = {
    "system": ["#sys", {"role": "system", "content": "#sys1", "providerOptions": {"p": {"a": "#so"}}}],
    "messages": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "#u0"}],
            "providerOptions": {"p": {"a": "#uo"}},
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "#h0"},
                {"type": "tool-call", "toolCallId": "h0", "toolName": "look", "input": {"a": {"b": "#h1"}}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "h0",
                    "toolName": "look",
                    "output": {"type": "json", "value": {"a": {"b": "#h2"}}},
                }
            ],
        },
        {"role": "user", "content": "#u1"},
    ],
    "script": [
        [
            {"type": "reasoning", "text": "#r0"},
            {"type": "text", "text": "#t0"},
            {"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {"a": {"b": "#c0"}}},
        ],
        [{"type": "text", "text": "#t1"}],
    ],
    "tools": {"look": {"output": {"a": {"b": "#o"}}, "description": "#d"}},
    "providerOptions": {"p": {"a": "#po", "in": {"b": ["#pi"]}}},
    "modelSettings": {"temperature": 0.5, "stopSequences": ["#stop"], "headers": {"x-one": "#head"}},
    "toolChoice": {"type": "tool", "toolName": "look"},
    "activeTools": ["look"],
    "requestContext": {"k": {"a": "#rc"}},
}
# What the versions give to a processor, before the first step and at each, known or not: what the reference
# lacks has to be asked for as well. What is no data (the agent, its list, loggers, what traces) is left out:
# it leads to all there is.
_NAMES: Final = ("messages", "systemMessages", "requestContext", "retryCount", "messageId", "state")
_AT_STEPS: Final = (
    *("stepNumber", "steps", "tools", "toolChoice", "model", "activeTools", "providerOptions"),
    *("modelSettings", "structuredOutput", "runId"),
)
_FORMS: Final = ("db", "aiV5.model", "aiV5.ui")
_VIEWS: Final = (
    *(f"view:{source}.{form}" for source in ("all", "remembered", "input", "response") for form in _FORMS),
    "view:all.aiV5.prompt",
)
# Fields of a model and of a tool, which as wholes are for functions.
_INSIDE: Final[Mapping[str, tuple[Path, ...]]] = {
    "model": (("modelId",), ("provider",), ("specificationVersion",)),
    "tools": (("look", "id"), ("look", "description")),
}
# A view of one source has the objects that those of all have.
_OBJECTS: Final = (
    *("messages", "systemMessages", "requestContext", "steps", "toolChoice", "activeTools"),
    *("providerOptions", "modelSettings", "list", "view:all.aiV5.model", "view:all.aiV5.prompt"),
)
_TEXTS: Final = ("text", "content", "b", "a")


def scenes(profile: str) -> Iterator[Scene]:
    """Yields the scenes of a profile: processors of the call, and those of the agent, each on one method."""
    del profile
    steps: Json = {str(step): [] for step in range(len(_SCENE["script"]))}
    first: Json = {"id": "p1", "input": [], "steps": steps}
    second: Json = {"id": "p2", "steps": steps}
    called = {"processors": [first, second], "prepareStep": steps}
    constructed = [{**first, "where": "ctor"}, {**second, "where": "ctor"}]
    made = {"processors": constructed, "defaultPrepareStep": steps}
    yield _scene({"id": "scene", "path": "generate", **_SCENE, **called})
    yield _scene({"id": "scene", "path": "stream", **_SCENE, **made})


def _scene(program: Json) -> Scene:
    return _Scene(program=program, moments=tuple(_moments(program)))


def _moments(program: Json) -> Iterator[Moment]:
    yield _moment("p1@input", ("processors", 0, "input"), _NAMES)
    hook = "prepareStep" if "prepareStep" in program else "defaultPrepareStep"
    for step in range(len(program["script"])):
        key = str(step)
        for name, place in (
            ("p1", ("processors", 0, "steps", key)),
            ("p2", ("processors", 1, "steps", key)),
            (hook, (hook, key)),
        ):
            yield _moment(f"{name}@{step}", place, (*_NAMES, *_AT_STEPS))


def _moment(name: str, place: Place, names: tuple[str, ...]) -> Moment:
    whole = [(field,) for field in (*names, "list", *_VIEWS) if field not in _INSIDE]
    inside = [(field, *path) for field in names for path in _INSIDE.get(field, ())]
    objects = tuple((field,) for field in _OBJECTS)
    return Moment(name=name, place=place, fields=(*whole, *inside), objects=objects)


class _Scene(Scene):
    """A run whose readings are observations."""

    def read(self, moment: Moment, path: Path, name: str) -> Op:
        """Observes what is there."""
        del moment
        return {"op": "observe", "on": path[0], "at": [*path[1:]], "as": name}

    def writes(self, moment: Moment, path: Path, value: Any) -> Iterable[Op]:
        """One more element, one more field, and more of a text in it."""
        del moment
        on, *below = path
        if isinstance(value, list):
            said: Json = {"value": value[-1] if value else _MARK}
            if value and isinstance(value[-1], dict) and "role" in value[-1]:
                said = {"message": {"role": "user", "text": _MARK}}
            yield {"op": "push", "on": on, "at": below, **said}
            return
        yield {"op": "set", "on": on, "at": [*below, "swept"], "value": _MARK}
        for key in _TEXTS:
            if isinstance(value.get(key), str):
                yield {"op": "append", "on": on, "at": [*below, key], "value": _MARK}

    def readings(self, trace: Json) -> Mapping[str, Any]:
        """The observations."""
        return {each["what"]: each["value"] for each in trace.get("observations", ())}
