"""What model calls cost, in tokens."""

from __future__ import annotations

import attrs
from attrs import field

from agentcore.messages.values import sealed

__all__ = ["Usage"]


@sealed
@attrs.frozen
class Usage:
    """Tokens that were paid for; the cached ones are among the input, those of reasoning among the output."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = field(default=0, kw_only=True)
    reasoning_tokens: int = field(default=0, kw_only=True)

    @property
    def total_tokens(self) -> int:
        """Input and output."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: object) -> Usage:
        if not isinstance(other, Usage):
            return NotImplemented
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )
