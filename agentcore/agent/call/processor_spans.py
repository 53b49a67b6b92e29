"""What a span says of a processor: what it was handed, what it returned, what that changed.

Names, ids, kinds and counts only, so that no text of messages or instructions is in it; with content, the
values as JSON instead. Of model settings the names in any case: there may be keys in headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import attrs

from agentcore.machine.hooks import ProcessorEdit, StepOverride
from agentcore.machine.message_list import MessageList, Mutation
from agentcore.machine.processors import InputArguments, StepArguments, TripwireError
from agentcore.messages.prompt import system_messages
from agentcore.messages.values import dump_json
from agentcore.messages.wire import message_to_wire

__all__ = ["arguments_attributes", "result_attributes", "tripwire_attributes"]

_PREFIX: Final = "agentcore.processor"
Attributes = dict[str, Any]


def arguments_attributes(way: str, arguments: StepArguments | InputArguments, *, content: bool) -> Attributes:
    """What the processor was handed, under `agentcore.processor.before`."""
    named = {
        f"{_PREFIX}.id": arguments.processor_id,
        f"{_PREFIX}.method": way,
        "agentcore.step_number": arguments.step_number,
    }
    if isinstance(arguments, StepArguments):
        named["agentcore.step_count"] = len(arguments.steps)
    return named | _fields("before", _values(arguments), content=content)


def result_attributes(
    result: object, edit: ProcessorEdit | None, mutations: Iterable[Mutation], *, content: bool
) -> Attributes:
    """What it returned, how it changed its list, and the fields that are others after it.

    The fields are under `agentcore.processor.after`, with those of the same names before them.
    """
    changed = {} if edit is None else _values(edit.override)
    return {
        f"{_PREFIX}.returned": _kind(result),
        f"{_PREFIX}.changed": list(changed),
        f"{_PREFIX}.mutations": [_mutation(each, content=content) for each in mutations],
        **_fields("after", changed, content=content),
    }


def tripwire_attributes(error: TripwireError, *, content: bool) -> Attributes:
    """That the processor ended the run; its words only as content."""
    said = {
        "agentcore.tripwire.reason": error.reason,
        "agentcore.tripwire.metadata": None if error.metadata is None else dump_json(error.metadata),
    }
    return {"agentcore.tripwire.retry": error.retry, **(said if content else {})}


# ---------------------------------------------------------------- fields

_RENAMED: Final = {"system": "system_messages", "response_format": "structured_output"}


def _values(source: StepArguments | InputArguments | StepOverride) -> dict[str, Any]:
    """The fields that a processor may return, of what it was handed or of what it changed."""
    names = {_RENAMED.get(each.name, each.name): each.name for each in attrs.fields(type(source))}
    values = {name: getattr(source, field) for name, field in names.items() if name in _BRIEF}
    return {name: value for name, value in values.items() if value is not None}


def _fields(when: str, values: Mapping[str, Any], *, content: bool) -> Attributes:
    write = _in_full if content else _in_brief
    return {f"{_PREFIX}.{when}.{name}": write(name, value) for name, value in values.items()}


def _count(value: Any) -> int:
    return len(value)


_BRIEF: Final[dict[str, Callable[[Any], Any]]] = {
    "messages": _count,
    "lasting_messages": _count,
    "system_messages": lambda value: len(system_messages(value)),
    "model": str,
    "tool_choice": lambda value: value.get("toolName", value["type"]),
    "active_tools": list,
    "provider_options": list,
    "model_settings": list,
    "structured_output": lambda value: value["type"],
    # That there is one.
    "experimental_context": lambda _: True,
}


def _in_brief(name: str, value: Any) -> Any:
    return _BRIEF[name](value)


def _in_full(name: str, value: Any) -> Any:
    if name == "model_settings":
        return _in_brief(name, value)
    if name == "system_messages":
        value = system_messages(value)
    if name.endswith("messages"):
        value = list(map(message_to_wire, value))
    return value if isinstance(value, str) else dump_json(value)


def _mutation(mutation: Mutation, *, content: bool) -> str:
    if content:
        messages = list(map(message_to_wire, mutation.messages))
        return dump_json({"kind": mutation.kind, "ids": mutation.ids, "messages": messages})
    return " ".join((mutation.kind, *mutation.ids))


def _kind(result: object) -> str:
    if result is None:
        return "nothing"
    if isinstance(result, MessageList):
        return "message_list"
    return "fields" if isinstance(result, StepOverride | Mapping) else "messages"
