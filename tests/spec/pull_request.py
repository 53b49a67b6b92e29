"""The page of the pull request by which Strands' contexts became copies: what each commit changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentcore.frameworks.strands.emulation.pull_request import COMMITS, Commit
from spec.crossings_strands import MARK, contexts, reached

Json = dict[str, Any]


def _set(*path: Any) -> list[Json]:
    return [{"op": "set", "path": list(path), "value": MARK, "when": 0}]


def _model(*path: Any) -> Json:
    return {"middleware": [{"stage": "model", "ops": _set(*path)}]}


def _push(stage: str, field: str) -> Json:
    message = {"role": "user", "content": [{"text": MARK}]}
    ops = [{"op": "append", "path": [field], "value": message, "when": 0}]
    return {"middleware": [{"stage": stage, "ops": ops}]}


_USE: Final = {"toolUse": {"name": "look", "toolUseId": "u1", "input": {"q": "query"}}}
_ANSWER: Final[list[Json]] = [{"text": "let me see"}, _USE]
_TOLD: Final = {"toolResult": {"toolUseId": "u0", "status": "success", "content": [{"json": {"a": "old"}}]}}
_HISTORY: Final = [
    {"role": "user", "content": [{"text": "first"}], "metadata": {"custom": {"a": "note"}}},
    {
        "role": "assistant",
        "content": [{"toolUse": {"name": "look", "toolUseId": "u0", "input": {"q": "old"}}}],
    },
    {"role": "user", "content": [_TOLD]},
]
_SYSTEM: Final = [{"text": "be good"}, {"guardContent": {"text": {"text": "careful", "qualifiers": ["q"]}}}]
_BASE: Final[Json] = {
    "messages": _HISTORY,
    "system": _SYSTEM,
    "input": [{"role": "user", "content": [{"text": "go"}]}],
    "script": [_ANSWER, [{"text": "done"}]],
    "tools": {"look": {"output": "seen"}},
    "invocationState": {"mine": {"a": "state"}},
}
_OWN_INPUT: Final = {"op": "set", "path": ["input", "q"], "value": MARK}
_STATE: Final = [{"op": "setInvocationState", "key": "k", "value": MARK, "when": 0}]

EDITS: Final[Mapping[str, Json]] = {
    "model: a message pushed to `messages`": _push("model", "messages"),
    "model: a text of `messages`": _model("messages", 0, "content", 0, "text"),
    "model: the metadata of a message": _model("messages", 0, "metadata", "custom", "a"),
    "model: the input of a tool use in `messages`": _model(
        "messages", 1, "content", 0, "toolUse", "input", "q"
    ),
    "model: the JSON of a result in `messages`": _model(
        "messages", 2, "content", 0, "toolResult", "content", 0, "json", "a"
    ),
    "model: a text of the system prompt": _model("system", 0, "text"),
    "model: guarded content of the system prompt": _model("system", 1, "guardContent", "text", "text"),
    "model: a tool's description": _model("toolSpecs", 0, "description"),
    "model: the agent's model state": {
        "middleware": [{"stage": "model", "ops": [{"op": "setModelState", "key": "a", "value": MARK}]}]
    },
    "model: a key of the invocation state": {"middleware": [{"stage": "model", "ops": _STATE}]},
    "model: a value inside the invocation state": _model("invocationState", "mine", "a"),
    "hook while the model streams: a key of the invocation state": {
        "hooks": [{"on": "modelDelta", "ops": _STATE}]
    },
    "hook at a block of the answer: a key of the invocation state": {
        "hooks": [{"on": "contentBlock", "ops": _STATE}]
    },
    "tool: its input": {"middleware": [{"stage": "tool", "ops": _set("toolUse", "input", "q")}]},
    "tool: the tool itself, its own input": {
        "tools": {"look": {"output": "seen", "mutateInput": [_OWN_INPUT]}}
    },
    "tool: a key of the invocation state": {"middleware": [{"stage": "tool", "ops": _STATE}]},
    "stream: a message pushed to `args`": _push("stream", "args"),
    "stream: a text of `args`": {
        "middleware": [{"stage": "stream", "ops": _set("args", 0, "content", 0, "text")}]
    },
    "stream: a key of the invocation state": {"middleware": [{"stage": "stream", "ops": _STATE}]},
}
"""What is written, and the fields of the program in which it is."""


def program(name: str) -> Json:
    """The whole program of a row."""
    return {"id": "row", **_BASE, **EDITS[name]}


def seen(commit: Commit) -> Mapping[str, str]:
    """For each write where it is to be seen afterwards."""
    return {name: ", ".join(reached(commit.profile, program(name))) or "nothing" for name in EDITS}


# ---------------------------------------------------------------- the page

_HEAD: Final = """\
# A pull request, commit by commit

