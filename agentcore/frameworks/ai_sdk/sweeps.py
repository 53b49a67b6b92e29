"""Scenes of the AI SDK's format for sweeps: two steps with a tool, a history, and every setting that shows.

An argument is read by a copy of it in a *sink*: an object that no hook is given, made at the first moment,
and put into the caller's messages at the last. So a reading changes nothing that anybody else is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from agentcore.frameworks.ai_sdk.program import path_of
from agentcore.frameworks.ai_sdk.profiles import PROFILES
from agentcore.kit.sweeps import Moment, Op, Path, Scene

__all__ = ["scenes"]

Json: TypeAlias = dict[str, Any]

_MARK: Final = "#swept"
_SINK: Final = "sink"
_SHOWN: Final = "shown"


def _options(name: str) -> Json:
    return {"p": {"a": f"#{name}", "in": {"b": [f"#{name}-b"]}}}


_MESSAGES: Final = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "#u0", "providerOptions": _options("u0t")},
            {"type": "image", "image": "aGk=", "mediaType": "image/png"},
            {"type": "file", "data": "https://example.com/a.pdf", "mediaType": "application/pdf"},
        ],
        "providerOptions": _options("u0"),
    },
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "#h1", "providerOptions": _options("h1")},
            {"type": "tool-call", "toolCallId": "h0", "toolName": "look", "input": {"a": {"b": "#h2"}}},
        ],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "h0",
                "toolName": "look",
                "output": {"type": "json", "value": {"a": {"b": "#h3"}}},
            }
        ],
    },
    {"role": "user", "content": "#u1"},
]
_CALL: Final = [
    {"type": "reasoning", "text": "#r0", "providerMetadata": _options("r0")},
    {"type": "text", "text": "#t0"},
    {"type": "source", "sourceType": "url", "id": "s", "url": "https://example.com/", "title": "#s0"},
    {"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {"a": {"b": "#c0"}}},
    {
        "type": "tool-call",
        "toolCallId": "c1",
        "toolName": "search",
        "input": {"a": "#c1"},
        "providerExecuted": True,
        "dynamic": True,
    },
    {"type": "tool-result", "toolCallId": "c1", "toolName": "search", "result": {"a": {"b": "#c2"}}},
]
_DONE: Final = [{"type": "text", "text": "#t1", "providerMetadata": _options("t1")}]
_SCENE: Final = {
    "messages": _MESSAGES,
    "system": {"role": "system", "content": "#sys", "providerOptions": _options("sys")},
    "script": [_CALL, _DONE],
    "tools": {"look": {"output": {"a": {"b": "#o"}}}, "save": {"output": "#o"}},
    "options": {
        "providerOptions": _options("opt"),
        "activeTools": ["look"],
        "toolChoice": "auto",
        "headers": {"x-one": "#head"},
        "stopSequences": ["#stop"],
        "temperature": 0.5,
    },
}
_APPROVED: Final = [
    {"role": "user", "content": "#u0"},
    {
        "role": "assistant",
        "content": [
            {"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {"a": {"b": "#c0"}}},
            {"type": "tool-approval-request", "approvalId": "a0", "toolCallId": "c0"},
            {"type": "tool-call", "toolCallId": "c1", "toolName": "save", "input": {"a": "#c1"}},
            {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"},
        ],
    },
    {
        "role": "tool",
        "content": [
            {"type": "tool-approval-response", "approvalId": "a0", "approved": True},
            {"type": "tool-approval-response", "approvalId": "a1", "approved": False, "reason": "#no"},
        ],
    },
]
# What a hook of the versions shows, known or not: what the reference lacks has to be asked for as well.
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "prepareStep": (
        *("messages", "steps", "stepNumber", "experimental_context", "model", "initialMessages"),
        *("responseMessages", "instructions", "initialInstructions", "runtimeContext", "toolsContext"),
        "experimental_sandbox",
    ),
    "onStepStart": (
        *("stepNumber", "model", "system", "messages", "tools", "toolChoice", "activeTools", "steps"),
        *("providerOptions", "timeout", "headers", "stopWhen", "output", "abortSignal", "include"),
        *("functionId", "metadata", "experimental_context", "provider", "modelId", "instructions"),
        *("toolOrder", "runtimeContext", "toolsContext", "promptMessages", "stepTools", "stepToolChoice"),
    ),
    "model": (
        *("prompt", "tools", "toolChoice", "providerOptions", "headers", "maxOutputTokens", "temperature"),
        *("topP", "topK", "presencePenalty", "frequencyPenalty", "stopSequences", "seed", "responseFormat"),
        *("abortSignal", "includeRawChunks", "reasoning"),
    ),
    "execute": ("input", "messages", "output", "experimental_context", "context"),
    "stopWhen": ("steps",),
}
_RESULT: Final = (
    *("content", "text", "reasoning", "reasoningText", "files", "sources", "toolCalls", "staticToolCalls"),
    *("dynamicToolCalls", "toolResults", "staticToolResults", "dynamicToolResults", "finishReason"),
    *("rawFinishReason", "usage", "warnings", "request", "response", "providerMetadata", "stepNumber"),
    *("model", "functionId", "metadata", "experimental_context", "runtimeContext", "toolsContext"),
)
_END: Final = ("steps", "totalUsage", "responseMessages", "finalStep")
# What is inside of what cannot be copied as a whole, or is no field of the object's own.
_INSIDE: Final[Mapping[str, tuple[Path, ...]]] = {
    "model": (("provider",), ("modelId",), ("specificationVersion",)),
    "tools": (
        *(("look", field) for field in ("description", "title", "type", "inputSchema", "strict")),
        ("look", "inputSchema", "jsonSchema"),
    ),
    "stepTools": ((0,), (0, "inputSchema")),
    "steps": tuple((-1, field) for field in _RESULT),
    "finalStep": tuple((field,) for field in _RESULT),
}


def scenes(profile: str) -> Iterator[Scene]:
    """Yields the scenes of a profile; of one that is no package's, none."""
    if profile not in PROFILES:
        return
    path = path_of(profile)
    contexts: Json = {"experimental_context": {"a": {"b": "#ctx"}}}
    if "runtimeContext" in PROFILES[profile].shown_to_prepare_step:
        contexts = {"runtimeContext": {"a": {"b": "#rt"}}, "toolsContext": {"look": {"a": {"b": "#tc"}}}}
    plain = {"path": path, **_SCENE, "options": {**_SCENE["options"], **contexts}}
    yield _Scene("plain", plain)
    yield _Scene("approved", {**plain, "messages": _APPROVED})
    returned = {
        "messages": [{"append": [{"role": "user", "content": [{"type": "text", "text": "#ret"}]}]}],
        "providerOptions": {"p": {"in": {"c": "#over"}}},
        "model": "second",
        "system": "#sys1",
    }
    yield _Scene("returned", {**plain, "hooks": {"prepareStep": [[{"return": returned}]]}})


