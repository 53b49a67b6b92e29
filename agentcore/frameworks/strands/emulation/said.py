"""What a model says, put together to a message."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentcore.frameworks.strands.emulation.parts import inside
from agentcore.frameworks.strands.emulation.settings import Said
from agentcore.frameworks.strands.profiles import EmptyBlock, StrandsProfile
from agentcore.heap.heap import Ref, Store
from agentcore.heap.host_values import require_json, unfit
from agentcore.heap.views import Desk

Block = Mapping[str, Any]

# What `trim` of JavaScript takes away.
_BLANK: Final = re.compile("[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*")


class Answer:
    """One answer of a model: its blocks, made one by one, and why it stopped."""

    def __init__(self, profile: StrandsProfile, store: Store, said: Any) -> None:
        self.profile = profile
        self.store = store
        self.said = said if isinstance(said, Said) else Said(blocks=said)
        # Whatever the model holds on to, an answer is new.
        self.blocks: list[Block] = [copy.deepcopy(dict(block)) for block in self.said.blocks]
        self.made: list[Ref] = []

    @property
    def stop_reason(self) -> str:
        """Why the model stopped."""
        used = any("toolUse" in block for block in self.blocks)
        reason = self.said.stop_reason or ("toolUse" if used else "endTurn")
        answered = any("toolUse" in self._fields(ref) for ref in self.made)
        wins = self.profile.tool_use_wins and reason == "endTurn" and answered
        return "toolUse" if wins else reason

    def make(self, block: Block) -> Ref | None:
        """The next block as it enters the message; None if the SDK takes it for nothing."""
        kept = _kept(block) if self.profile.empty_block is EmptyBlock.TEXT else _worth_keeping(block)
        if kept is None:
            return None
        ref: Ref = self.store.load(kept)
        self.made.append(ref)
        return ref

    def message(self) -> Ref:
        """The message of the blocks as they are by now."""
        kept = [ref for ref in self.made if self.profile.blank_texts_kept or not self._is_blank(ref)]
        return self.store.object({"role": "assistant", "content": self.store.array(kept)})

    def _is_blank(self, ref: Ref) -> bool:
        text = inside(self.store, ref, "text")
        return isinstance(text, str) and _BLANK.fullmatch(text) is not None

    def _fields(self, ref: Ref) -> Any:
        return self.store.cells[ref.address]


def require_blocks(desk: Desk, said: Any) -> None:
    """Checks what a model answered.

    Raises:
        HostValueError: if it is neither a `Said` nor a list of blocks.
    """
    desk.settled(said)
    blocks = said.blocks if isinstance(said, Said) else said
    if not isinstance(blocks, Sequence) or isinstance(blocks, str | bytes):
        raise desk.refuse(unfit("$", blocks, "a list of blocks, or Said"))
    for index, block in enumerate(blocks):
        if not isinstance(block, Mapping):
            raise desk.refuse(unfit(f"$[{index}]", block, "a block, which is an object"))
    require_json(desk, blocks)


def deltas(block: Block) -> int:
    """How many pieces of a block are streamed."""
    return sum(kind in block for kind in ("text", "toolUse", "reasoning"))


def _kept(block: Block) -> Block:
    """A block in TypeScript, where one of nothing is an empty text."""
    use, reasoning = block.get("toolUse"), block.get("reasoning")
    if use and use["toolUseId"]:
        return {"toolUse": _use(use)}
    said = {name: text for name, text in (reasoning or {}).items() if text}
    return {"reasoning": said} if said else {"text": block.get("text", "")}


def _worth_keeping(block: Block) -> Block | None:
    """A block in Python, where one of nothing is left out."""
    use, reasoning = block.get("toolUse"), block.get("reasoning")
    if use:
        return {"toolUse": _use(use)} if use["toolUseId"] and use["name"] else None
    if reasoning:
        told = reasoning.get("text") or "signature" in reasoning
        return {"reasoning": {"text": "", **reasoning}} if told else None
    return block if block.get("text") else None


def _use(use: Block) -> Block:
    return {"name": use["name"], "toolUseId": use["toolUseId"], "input": use.get("input", {})}
