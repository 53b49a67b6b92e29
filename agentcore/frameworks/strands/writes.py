"""Random values and edits of the middleware format, every text that is written being told from all others.

What lies at the edges of the format (tools that are refused or listed otherwise, odd texts, numbers) is drawn
after the rest of a program, so that a seed gives the rest as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, TypeAlias

from agentcore.kit.choices import Choices, Marker, Weights

__all__ = ["STOP_REASONS", "Edges", "Maker"]

Json: TypeAlias = dict[str, Any]
Path: TypeAlias = list[str | int]

STOP_REASONS: Final = ("endTurn", "toolUse", "stopSequence", "contentFiltered", "guardrailIntervened")
_MESSAGE_LISTS: Final = frozenset({"messages", "args"})
_FREE: Final = frozenset(
    {"input", "json", "metadata", "inputSchema", "invocationState", "options", "toolChoice"}
)


_BLOCKS: Final = Weights({"text": 60, "cache point": 12, "reasoning": 12, "guarded": 8, "tool result": 8})
_LIST_EDITS: Final = Weights(
    {"append": 22, "replace": 8, "insert": 6, "delete": 6, "replace element": 6, "go inside": 52}
)
_MESSAGE_EDITS: Final = Weights(
    {
        "set metadata": 12,
        "edit metadata": 12,
        "delete metadata": 4,
        "set role": 4,
        "set content": 8,
        "edit content": 60,
    }
)
_OBJECT_EDITS: Final = Weights(
    {"add field": 30, "add object": 6, "replace": 8, "delete field": 8, "go inside": 48}
)
_ARRAY_EDITS: Final = Weights({"append": 25, "delete": 10, "go inside": 35, "replace": 30})


class Maker(Marker):
    """Makes values and edits. An edit is aimed at an example of what a handler will be given."""

    # --- values ---------------------------------------------------------------------------------------------

    def payload(self) -> Json:
        """An object as a tool's input is, often with more inside."""
        choices = self.choices
        made: Json = {"a": self.mark()}
        if choices.chance(55):
            made["b"] = {"c": self.mark(), **({"d": [1, self.mark()]} if choices.chance(40) else {})}
        if choices.chance(25):
            made["list"] = [self.mark(), {"e": self.mark()}]
        return made

    def leaf(self) -> Any:
        """A small JSON value."""
        choices = self.choices
        return choices.sample((self.mark(), self.mark(), {"n": self.mark()}, [self.mark()], 7, None, True))

    def text(self) -> Json:
        """A text block."""
        return {"text": self.mark()}

    def block(self) -> Json:
        """A block that any message may have."""
        match _BLOCKS.draw(self.choices):
            case "text":
                return self.text()
            case "cache point":
                return {"cachePoint": {"type": "default"}}
            case "reasoning":
                return self.reasoning()
            case "guarded":
                return self.guarded()
        return {"toolResult": self.tool_result(self.mark())}

    def reasoning(self) -> Json:
        """A reasoning block, often signed."""
        signed = {"signature": self.mark()} if self.choices.chance(40) else {}
        return {"reasoning": {"text": self.mark(), **signed}}

    def guarded(self) -> Json:
        """A block for a guardrail."""
        qualifiers = ["query"] if self.choices.chance(50) else ["query", "grounding_source"]
        return {"guardContent": {"text": {"text": self.mark(), "qualifiers": qualifiers}}}

    def system_block(self) -> Json:
        """A block of a system prompt."""
        choices = self.choices
        return choices.sample((self.text(), self.text(), {"cachePoint": {"type": "default"}}, self.guarded()))

    def tool_result(self, tool_use_id: str) -> Json:
        """A tool's result."""
        status = "error" if self.choices.chance(20) else "success"
        return {"toolUseId": tool_use_id, "status": status, "content": self.result_blocks()}

    def result_blocks(self) -> list[Json]:
        """Draws a tool's result blocks."""
        blocks = [self.result_block()]
        return [*blocks, self.result_block()] if self.choices.chance(25) else blocks

    def result_block(self) -> Json:
        """A text or a JSON value."""
        return {"json": self.payload()} if self.choices.chance(45) else self.text()

    def message(self) -> Json:
        """A message that can be added anywhere."""
        choices = self.choices
        role = "assistant" if choices.chance(25) else "user"
        content = [self.block() for _ in range(choices.sample((1, 1, 1, 2)))]
        return {"role": role, "content": content, **self.metadata(15)}

    def metadata(self, percent: float) -> Json:
        """A message's field `metadata`, in so many of a hundred cases."""
        return {"metadata": {"custom": self.payload()}} if self.choices.chance(percent) else {}

    def spec(self) -> Json:
        """A tool's description, of a tool that there is not."""
        return {
            "name": "extra",
            "description": self.mark(),
            "inputSchema": {"type": "object", "properties": {}},
        }

    # --- edits ----------------------------------------------------------------------------------------------

    def edit(self, example: Json, *, whole: Collection[str] | None = None) -> Json:
        """An edit `{action, path, value?, index?}` of something in the example.

        `whole` are the fields that can be replaced themselves; all, if it is None.
        """
        choices = self.choices
        if choices.chance(1.5):
            return self._astray(example)
        fields = [name for name, value in example.items() if whole is None or isinstance(value, (dict, list))]
        field = choices.sample(fields)
        return self._edit([field], example[field], field, whole=whole is None or field in whole)

    def _astray(self, example: Json) -> Json:
        """An edit that can have no effect."""
        field = self.choices.sample([*example])
        return self.choices.sample(
            (
                {"action": "set", "path": [field, 99, "text"], "value": self.mark()},
                {"action": "set", "path": ["nothing"], "value": self.mark()},
                {"action": "delete", "path": [field, "nothing", 0]},
                {"action": "append", "path": [field, -50], "value": self.mark()},
                {"action": "set", "path": [field], "value": 7},
            )
        )

    def _edit(self, path: Path, value: Any, kind: str, *, whole: bool = False) -> Json:
        """An edit at the path or below; `kind` is the last name on the way, which says what stands there."""
        choices = self.choices
        if kind in _FREE:
            return self._edit_json(path, value, whole=whole)
        if isinstance(value, list):
            return self._edit_list(path, value, kind, whole=whole)
        if isinstance(value, dict):
            return self._edit_object(path, value, kind, whole=whole)
        if kind == "status":
            return self._set(path, choices.sample(("error", "success")))
        return self._set(path, self.similar(value, kind))

    def _set(self, path: Path, value: Any) -> Json:
        return {"action": "set", "path": path, "value": value}

    def similar(self, value: Any, kind: str) -> Any:
        """Draws another value that may stand at the value's place."""
        choices = self.choices
        if kind == "stopReason":
            return choices.sample(STOP_REASONS)
        if kind == "toolResult":
            return self.tool_result(value["toolUseId"])
        if isinstance(value, dict) and "role" in value:
            return {"role": value["role"], "content": [self.text()]}
        if kind == "role":
            return "user" if value == "assistant" else "assistant"
        if kind == "system":
            return choices.sample((self.mark(), [self.text()], [self.text(), self.guarded()], None))
        if isinstance(value, list):
            return [self._element(value, kind) for _ in range(choices.sample((1, 1, 2, 0)))]
        if isinstance(value, dict):
            return {key: self.similar(child, key) for key, child in value.items()}
        return self.mark() if isinstance(value, str) else value

    def _element(self, value: list[Any], kind: str) -> Any:
        """Draws a value that can be added to a list."""
        if kind in _MESSAGE_LISTS and (kind == "messages" or not value or "role" in value[0]):
            return self.message()
        if kind == "toolSpecs":
            return self.spec()
        if kind == "system":
            return self.system_block()
        if kind == "results":
            return self.result_block()
        return self.mark() if kind == "qualifiers" else self.block()

    def _edit_list(self, path: Path, value: list[Any], kind: str, *, whole: bool) -> Json:
        action = _LIST_EDITS.draw(self.choices)
        if action == "append" or not value:
            return {"action": "append", "path": path, "value": self._element(value, kind)}
        if action == "replace" and whole:
            return self._set(path, self.similar(value, kind))
        index = self._index(value)
        if action in {"replace", "insert"}:
            return {"action": "insert", "path": path, "index": index, "value": self._element(value, kind)}
        if action == "delete":
            return {"action": "delete", "path": [*path, index]}
        if action == "replace element" or isinstance(value[index], str):
            return self._set([*path, index], self._element(value, kind))
        return self._edit([*path, index], value[index], kind)

    def _index(self, value: list[Any]) -> int:
        choices = self.choices
        return -1 if choices.chance(45) else choices.integer(0, len(value) - 1)

    def _edit_object(self, path: Path, value: Json, kind: str, *, whole: bool) -> Json:
        choices = self.choices
        if whole and choices.chance(8):
            return self._set(path, self.similar(value, kind))
        if "role" in value:
            return self._edit_message(path, value)
        key = choices.sample([*value])
        if key == "toolUseId" and choices.chance(70):
            key = [*value][-1]
        inner = "results" if kind == "toolResult" and key == "content" else key
        return self._edit([*path, key], value[key], inner)

    def _edit_message(self, path: Path, value: Json) -> Json:
        action = _MESSAGE_EDITS.draw(self.choices)
        if action in {"edit metadata", "delete metadata"} and "metadata" not in value:
            action = "set role"
        match action:
            case "set metadata":
                return self._set([*path, "metadata", "custom"], self.payload())
            case "edit metadata":
                return self._edit_json([*path, "metadata"], value["metadata"])
            case "delete metadata":
                return {"action": "delete", "path": [*path, "metadata"]}
            case "set role":
                return self._set([*path, "role"], self.similar(value["role"], "role"))
            case "set content":
                return self._set([*path, "content"], [self.block()])
        return self._edit([*path, "content"], value["content"], "content")

    def _edit_json(self, path: Path, value: Any, *, whole: bool = False) -> Json:
        if isinstance(value, dict):
            return self._edit_json_object(path, value, whole=whole)
        action = _ARRAY_EDITS.draw(self.choices)
        if not isinstance(value, list) or not value or action == "replace":
            return self._set(path, self.leaf())
        index = self._index(value)
        if action == "append":
            return {"action": "append", "path": path, "value": self.leaf()}
        if action == "delete":
            return {"action": "delete", "path": [*path, index]}
        return self._edit_json([*path, index], value[index])

    def _edit_json_object(self, path: Path, value: Json, *, whole: bool) -> Json:
        action = _OBJECT_EDITS.draw(self.choices)
        if action == "add field" or not value:
            return self._set([*path, "new"], self.leaf())
        if action == "add object":
            return self._set([*path, "made", "inside"], self.mark())
        if action == "replace" and whole:
            return self._set(path, {"whole": self.mark()})
        key = self.choices.sample([*value])
        if action == "go inside":
            return self._edit_json([*path, key], value[key])
        return {"action": "delete", "path": [*path, key]}


# --- the edges of the format --------------------------------------------------------------------------------


_NAMES: Final = ("0", "12", "toString", "look-it")
_ALIKE: Final = ("strands-structured-output", "a-b", "a_b")
_SURROGATES: Final = ("\ud800", "x\udc00\ud800y", "\U0001f600\udfff")
_NUMBERS: Final = (9007199254740994, 9223372036854775808, -9223372036854775808, 1e21, 1e16, 1.5)


class Edges:
    """Puts one odd thing into a program."""

    def __init__(self, choices: Choices, make: Maker) -> None:
        self.choices = choices
        self.make = make

    def put(self, program: Json) -> None:
        """Changes the program in place."""
        kinds: tuple[Callable[[Json], None], ...] = (
            *(self._tools, self._refused, self._answer, self._answer, self._surrogate, self._number),
        )
        self.choices.sample(kinds)(program)

    def _tools(self, program: Json) -> None:
        program.setdefault("tools", {})[self.choices.sample(_NAMES)] = {"output": self.make.mark()}

    def _refused(self, program: Json) -> None:
        """A tool that some implementation refuses."""
        tools = program.setdefault("tools", {})
        if self.choices.chance(50):
            tools["bare"] = {"description": ""}
        else:
            tools.update({name: {} for name in _ALIKE[: self.choices.integer(1, 3)]})

    def _answer(self, program: Json) -> None:
        """A structured answer, and a hook that writes into the messages that it is in."""
        choices = self.choices
        use = {"name": "strands_structured_output", "toolUseId": "so", "input": {"name": self.make.mark()}}
        program["script"] = [*program.get("script", []), [{"toolUse": use}]]
        program["structuredOutput"] = True
        result: list[Any] = ["message", "content", 0, "toolResult"]
        ops: tuple[Json, ...] = (
            {"op": "set", "path": ["message", "content"], "value": []},
            {"op": "set", "path": [*result, "status"], "value": "error"},
            {"op": "set", "path": [*result, "content"], "value": [{"json": {"name": self.make.mark()}}]},
            {"op": "set", "path": ["message", "content", 0, "toolUse", "toolUseId"], "value": "other"},
        )
        op = {**choices.sample(ops), "when": choices.integer(0, 4)}
        program.setdefault("hooks", []).append({"on": "messageAdded", "ops": [op]})

    def _surrogate(self, program: Json) -> None:
        """Half of a pair of surrogates: in a structured answer, or in a path that leads nowhere."""
        choices = self.choices
        text = choices.sample(_SURROGATES)
        if choices.chance(50):
            use = {"name": "strands_structured_output", "toolUseId": "so", "input": {"name": text}}
            program["script"] = [[{"toolUse": use}], *program.get("script", [])]
            program["structuredOutput"] = True
        else:
            op = {"op": "delete", "path": ["invocationState", text]}
            program.setdefault("middleware", []).append({"stage": "model", "ops": [op]})

    def _number(self, program: Json) -> None:
        program.setdefault("modelState", {})["huge"] = self.choices.sample(_NUMBERS)

    # --- what is drawn last ---

    def finish(self, program: Json, *, typescript: bool) -> None:
        """Writes out a default, or puts in an edit or an op that is seldom."""
        choices = self.choices
        if choices.chance(50):
            self._spell_out(program, typescript=typescript)
            return
        edits: tuple[Json, ...] = (
            {"op": "insert", "path": ["messages"], "index": 0, "value": self.make.message()},
            {"op": "delete", "path": ["messages", -1, "content", 0]},
        )
        entries = program.get("script", [])
        if entries and choices.chance(50):
            index = choices.integer(0, len(entries) - 1)
            entry = entries[index] if isinstance(entries[index], dict) else {"blocks": entries[index]}
            entries[index] = {**entry, "mutate": [choices.sample(edits)]}
            return
        seen: Json = {"op": "observe", "path": ["messages"], "on": "agent", "as": self.make.mark(), "when": 0}
        state: Json = {"op": "observeModelState", "as": self.make.mark()}
        handler = {"stage": "model", "phase": "input", "ops": [choices.sample((seen, state))]}
        program["middleware"] = [*program.get("middleware", []), handler]

    def _spell_out(self, program: Json, *, typescript: bool) -> None:
        program.setdefault("executor", "sequential")
        if typescript:
            program.setdefault("messagesForm", "message")
        for handler in program.get("middleware", ()):
            handler.setdefault("phase", "wrap")
            handler["stage"] = _LONG_NAMES[handler["stage"]]
            for op in handler.get("ops", ()):
                _spell_op(op, tool=handler["stage"] == _LONG_NAMES["tool"])


_LONG_NAMES: Final = {"model": "InvokeModelStage", "tool": "ExecuteToolStage", "stream": "AgentStreamStage"}


def _spell_op(op: Json, *, tool: bool) -> None:
    """Writes out what an op means if it says nothing."""
    if op["op"] == "next":
        op.setdefault("ctx", "current")
        op.setdefault("events", "pass")
    elif op["op"] == "shortCircuit" and not tool:
        op.setdefault("stopReason", "endTurn")
    elif op["op"] == "setModelStateViaContext":
        op.setdefault("when", 0)
