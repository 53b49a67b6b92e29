"""What random programs are made of: texts, messages in every form, and what a run is expected to show.

Every new text is a marker of its own (`#1`, `#2`, ...), which is how a trace shows how far a change spread.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import attrs

from agentcore.kit.choices import Choices

__all__ = ["DATES", "TOOLS", "Expected", "Maker"]

Json: TypeAlias = dict[str, Any]

TOOLS: Final = ("look", "save")
DATES: Final = ("2000-01-01T00:00:00Z", "2000-01-02T00:00:00Z", "2000-02-01T00:00:00.500Z")


@attrs.define(kw_only=True)
class Expected:
    """What a turn is expected to find, roughly: where its changes are aimed."""

    messages: int
    # The kinds of the parts of the answer so far, one message's at the end of the conversation.
    answer: list[str] = attrs.field(factory=list)
    systems: int = 0
    steps: int = 0
    options: Json = attrs.field(factory=dict)
    tools: bool = False

    @property
    def length(self) -> int:
        """How many messages there are."""
        return self.messages + bool(self.answer)


class Maker:
    """Makes the values of one program."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self._marks = 0
        self._ids = 0

    def mark(self) -> str:
        """A text that stands nowhere else in the program."""
        self._marks += 1
        return f"#{self._marks}"

    def identity(self, kind: str) -> str:
        """An id that nothing else in the program has."""
        self._ids += 1
        return f"{kind}{self._ids}"

    def output(self) -> Any:
        """What a tool gives."""
        if self.choices.chance(12):
            return self.choices.sample((None, 0, False, "", [], [self.mark()], 1.5))
        return self.payload() if self.choices.chance(55) else self.mark()

    def payload(self) -> Json:
        """A JSON object: a tool's input or output."""
        if self.choices.chance(3):
            return {}
        made: Json = {"a": self.mark()}
        if self.choices.chance(25):
            made["in"] = {"b": self.mark(), "n": self.choices.integer(0, 9)}
        if self.choices.chance(20):
            made["list"] = [self.mark(), {"c": self.mark()}]
        return made

    # --- the caller's messages ---

    def caller_message(self) -> Any:
        """A message of the user in any form that a caller may give it in."""
        forms = (self.mark, self._role_text, self._role_parts, self._ui, self._ui_mirrored, self._stored)
        return self.choices.sample(forms)()

    def _role_text(self) -> Json:
        return {"role": "user", "content": self.mark()}

    def _role_parts(self) -> Json:
        return {"role": "user", "content": [self.text_part() for _ in range(self.choices.integer(1, 2))]}

    def _ui(self) -> Json:
        parts = [self.text_part() for _ in range(2 if self.choices.chance(15) else 1)]
        return {"id": self.identity("u"), "role": "user", "parts": parts}

    def _ui_mirrored(self) -> Json:
        text = self.mark()
        return {
            "id": self.identity("u"),
            "role": "user",
            "content": text,
            "parts": [{"type": "text", "text": text}],
        }

    def _stored(self, role: str = "user") -> Json:
        content: Json = {"format": 2, "parts": [self.text_part()]}
        if self.choices.chance(30):
            content["content"] = content["parts"][0]["text"]
        if role == "assistant" and self.choices.chance(20):
            content["parts"].insert(0, {"type": "step-start"})
        name = "same" if self.choices.chance(4) else self.identity("s")
        message = {"id": name, "role": role, "content": content}
        return message | ({"createdAt": self.choices.sample(DATES)} if self.choices.chance(60) else {})

    def answered(self) -> list[Json]:
        """An answer of an earlier time, with the result of its call if it has one."""
        kind = self.choices.sample(("text", "parts", "stored", "call", "stored call"))
        if kind == "text":
            return [{"role": "assistant", "content": self.mark()}]
        if kind == "parts":
            return [{"role": "assistant", "content": [self.text_part()]}]
        if kind == "stored":
            return [self._stored("assistant")]
        return self._called() if kind == "call" else [self._stored_call()]

    def _called(self) -> list[Json]:
        call = {"toolCallId": self.identity("h"), "toolName": TOOLS[0]}
        asked = {"type": "tool-call", **call, "input": self.payload()}
        result = {"type": "tool-result", **call, "output": {"type": "json", "value": self.payload()}}
        text = [self.text_part()] if self.choices.chance(50) else []
        return [
            {"role": "assistant", "content": [*text, asked]},
            {"role": "tool", "content": [result]},
        ]

    def _stored_call(self) -> Json:
        message = self._stored("assistant")
        invocation = {
            "state": "result",
            "toolCallId": self.identity("h"),
            "toolName": TOOLS[0],
            "args": self.payload(),
            "result": self.payload(),
        }
        part = {"type": "tool-invocation", "toolInvocation": invocation}
        message["content"] = {"format": 2, "parts": [part, self.text_part()]}
        return message

    def text_part(self) -> Json:
        """A text part, in a few cases an empty one."""
        return {"type": "text", "text": "" if self.choices.chance(2) else self.mark()}

    # --- what processors make ---

    def message(self) -> Json:
        """A message of a processor's."""
        choices = self.choices
        role = "assistant" if choices.chance(20) else "user"
        if choices.chance(8):
            return {"role": role, "text": self.mark(), "core": True}
        made: Json = {"role": role, "text": self.mark()}
        if choices.chance(45):
            made["id"] = choices.sample((self.identity("m"), None))
        if choices.chance(30):
            made["createdAt"] = choices.sample(("before", "same", "omit", *DATES))
        if choices.chance(12):
            made["mirror"] = choices.sample((True, self.mark()))
        return made

    def system_in_messages(self) -> Json:
        """A system message among messages, in a form that is taken or in one that is not."""
        plain = {"core": True} if self.choices.chance(30) else {}
        return {"role": "system", "text": self.mark(), **plain}

    def system(self) -> Any:
        """A system message."""
        text = self.mark()
        return {"role": "system", "content": text} if self.choices.chance(40) else text

    def caller_systems(self) -> Any:
        """What a caller gives as system option."""
        return self.choices.sample((self.mark, self._system_object, self._system_list))()

    def _system_object(self) -> Json:
        return {"role": "system", "content": self.mark()}

    def _system_list(self) -> list[Any]:
        return [self.system() for _ in range(self.choices.integer(1, 2))]
