from __future__ import annotations

from typing import Any

import attrs
import pytest

from agentcore.compat.ai_sdk.profiles import AI_SDK_6_STREAM, PROFILES, Moment
from agentcore.compat.depth import CopyDepth


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("caller_to_initial", CopyDepth.PART),
        ("chains_to_hooks", CopyDepth.SHARE),
        ("response_made", Moment.AFTER_STEP_FINISH),
        ("step_recorded", Moment.AFTER_STOP_WHEN),
        ("base_made", Moment.AFTER_STOP_WHEN),
    ],
)
def test_a_profile_has_no_moment_or_depth_that_its_loop_does_not_know(field: str, value: object) -> None:
    changed: dict[str, Any] = {field: value}
    with pytest.raises(ValueError, match=field):
        attrs.evolve(AI_SDK_6_STREAM, **changed)


def test_a_profile_is_found_by_its_name() -> None:
    assert {name: profile.name for name, profile in PROFILES.items()} == {name: name for name in PROFILES}
