"""Questions to a person: a tool or a handler asks, the run ends with the question, and an answer goes on.

Who asks is called again with the answers, from its beginning, and is given the answer where it asked. So what
it does before it asks is done once more, and questions are told apart by their names.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import attrs
from attrs import field

from agentcore.errors import InvalidMessageError
from agentcore.messages.converters import reason
from agentcore.messages.values import JsonObject, JsonValue, sealed, strict_key

__all__ = ["Interrupt", "InterruptSignal", "Source", "ask"]

Source: TypeAlias = Literal["tool", "execute-tool", "invoke-model", "agent-stream"]
"""The asker: a tool, or a handler of the stage of that name."""


@sealed
@attrs.frozen(kw_only=True)
class Interrupt:
    """A question to a person, asked by a tool or a handler: its `name`, its `reason`, and where it was asked.

    `step_number` is None if a handler of the whole call asks, `tool_call_id` if no tool call is about to run.
    """

    name: str = field()
    reason: JsonValue = field(default=None, converter=reason, eq=strict_key)
    source: Source = "tool"
    step_number: int | None = None
    tool_call_id: str | None = None

    @name.validator
    def _is_text(self, _: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, str):
            raise InvalidMessageError("$.name", f"a question's name is a text, not {type(value).__name__}")

    @property
    def id(self) -> str:
        """The id for its answer: the same when a run is loaded, replayed or asks again.

        Who asks at one place by one name asks one question (rule interrupt.one-question).
        """
        place = (self.source, self.step_number, self.tool_call_id, self.name)
        return "/".join(_escaped(str(part)) for part in place if part is not None)


def _escaped(part: str) -> str:
    # As in a JSON pointer, so that no two places have one id.
    return part.replace("~", "~0").replace("/", "~1")


class InterruptSignal(BaseException):
    """A question on its way to whoever drives the run.

    It is no Exception, as a cancellation is not one (Difference.QUESTIONS_PASS).
    """

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__(interrupt)
        self.interrupt = interrupt


def ask(interrupt: Interrupt, answers: JsonObject) -> JsonValue:
    """The answer to the question, if there is one. Raises InterruptSignal if there is none yet."""
    if interrupt.id in answers:
        return answers[interrupt.id]
    raise InterruptSignal(interrupt)
