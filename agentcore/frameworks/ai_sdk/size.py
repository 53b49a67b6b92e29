"""How large random programs and conversations are."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

__all__ = ["Size"]


@attrs.frozen(kw_only=True)
class Size:
    """Numbers that a generator chooses from, the simplest first.

    `turns` are of the history before the last question, `steps` the model's answers, `calls` those of one
    answer. `failing_tools` and `repeated_ids` are percentages.
    """

    turns: Sequence[int] = (0, 0, 0, 1, 1, 2)
    steps: Sequence[int] = (1, 2, 2, 3, 3, 3, 4, 4, 5, 6)
    calls: Sequence[int] = (1, 1, 1, 2, 3)
    failing_tools: float = 0
    repeated_ids: float = 0.5