How the contexts of handlers became copies in the Strands SDK for TypeScript: the version before
([`strands-ts@1.5.0`](profiles/strands.md)), and each commit that changes a copy. The commits were never
published by themselves; they are profiles (`agentcore.frameworks.strands.emulation.pull_request`), so a
program runs under each of them, and this page is made of such runs. What the pull request says of itself, and
what holds, is among the [errata](../errata/middleware-copies.md).

"""
_CHANGES: Final = """\
## What each commit changed

Who sees a write, before the commit and after it; writes that are not named are seen where they were.

"""
_WRITES: Final = """
## Who sees a write

A marker is written once, in place, at the first entry of a handler or hook, and looked for afterwards in what
the provider is given at this call and at the next, in what the tool is given, in the agent's history, in its
system prompt, tools and model state, in the caller's own objects, and in the result.

"""
_CONTEXTS: Final = """
## Whose objects a context has

In the words of the [profiles](profiles/strands.md#whose-objects-a-context-has).

"""
_PROGRAMS: Final = """
## The programs

Each write is one program: this one, with the fields of its line put in.

"""
_PYTHON: Final = """
**Example** (`strands.state-copied`, `strands.args-copied`): a program under every commit, from Python. A
handler of the model stage writes into the invocation state, and one of the stream stage pushes to the
caller's list.

```python
from agentcore.frameworks import strands
from agentcore.frameworks.strands.emulation.pull_request import COMMITS


def note(context):
    context["invocationState"]["noted"] = True


def push(context):
    context["args"].append({"role": "user", "content": [{"text": "more"}]})


for commit in COMMITS:
    ran = strands.run(
        commit.profile,
        strands.Settings(
            model=strands.Model.scripted([{"text": "ok"}]),
            inputs=[[{"role": "user", "content": [{"text": "go"}]}]],
            middleware=[
                strands.Middleware(stage="model", phase="input", call=note),
                strands.Middleware(stage="stream", phase="input", call=push),
            ],
            invocation_state={},
        ),
    )
    print(commit.name, ran.caller["invocationState"], len(ran.caller["inputs"][0]))
```

```text
before {'noted': True} 2
first {} 2
json-copy {} 2
three-stages {} 1
state-shared {'noted': True} 1
args-shared {'noted': True} 2
whole-messages {'noted': True} 2
```
"""


def page() -> str:
    """`generated/strands-pull-request.md`."""
    writes = [seen(commit) for commit in COMMITS]
    held = [contexts(commit.profile) for commit in COMMITS]
    changes = "".join(_commit(commit, writes[at - 1 : at + 1]) for at, commit in enumerate(COMMITS))
    lines = (f"- {name}: `{json.dumps(fields)}`\n" for name, fields in EDITS.items())
    return "".join(
        (
            *(_HEAD, _CHANGES, changes, _WRITES, _table("what is written", writes)),
            *(_CONTEXTS, _table("stage and field", held), _PYTHON, _PROGRAMS),
            *(f"```json\n{json.dumps(_BASE)}\n```\n\n", *lines),
        )
    )


def _commit(commit: Commit, around: list[Mapping[str, str]]) -> str:
    head = f"- **{commit.name}.** {commit.does}\n"
    return head + "".join(f"  - {line}\n" for line in changed(around)) if around else head


def changed(around: list[Mapping[str, str]]) -> Iterator[str]:
    """The writes that are seen elsewhere after a commit than before it."""
    before, after = around
    lines = [f"{name}: {before[name]} → {told}" for name, told in after.items() if told != before[name]]
    yield from lines or ["nothing"]


def _table(title: str, columns: list[Mapping[str, str]]) -> str:
    names = " | ".join(commit.name for commit in COMMITS)
    head = f"| {title} | {names} |\n|---|{'---|' * len(COMMITS)}\n"
    rows = (f"| {row} | {' | '.join(column[row] for column in columns)} |\n" for row in columns[0])
    return head + "".join(rows)
