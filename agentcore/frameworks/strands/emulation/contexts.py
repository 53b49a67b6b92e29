"""Contexts of the stages: the fields that a profile lists, under one name for all profiles.

Rules strands.nothing-frozen and strands.state-shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentcore.frameworks.strands.profiles import ModelState, StrandsProfile
from agentcore.heap.copying import CopyDepth
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


# What the handlers of a profile are given, as one table: which of it is the agent's own.

SHARE: Final = "share"
SHALLOW: Final = "shallow"
DEEP: Final = "deep"
VALUE: Final = "value"
ABSENT: Final = "absent"


def contract(profile: StrandsProfile) -> Mapping[str, str]:
    """For each field of the contexts `share`, `shallow`, `deep`, `value` or `absent`.

    share: the agent's or the caller's own object. shallow: a new one that holds some of their objects. deep:
    nothing in common. value: a text. absent: there is no such field.
    """
    copies = profile.model_copies
    listed = profile.input_converted
    options = "options" in fields_of(profile, "stream")
    return MappingProxyType(
        {
            "model messages": _word(copies.messages),
            "model system, a text": _word(copies.system) if profile.system_listed else VALUE,
            "model system, a list": _word(copies.system, flat=CopyDepth.PART),
            "model system, guarded content": _word(copies.system),
            "model toolSpecs": _word(max(copies.tool_specs, CopyDepth.LIST)),
            "model toolChoice": _word(copies.tool_choice),
            "model modelState": SHARE if profile.model_state is ModelState.LIVE else ABSENT,
            "model invocationState": _word(
                copied if (copied := profile.state_copied) >= CopyDepth.PART else CopyDepth.SHARE
            ),
            "tool toolUse": _word(profile.tool_use_copied),
            "tool invocationState": SHARE,
            "stream args, messages": _word(profile.args_copied),
            "stream args, blocks": SHALLOW if listed else _word(profile.args_copied),
            "stream args, a text": DEEP if listed else VALUE,
            "stream options, with a state": SHARE if options else ABSENT,
            "stream options, without": SHALLOW if options else ABSENT,
            "stream invocationState": SHARE,
            "result of any stage": SHARE,
        }
    )


def _word(depth: CopyDepth, *, flat: CopyDepth = CopyDepth.DEEP) -> str:
    """The word for a copy; from `flat` on nothing of what is copied is left to be shared."""
    if depth is CopyDepth.SHARE:
        return SHARE
    return DEEP if depth >= flat else SHALLOW
