"""Random conversations of few ids, so that calls, results and approvals meet; for tests."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from agentcore.messages.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    SystemMessage,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolMessage,
    UserMessage,
)
from refusals import call, result

_IDS: Final = st.sampled_from(["c", "d", "e"])
_APPROVALS: Final = st.sampled_from(["y", "z"])
_CALLS: Final = st.builds(
    lambda name, n, by: call(name, n, by_provider=by or None),
    _IDS,
    st.integers(0, 1),
    st.sampled_from([False, False, False, True]),
)
_RESULTS: Final = st.builds(result, _IDS, st.sampled_from(["r", "s"]))
_ANSWERS: Final = st.builds(
    lambda name, yes: ToolApprovalResponsePart(name, approved=yes), _APPROVALS, st.booleans()
)
_SAID: Final = st.one_of(
    _CALLS, _CALLS, _RESULTS, st.builds(ToolApprovalRequestPart, _APPROVALS, _IDS), st.just(TextPart(""))
)

conversations: Final[st.SearchStrategy[list[Message]]] = st.lists(
    st.one_of(
        st.sampled_from(
            [
                UserMessage("u"),
                UserMessage(""),
                UserMessage([ImagePart("!")]),
                SystemMessage("s"),
                AssistantMessage("a"),
                AssistantMessage(""),
            ]
        ),
        st.builds(AssistantMessage, st.lists(_SAID, max_size=4)),
        st.builds(ToolMessage, st.lists(_RESULTS | _ANSWERS, max_size=3)),
        st.builds(ToolMessage, st.lists(_RESULTS, min_size=1, max_size=2)),
    ),
    max_size=9,
)
"""Most of them have faults of several kinds."""
