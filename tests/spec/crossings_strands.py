"""What handlers of Strands hold in their hands, and what they reach by it: measured on its profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentcore.frameworks.strands.family import FAMILY
from agentcore.frameworks.strands.profiles import PROFILES, StrandsProfile
from agentcore.frameworks.strands.reference import trace_under
from spec.tables import Table

Json = dict[str, Any]

# ---------------------------------------------------------------- whose objects a context has

_HISTORY: Final = {"role": "user", "content": [{"text": "hi"}], "metadata": {"custom": {"a": 1}}}
_USED: Final = (
    {
        "role": "assistant",
        "content": [{"toolUse": {"name": "look", "toolUseId": "u0", "input": {"q": {"a": 1}}}}],
    },
    {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "u0", "status": "success", "content": [{"json": {"a": 1}}]}}
        ],
    },
)
_GUARDED: Final = {"guardContent": {"text": {"text": "careful", "qualifiers": ["query"]}}}
_TOOL: Final = {
    "script": [[{"toolUse": {"name": "look", "toolUseId": "u1", "input": {"q": {"a": 1}}}}]],
    "tools": {"look": {"output": "seen"}},
}
_STATE: Final = {"invocationState": {"mine": {"a": 1}}}
_OPTIONS: Final = {"options": {"note": {"a": 1}}}

# For each row the stage, the field, and a program in which there is something in it.
_FIELDS: Final[Mapping[str, tuple[str, str, Json]]] = {
    "model messages": ("model", "messages", {"messages": [_HISTORY, *_USED]}),
    "model system, a text": ("model", "system", {"system": "be good"}),
    "model system, a list": ("model", "system", {"system": [{"text": "be"}, {"cachePoint": {"type": "x"}}]}),
    "model system, guarded content": ("model", "system", {"system": [_GUARDED]}),
    "model toolSpecs": ("model", "toolSpecs", _TOOL),
    "model modelState": ("model", "modelState", {"modelState": {"a": 1}}),
    "model invocationState": ("model", "invocationState", _STATE),
    "tool toolUse": ("tool", "toolUse", _TOOL),
    "tool invocationState": ("tool", "invocationState", {**_TOOL, **_STATE}),
    "stream args, messages": ("stream", "args", {"input": [_HISTORY]}),
    "stream args, blocks": ("stream", "args", {"input": [{"text": "hi"}]}),
    "stream args, a text": ("stream", "args", {"input": "hi"}),
    "stream options, with a state": ("stream", "options", {**_STATE, **_OPTIONS}),
    "stream options, without": ("stream", "options", _OPTIONS),
    "stream invocationState": ("stream", "invocationState", _STATE),
}
_CHOICE: Final = "model toolChoice"
_RESULT: Final = "result of any stage"
_ORDER: Final = ("model", "tool", "stream", "result")


def contexts(profile: str | StrandsProfile) -> Mapping[str, str]:
    """For each field of a context whether it is the agent's or the caller's own, the same in both phases."""
    words = {row: _mode(profile, *shown) for row, shown in _FIELDS.items()}
    words |= {_CHOICE: _choice(profile), _RESULT: _result(profile)}
    return {row: words[row] for row in sorted(words, key=lambda row: _ORDER.index(row.split()[0]))}


def _run(profile: str | StrandsProfile, program: Json) -> Json:
    whole = {"id": "crossing", **program}
    FAMILY.require(whole)
    return trace_under(PROFILES[profile] if isinstance(profile, str) else profile, whole)


def _mode(profile: str | StrandsProfile, stage: str, field: str, program: Json) -> str:
    handlers = [{"stage": stage, "phase": phase, "ops": [{"op": "identity"}]} for phase in ("input", "wrap")]
    shown = _run(profile, {**program, "middleware": handlers})["identity"]
    (mode,) = {one["fields"].get(field, {"mode": "absent"})["mode"] for one in shown}
    return str(mode)


def _choice(profile: str | StrandsProfile) -> str:
    """Nobody outside the loop holds a forced tool choice; the next call shows whether the edit was in it."""
    edit = {"op": "set", "path": ["toolChoice", "by"], "value": "changed", "when": 1}
    program = {
        "structuredOutput": True,
        "script": [
            [{"text": "no"}],
            [{"toolUse": {"name": "strands_structured_output", "toolUseId": "u1", "input": {"name": 1}}}],
            [{"text": "no"}],
        ],
        "middleware": [{"stage": "model", "ops": [edit]}],
    }
    return "share" if "by" in _run(profile, program)["calls"][2]["toolChoice"] else "deep"


def _result(profile: str | StrandsProfile) -> str:
    edits = (edit for name, edit in _EDITS.items() if name.startswith("result"))
    return "share" if all("history" in _reached(profile, edit) for edit in edits) else "deep"


# ---------------------------------------------------------------- how far an edit in place gets

MARK: Final = "EDIT"


def _edit(*path: Any) -> Json:
    return {"op": "set", "path": list(path), "value": MARK, "when": 0}


def _handler(stage: str, phase: str, *path: Any) -> Json:
    return {"middleware": [{"stage": stage, "phase": phase, "ops": [_edit(*path)]}]}


def _hook(on: str, *path: Any) -> Json:
    return {"hooks": [{"on": on, "ops": [_edit(*path)]}]}


_USE: Final = {"toolUse": {"name": "look", "toolUseId": "u1", "input": {"q": "query"}}}
_EDITED: Final[Json] = {
    "messages": [
        {"role": "user", "content": [{"text": "first"}], "metadata": {"custom": {"a": "note"}}},
        {
            "role": "assistant",
            "content": [{"toolUse": {"name": "look", "toolUseId": "u0", "input": {"q": "old"}}}],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "u0", "status": "success", "content": [{"text": "old"}]}}
            ],
        },
    ],
    "system": [{"text": "be good"}, _GUARDED],
    "input": [{"role": "user", "content": [{"text": "go"}]}],
    "script": [[{"text": "let me see"}, _USE], [{"text": "done"}]],
    "tools": {"look": {"output": "seen"}},
    "invocationState": {"mine": "state"},
}
_OWN_EDITS: Final = {"op": "set", "path": ["input", "q"], "value": MARK}

_EDITS: Final[Mapping[str, Json]] = {
    "model: a text of `messages`": _handler("model", "wrap", "messages", 0, "content", 0, "text"),
    "model: the metadata of a message": _handler("model", "wrap", "messages", 0, "metadata", "custom", "a"),
    "model: the input of a tool use in `messages`": _handler(
        "model", "wrap", "messages", 1, "content", 0, "toolUse", "input", "q"
    ),
    "model: a text of the system prompt": _handler("model", "wrap", "system", 0, "text"),
    "model: guarded content of the system prompt": _handler(
        "model", "wrap", "system", 1, "guardContent", "text", "text"
    ),
    "model: a tool's description": _handler("model", "wrap", "toolSpecs", 0, "description"),
    "model: the agent's model state": {
        "middleware": [{"stage": "model", "ops": [{"op": "setModelState", "key": "a", "value": MARK}]}]
    },
    "model: the provider, a text that it was given": {
        "script": [
            {
                "blocks": _EDITED["script"][0],
                "mutate": [{"op": "set", "path": ["messages", 0, "content", 0, "text"], "value": MARK}],
            },
            _EDITED["script"][1],
        ]
    },
    "result of the model stage": _handler("model", "output", "message", "content", 0, "text"),
    "hook before a tool: its input": _hook("beforeTool", "toolUse", "input", "q"),
    "tool: its input": _handler("tool", "wrap", "toolUse", "input", "q"),
    "tool: the tool itself, its own input": {
        "tools": {"look": {"output": "seen", "mutateInput": [_OWN_EDITS]}}
    },
    "result of the tool stage": _handler("tool", "output", "toolResult", "content", 0, "text"),
    "stream: a text of `args`": _handler("stream", "wrap", "args", 0, "content", 0, "text"),
    "result of the stream stage": _handler("stream", "output", "lastMessage", "content", 0, "text"),
    "any stage: the invocation state": {
        "middleware": [
            {"stage": "model", "ops": [{"op": "setInvocationState", "key": "a", "value": MARK, "when": 0}]}
        ]
    },
}


def reach(profile: str | StrandsProfile) -> Mapping[str, str]:
    """For each edit where it is to be seen afterwards."""
    return {name: ", ".join(_reached(profile, edit)) or "nothing" for name, edit in _EDITS.items()}


def _reached(profile: str | StrandsProfile, edit: Json) -> list[str]:
    return reached(profile, {**_EDITED, **edit})


def reached(profile: str | StrandsProfile, program: Json) -> list[str]:
    """Where the marker of a program with two calls and a run of a tool is to be seen afterwards."""
    return [name for name, seen in _places(_run(profile, program)) if MARK in str(seen)]


def _places(trace: Json) -> Iterator[tuple[str, Any]]:
    first, second = trace["calls"]
    yield "this call", first
    yield "the tool", trace["toolRuns"]
    yield "next call", second
    yield "history", trace["agentMessages"]
    yield "agent", [trace["system"], trace["toolSpecs"], trace["modelState"]]
    yield "caller", [trace["caller"], trace["invocationState"]]
    yield "result", trace["results"]


# ---------------------------------------------------------------- on the page

_CONTEXTS: Final = """\
What input and wrap handlers are given, and what output handlers are given (the result). share: the agent's or
the caller's own object; shallow: a new one that holds some of theirs; deep: nothing in common; value: a text,
which nobody can write into; absent: no such field. No context is frozen, and none is copied between the
handlers of a chain: what one writes into it, all others have. [The chapter](../../strands.md) says it in
words.
"""
_REACH: Final = """\
A marker is written in place at the first entry, by a wrap handler unless the row says otherwise, and looked
for in what the provider is given at this call and at the next, what the tool is given, the agent's history,
its system prompt, tools and model state, the caller's own objects, and the result.
"""

TABLES: Final = (
    Table("Whose objects a context has", "stage and field", _CONTEXTS, contexts),
    Table("How far an edit in place gets", "what is edited", _REACH, reach),
)
