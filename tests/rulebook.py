"""Which test states which rule: `@states(Rule.X)` on a test, read back by test_rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from agentcore.agent.rules import AgentRule
from agentcore.conversations.rules import ConversationRule
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule

_F = TypeVar("_F", bound=Callable[..., object])

_Stated: TypeAlias = Rule | AgentRule | ConversationRule | Difference

STATED: dict[_Stated, list[str]] = {}


def states(*rules: _Stated) -> Callable[[_F], _F]:
    def record(test: _F) -> _F:
        for rule in rules:
            STATED.setdefault(rule, []).append(test.__name__)
        return test

    return record
