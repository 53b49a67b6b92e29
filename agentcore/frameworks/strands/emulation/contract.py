"""What the handlers of a profile are given, as one table: which of it is the agent's own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentcore.frameworks.strands.emulation.contexts import fields_of
from agentcore.frameworks.strands.profiles import ModelState, StrandsProfile
from agentcore.heap.copying import CopyDepth

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
