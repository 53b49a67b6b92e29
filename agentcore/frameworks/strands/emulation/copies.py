"""Copies of what the agent holds, as deep as a profile says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from agentcore.frameworks.strands.emulation.parts import items, own
from agentcore.heap.copying import CopyDepth, through_json
from agentcore.heap.heap import ObjectCell, Ref, Slot, Store, Value

_LISTS = {"toolResult": "content"}
"""The blocks inside blocks, which are copied with them."""


class Copies:
    """Copies cells of one store. What is one object is one object in a deep copy only if aliases are kept."""

    def __init__(self, store: Store, *, keep_aliases: bool) -> None:
        self.store = store
        self.keep_aliases = keep_aliases

    def deep(self, value: Value) -> Value:
        """A copy that shares nothing."""
        if type(value) is not Ref:
            return value
        return self.store.clone(value) if self.keep_aliases else through_json(self.store, value)

    def messages(self, value: Value, depth: CopyDepth, *, metadata: CopyDepth = CopyDepth.SHARE) -> Value:
        """Of list, message, content and block so many new, down to this depth.

        `metadata` is how deep the metadata of messages that are new is copied.
        """
        if depth is CopyDepth.DEEP or not isinstance(value, Ref) or depth is CopyDepth.SHARE:
            return self.deep(value) if depth is CopyDepth.DEEP else value
        listed = items(self.store, value)
        return self._list(value, [self._message(message, depth, metadata) for message in listed])

    def _message(self, value: Slot, depth: CopyDepth, metadata: CopyDepth) -> Slot:
        if depth < CopyDepth.MESSAGE or not isinstance(value, Ref):
            return value
        fields = dict(own(self.store, value))
        if "metadata" in fields:
            fields["metadata"] = cast("Slot", self.value(fields["metadata"], metadata))
        if depth >= CopyDepth.CONTENT and isinstance(fields.get("content"), Ref):
            fields["content"] = self._blocks(fields["content"], depth)
        return self._object(value, fields)

    def blocks(self, value: Value, depth: CopyDepth) -> Value:
        """A list of blocks, such as a system prompt: of list and blocks so many new, down to this depth."""
        if not isinstance(value, Ref) or depth is CopyDepth.SHARE:
            return value
        return self.deep(value) if depth is CopyDepth.DEEP else self._blocks(value, depth)

    def specs(self, specs: Iterable[Slot], depth: CopyDepth) -> Value:
        """Descriptions of tools in a new list: the tools' own ones, or copies."""
        listed = self.store.array(specs)
        return self.deep(listed) if depth is CopyDepth.DEEP else listed

    def value(self, value: Value, depth: CopyDepth) -> Value:
        """An object, such as a tool use or a state: itself, a new one of the same values, or a deep copy."""
        if not isinstance(value, Ref) or depth < CopyDepth.PART:
            return value
        return self.deep(value) if depth is CopyDepth.DEEP else self._object(value, own(self.store, value))

    # ---------------------------------------------------------------- levels

    def _blocks(self, value: Slot, depth: CopyDepth) -> Ref:
        blocks = items(self.store, value)
        kept = [self._block(block) for block in blocks] if depth >= CopyDepth.PART else list(blocks)
        return self._list(value, kept)

    def _block(self, value: Slot) -> Slot:
        """A new block of the same values: what stands under its kind is the block itself."""
        copied: dict[str, Slot] = {}
        for kind, held in own(self.store, value).items():
            fields = dict(own(self.store, held)) if isinstance(held, Ref) and kind != "json" else None
            if fields is None:
                copied[kind] = held
                continue
            inner = _LISTS.get(kind)
            if inner is not None and inner in fields:
                fields[inner] = self._blocks(fields[inner], CopyDepth.PART)
            copied[kind] = self._object(held, fields)
        return self._object(value, copied)

    def _list(self, source: Value, slots: list[Slot]) -> Ref:
        return self.store.derive(self.store.array(slots), source)

    def _object(self, source: Value, fields: ObjectCell | dict[str, Slot]) -> Ref:
        return self.store.derive(self.store.object(dict(fields)), source)