def _moments(steps: int) -> Iterator[Moment]:
    for step in range(steps):
        last = step == steps - 1
        hooks = ("prepareStep", "onStepStart", "model", "execute", "onStepFinish", "stopWhen")
        for hook in (*hooks[:3], "onStepFinish", "onFinish") if last else hooks:
            yield Moment(name=f"step {step}, {hook}", place=(hook, step), fields=_paths(hook, step))


def _paths(hook: str, step: int) -> tuple[Path, ...]:
    names = _NAMES.get(hook) or (_RESULT if hook == "onStepFinish" else (*_RESULT, *_END))
    found = []
    for name in names:
        found.append((name,))
        if name != "steps" or step:
            found += [(name, *path) for path in _INSIDE.get(name, ())]
    return tuple(found)


class _Scene(Scene):
    def __init__(self, name: str, program: Json) -> None:
        self.name = f"{name}-{program['path']}"
        self.moments = tuple(_moments(len(program["script"])))
        self._opening = 0
        self.program = {"id": "scene", **program}
        first, last = self.moments[0], self.moments[-1]
        opening = ({"set": [_SINK], "to": {}}, {"keep": [_SINK], "as": _SINK}, {"delete": [_SINK]})
        self.program = self._put(self.program, last, ({"set": ["$caller", 0, _SHOWN], "to": {"$ref": [f"${_SINK}"]}},))
        self.program = self._put(self.program, first, opening)
        self._opening = len(opening)

    def with_ops(self, program: Json, moment: Moment, ops: Sequence[Op]) -> Json:
        return self._put(program, moment, ops)

    def _put(self, program: Json, moment: Moment, ops: Sequence[Op]) -> Json:
        hook, step = moment.place
        entries = [*program.get("hooks", {}).get(hook, ())]
        entries += [None] * (step + 1 - len(entries))
        known = entries[step] or []
        begun = self._opening if moment is self.moments[0] else 0
        entries[step] = [*known[:begun], *ops, *known[begun:]]
        return {**program, "hooks": {**program.get("hooks", {}), hook: entries}}

    def read(self, path: Path, name: str) -> Sequence[Op]:
        return ({"set": [f"${_SINK}", name], "to": {"$clone": [*path]}},)

    def writes(self, path: Path, value: Any) -> Iterable[Sequence[Op]]:
        if isinstance(value, list):
            added = {"$clone": [*path, -1]} if value else _MARK
            yield ({"append": [*path], "with": added},)
            return
        if len(path) > 1 or path:
            yield ({"set": [*path, "swept"], "to": _MARK},)
        texts = [key for key in ("text", "content", "b") if isinstance(value.get(key), str)]
        yield from (({"append": [*path, key], "with": _MARK},) for key in texts)

    def readings(self, trace: Json) -> Mapping[str, Any]:
        caller = trace.get("caller")
        first = caller[0] if isinstance(caller, list) and caller else {}
        found: Mapping[str, Any] = first.get(_SHOWN, {}) if isinstance(first, dict) else {}
        return found
