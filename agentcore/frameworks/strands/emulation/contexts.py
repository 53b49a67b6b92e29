"""Contexts of the stages: the fields that a profile lists, under one name for all profiles.

Rules strands.nothing-frozen and strands.state-shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agentcore.frameworks.strands.profiles import StrandsProfile
from agentcore.heap.heap import UNDEFINED, Function, Ref, Slot, Store, Value

_NAMES: Final = {
    "systemPrompt": "system",
    "system_prompt": "system",
    "tool_specs": "toolSpecs",
    "tool_choice": "toolChoice",
    "tool_use": "toolUse",
    "invocation_state": "invocationState",
}
_STREAM_NAMES: Final = {**_NAMES, "messages": "args"}


def fields_of(profile: StrandsProfile, stage: str) -> Mapping[str, str]:
    """The fields of a stage's context by their names here, with the SDK's own names, in their order."""
    names: Mapping[str, str] = _STREAM_NAMES if stage == "stream" else _NAMES
    listed: tuple[str, ...] = getattr(profile.contexts, stage)
    return {names.get(name.rstrip("?"), name.rstrip("?")): name for name in listed}


def context(store: Store, profile: StrandsProfile, stage: str, values: Mapping[str, Value]) -> Ref:
    """A context with these values; what it has beside them stands for something of the host."""
    made: dict[str, Value] = {}
    for field, name in fields_of(profile, stage).items():
        value = values.get(field, Function(name=field))
        made[field] = None if value is UNDEFINED and not name.endswith("?") else value
    return store.object(made)


def given(store: Store, value: Ref, field: str) -> Slot:
    """A field of a context, None where there is nothing."""
    cell = store.cells[value.address]
    return cell.get(field) if isinstance(cell, dict) else None
