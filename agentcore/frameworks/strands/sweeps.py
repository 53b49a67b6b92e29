"""Scenes of the middleware format for sweeps: two model calls and a tool, with handlers and hooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.profiles import PROFILES
from agentcore.kit.sweeps import Moment, Op, Path, Scene

__all__ = ["scenes"]

Json: TypeAlias = dict[str, Any]

_MARK: Final = "#swept"
_ON: Final = ("agent", "result")
_USE: Final = {"toolUse": {"name": "look", "toolUseId": "u0", "input": {"a": {"b": "#c0"}}}}
_SCENE: Final[Json] = {
    "system": [
        {"text": "#sys"},
        {"cachePoint": {"type": "default"}},
        {"guardContent": {"text": {"text": "#guard", "qualifiers": ["query"]}}},
    ],
    "messages": [
        {"role": "user", "content": [{"text": "#h0"}], "metadata": {"custom": {"a": "#meta"}}},
        {
            "role": "assistant",
            "content": [
                {"reasoning": {"text": "#h1", "signature": "#sig"}},
                {"toolUse": {"name": "look", "toolUseId": "h0", "input": {"a": {"b": "#h2"}}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "h0",
                        "status": "success",
                        "content": [{"json": {"a": {"b": "#h3"}}}, {"text": "#h4"}],
                    }
                }
            ],
        },
    ],
    "input": [{"role": "user", "content": [{"text": "#in"}], "metadata": {"custom": {"a": "#im"}}}],
    "script": [
        {
            "blocks": [{"reasoning": {"text": "#r0"}}, {"text": "#t0"}, _USE],
            "modelState": {"m": {"a": "#ms"}},
        },
        [{"text": "#t1"}],
    ],
    "tools": {"look": {"output": {"content": [{"json": {"a": {"b": "#o"}}}, {"text": "#ot"}]}}},
    "invocationState": {"k": {"a": "#is"}},
    "modelState": {"k": {"a": "#state"}},
}
_STAGES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "stream": (("args", "options", "invocationState"), ("lastMessage", "stopReason")),
    "model": (
        ("messages", "system", "toolSpecs", "toolChoice", "invocationState", "modelState"),
        ("message", "stopReason"),
    ),
    "tool": (("toolUse", "invocationState"), ("toolResult",)),
}
_HOOKS: Final[Mapping[str, tuple[str, ...]]] = {
    "beforeInvocation": (),
    "messageAdded": ("message",),
    "beforeModel": (),
    "afterModel": ("message", "stopReason"),
    "beforeTools": ("message",),
    "beforeTool": ("toolUse",),
    "afterTool": ("toolUse", "toolResult"),
    "afterTools": ("message",),
    "afterInvocation": (),
}
_STREAMED: Final[Mapping[str, tuple[str, ...]]] = {"modelDelta": (), "contentBlock": ("block",)}
_AGENT: Final = (("agent", "messages"), ("agent", "system"), ("agent", "toolSpecs"), ("agent", "modelState"))
_ENTRIES: Final[Mapping[str, int]] = {
    "model": 2,
    "beforeModel": 2,
    "afterModel": 2,
    "messageAdded": 4,
    "contentBlock": 4,
}
# Of the four handlers of a stage the first that wraps.
_WRAPS: Final = 2
# What of an object takes another value, the first of these that it has.
_TEXTS: Final = ("text", "description", "type")


def scenes(profile: str) -> Iterator[Scene]:
    """Yields the scenes of a profile: its tools one after the other, and at once."""
    typescript = PROFILES[profile].has_classes
    hooks = {**_HOOKS, **(_STREAMED if typescript else {})}
    middleware: list[Json] = []
    for stage in _STAGES:
        middleware += [{"stage": stage, "phase": phase, "ops": []} for phase in ("input", "output", "wrap")]
        middleware.append({"stage": stage, "ops": [{"op": "next"}]})
    program = {
        "id": "scene",
        **_SCENE,
        **({"options": {"o": {"a": "#op"}}} if typescript else {}),
        "middleware": middleware,
        "hooks": [{"on": on, "ops": []} for on in hooks],
    }
    moments = (*_of_handlers(), *_of_hooks(hooks))
    for executor in ("sequential", "concurrent"):
        yield _Scene(program={**program, "executor": executor}, moments=moments)


def _of_handlers() -> Iterator[Moment]:
    """What handlers see: one of input, one of output, and one that wraps, before and after what it wraps."""
    for index, (stage, (context, result)) in enumerate(_STAGES.items()):
        for entry in range(_ENTRIES.get(stage, 1)):
            given = tuple((field,) for field in context)
            made = tuple((field,) for field in result)
            wrapped = tuple(("result", field) for field in result)
            for offset, kind, after, fields in (
                (0, "input", 0, given),
                (_WRAPS, "before", 0, given),
                (_WRAPS + 1, "after", 1, (*given, *wrapped)),
                (1, "output", 0, made),
            ):
                yield Moment(
                    name=f"{stage}.{kind}@{entry}",
                    place=("middleware", 4 * index + offset, "ops"),
                    fields=(*fields, *_AGENT),
                    objects=(*fields, *(_AGENT if offset >= _WRAPS else ())),
                    after=after,
                    entry=entry,
                )


def _of_hooks(hooks: Mapping[str, tuple[str, ...]]) -> Iterator[Moment]:
    for index, (hook, fields) in enumerate(hooks.items()):
        for entry in range(_ENTRIES.get(hook, 1)):
            given = tuple((field,) for field in (*fields, "invocationState"))
            yield Moment(
                name=f"{hook}@{entry}",
                place=("hooks", index, "ops"),
                fields=(*given, *_AGENT),
                objects=given,
                entry=entry,
            )


class _Scene(Scene):
    """A run whose readings are observations."""

    def read(self, moment: Moment, path: Path, name: str) -> Op:
        """Observes what is there."""
        if path == ("agent", "modelState"):
            return {"op": "observeModelState", "as": name, "when": moment.entry}
        return {"op": "observe", **_target(path), "as": name, "when": moment.entry}

    def writes(self, moment: Moment, path: Path, value: Any) -> Iterable[Op]:
        """One more element, one more field, another text: what the shape of the place allows."""
        when = {"when": moment.entry}
        if path[:2] == ("agent", "modelState"):
            if len(path) == 2:  # noqa: PLR2004 - the model state itself
                yield {"op": "setModelState", "key": "swept", "value": _MARK, **when}
            return
        target = _target(path)
        if isinstance(value, list):
            added = value[-1] if value else {"text": _MARK}
            yield {"op": "append", **target, "value": added, **when}
            return
        for key, new in _changes(value):
            yield {"op": "set", **target, "path": [*target["path"], key], "value": new, **when}

    def readings(self, trace: Json) -> Mapping[str, Any]:
        """The observations."""
        return {each["what"]: each["value"] for each in trace.get("observations", ())}

    def ending(self, trace: Json) -> Any:
        """The errors of the invocations."""
        return [result.get("error") for result in trace.get("results", ())]


def _target(path: Path) -> Json:
    on, *rest = path
    return {"on": on, "path": rest} if on in _ON else {"path": [*path]}


def _changes(value: Json) -> Iterator[tuple[str, Any]]:
    """Fields of an object of a known shape with other values; of a JSON object, one that is new."""
    if "role" in value:
        yield "metadata", {"swept": _MARK}
    elif "toolUseId" in value:
        yield ("input", {"swept": _MARK}) if "input" in value else ("status", "error")
    elif text := next((key for key in _TEXTS if isinstance(value.get(key), str)), None):
        yield text, _MARK
    elif not value.keys() & _KINDS:
        yield "swept", _MARK


_KINDS: Final = frozenset(
    {"toolUse", "toolResult", "reasoning", "cachePoint", "guardContent", "json", "text"}
)
