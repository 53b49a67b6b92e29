"""What whoever listens to a stream is told that is none of the model's: beginnings, ends and errors."""

from __future__ import annotations

from collections.abc import Mapping

from agentcore.frameworks.ai_sdk.emulation.calls import Calls, HookError
from agentcore.frameworks.ai_sdk.emulation.results import step_end
from agentcore.heap.heap import Ref, Value
from agentcore.heap.js import get

__all__ = ["Telling"]


class Telling:
    """Tells of a run. What is told of is read as whoever listens left it."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._store = calls.store
        self._started = False

    def _tell(self, kind: str, values: Mapping[str, Value]) -> Mapping[str, Value]:
        calls, store = self._calls, self._store
        if not self._is_told(kind):
            return values
        chunk = store.object({"type": kind, **values})
        calls.show_chunk(chunk)
        return {name: get(store, chunk, name) for name in values}

    def _is_told(self, kind: str) -> bool:
        profile = self._calls.profile
        told = profile.pace is not None and kind in profile.chunks_told
        return told and self._calls.hooks.on_chunk is not None

    def start(self) -> None:
        """Tells that the run begins: once, when it has to wait for the first time."""
        if not self._started:
            self._started = True
            self._tell("start", {})

    def step_end(self, reason: Value, content: Ref, response: Mapping[str, Value]) -> Mapping[str, Value]:
        """Tells that a step ends; returns what its end says of it."""
        return self._tell(
            "finish-step", step_end(self._calls.profile, self._store, reason, content, response)
        )

    def end(self, reason: Value, total: Ref) -> tuple[Value, Value]:
        """Tells that the run ends; returns why, and its total usage."""
        told = self._tell("finish", {"finishReason": reason, "totalUsage": total})
        return told["finishReason"], told["totalUsage"]

    def failed(self, error: BaseException) -> None:
        """Tells of an error that ends the run between two steps."""
        shown = error.original if isinstance(error, HookError) else error
        if self._is_told("error"):
            self._calls.show_chunk(self._calls.error_part(shown))
