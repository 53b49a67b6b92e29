"""The pull request by which the contexts of handlers became copies, commit by commit, as profiles.

None of the commits was published by itself: each is the version before, with the copies that the commit
makes. What they do was measured on version 1.6.0 with those copies put into it (S29 to S57).
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from agentcore.frameworks.strands.profiles import STRANDS_TS_1_5, ModelState, StrandsProfile
from agentcore.heap.copying import CopyDepth

__all__ = ["COMMITS", "Commit"]


@attrs.frozen(kw_only=True)
class Commit:
    """A commit: a short name, what it does to the copies, and the profile of the SDK after it."""

    name: str
    does: str
    profile: StrandsProfile


def _after(before: Commit, name: str, does: str, **changed: Any) -> Commit:
    """The commit after another, with what it changes."""
    own = {field: value for field, value in changed.items() if hasattr(before.profile, field)}
    copies = {field: value for field, value in changed.items() if field not in own}
    made = attrs.evolve(
        before.profile,
        name=f"strands-ts, pull request, {name}",
        model_copies=attrs.evolve(before.profile.model_copies, **copies),
        **own,
    )
    return Commit(name=name, does=does, profile=made)


_BEFORE: Final = Commit(
    name="before",
    does="Version 1.5.0, in which the contexts hold the agent's own objects.",
    profile=STRANDS_TS_1_5,
)
_WITHOUT_STATE: Final = attrs.evolve(
    STRANDS_TS_1_5.contexts,
    model=tuple(name for name in STRANDS_TS_1_5.contexts.model if name != "modelState"),
)
_FIRST: Final = _after(
    _BEFORE,
    "first",
    "The model stage gets copies: messages and system prompt block by block, descriptions of tools and the "
    "tool choice wholly, the invocation state by a spread. The model state leaves the context; the provider "
    "writes to a copy of it.",
    contexts=_WITHOUT_STATE,
    messages=CopyDepth.PART,
    system=CopyDepth.PART,
    tool_specs=CopyDepth.DEEP,
    tool_choice=CopyDepth.DEEP,
    state_copied=CopyDepth.PART,
    model_state=ModelState.PER_ATTEMPT,
)
_JSON_COPY: Final = _after(
    _FIRST,
    "json-copy",
    "Another function makes the deep copies: a copy by way of JSON in place of a structured clone. Which "
    "objects are shared stays the same.",
)
_THREE_STAGES: Final = _after(
    _JSON_COPY,
    "three-stages",
    "The other two stages get copies: the tool use wholly, and of the caller's input the list. Metadata of "
    "messages is copied too.",
    metadata=CopyDepth.DEEP,
    tool_use_copied=CopyDepth.DEEP,
    args_copied=CopyDepth.LIST,
)
_STATE_SHARED: Final = _after(
    _THREE_STAGES,
    "state-shared",
    "The model stage has the invocation state itself again, since what hooks write into it while a model "
    "streams has to be in the result.",
    state_copied=CopyDepth.SHARE,
)
_ARGS_SHARED: Final = _after(
    _STATE_SHARED,
    "args-shared",
    "The stream stage has the caller's list itself again.",
    args_copied=CopyDepth.SHARE,
)
_WHOLE_MESSAGES: Final = _after(
    _ARGS_SHARED,
    "whole-messages",
    "Messages are copied wholly, the inputs of tool uses and the JSON of results with them. This is what "
    "version 1.6.0 does.",
    messages=CopyDepth.DEEP,
)

COMMITS: Final = (
    _BEFORE,
    _FIRST,
    _JSON_COPY,
    _THREE_STAGES,
    _STATE_SHARED,
    _ARGS_SHARED,
    _WHOLE_MESSAGES,
)
"""The version before the pull request, and its commits that change a copy, in their order."""
