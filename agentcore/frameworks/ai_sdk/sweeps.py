"""Scenes of the AI SDK's format for sweeps: two steps with a tool, a history, and every setting that shows.

An argument is read by a copy of it in a *sink*: an object that no hook is given, made at the first moment,
and put into the caller's messages at the last. So a reading changes nothing that anybody else is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from agentcore.frameworks.ai_sdk.profiles import PROFILES
from agentcore.frameworks.ai_sdk.program import path_of
from agentcore.kit.sweeps import Moment, Op, Path, Scene

__all__ = ["HOOKS", "scenes"]

Json: TypeAlias = dict[str, Any]

_MARK: Final = "#swept"
_SINK: Final = "sink"
_OPENING: Final[Sequence[Op]] = (
    {"set": [_SINK], "to": {}},
    {"keep": [_SINK], "as": _SINK},
    {"delete": [_SINK]},
)
_ENDING: Final[Op] = {"set": ["$caller", 0, "shown"], "to": {"$ref": [f"${_SINK}"]}}
_TEXTS: Final = ("text", "content", "b")
HOOKS: Final = ("prepareStep", "onStepStart", "model", "execute", "onStepFinish", "stopWhen", "onFinish")
"""In the order in which a step comes to them."""


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
_SCENE: Final[Json] = {
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
    yield _scene(plain)
    returned = {
        "messages": [{"append": [{"role": "user", "content": [{"type": "text", "text": "#ret"}]}]}],
        "providerOptions": {"p": {"in": {"c": "#over"}}},
        "model": "second",
        "system": "#sys1",
    }
    hooks = {"prepareStep": [[{"return": returned}]]}
    yield _scene({**plain, "messages": _APPROVED, "hooks": hooks})


def _scene(program: Json) -> Scene:
    steps = range(len(program["script"]))
    hooks: dict[str, list[list[Op]]] = {hook: [[] for _ in steps] for hook in HOOKS}
    hooks["prepareStep"][0] = [*_OPENING, *program.get("hooks", {}).get("prepareStep", [[]])[0]]
    hooks["onFinish"][-1] = [_ENDING]
    return _Scene(
        program={"id": "scene", **program, "hooks": hooks},
        moments=tuple(_moments(steps)),
    )


def _moments(steps: range) -> Iterator[Moment]:
    for step in steps:
        never = ("execute", "stopWhen") if step == steps[-1] else ("onFinish",)
        for hook in (hook for hook in HOOKS if hook not in never):
            first = step == 0 and hook == "prepareStep"
            yield Moment(
                name=f"step {step}, {hook}",
                place=("hooks", hook, step),
                fields=_paths(hook, step),
                after=len(_OPENING) if first else 0,
            )


def _paths(hook: str, step: int) -> tuple[Path, ...]:
    names = _NAMES.get(hook) or (_RESULT if hook == "onStepFinish" else (*_RESULT, *_END))
    found: list[Path] = []
    for name in names:
        found.append((name,))
        if name != "steps" or step:
            found += [(name, *path) for path in _INSIDE.get(name, ())]
    return tuple(found)


class _Scene(Scene):
    """A run whose readings are copies in the sink."""

    def read(self, moment: Moment, path: Path, name: str) -> Op:
        """Copies what is there into the sink."""
        del moment
        return {"set": [f"${_SINK}", name], "to": {"$clone": [*path]}}

    def writes(self, moment: Moment, path: Path, value: Any) -> Iterable[Op]:
        """One more element, one more field, and more of a text in it."""
        del moment
        if isinstance(value, list):
            yield {"append": [*path], "with": {"$clone": [*path, -1]} if value else _MARK}
            return
        yield {"set": [*path, "swept"], "to": _MARK}
        for key in _TEXTS:
            if isinstance(value.get(key), str):
                yield {"append": [*path, key], "with": _MARK}

    def readings(self, trace: Json) -> Mapping[str, Any]:
        """What is in the sink at the end."""
        match trace.get("caller"):
            case [{"shown": dict(found)}, *_]:
                return found
        return {}
