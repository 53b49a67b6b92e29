"""The chunks that a run adds to those of its model: starts, ends and errors, as its observer gets them."""

from __future__ import annotations

from collections.abc import Mapping

from agentcore.frameworks.ai_sdk.emulation.calls import Calls, HookError
from agentcore.frameworks.ai_sdk.emulation.results import step_end
from agentcore.heap.heap import Ref, Value
from agentcore.heap.js import get

__all__ = ["Notifier"]


class Notifier:
    """Notifies the observer of a run's chunks, and reads them as the observer left them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._store = calls.store
        self._started = False

    def _notify(self, kind: str, values: Mapping[str, Value]) -> Mapping[str, Value]:
        calls, store = self._calls, self._store
        if not self._is_heard(kind):
            return values
        chunk = store.object({"type": kind, **values})
        calls.show_chunk(chunk)
        return {name: get(store, chunk, name) for name in values}

    def _is_heard(self, kind: str) -> bool:
        profile = self._calls.profile
        sent = profile.pace is not None and kind in profile.chunks_told
        return sent and self._calls.hooks.on_chunk is not None

    def start(self) -> None:
        """Notifies that the run begins: once, when it has to wait for the first time."""
        if not self._started:
            self._started = True
            self._notify("start", {})

    def step_end(self, reason: Value, content: Ref, response: Mapping[str, Value]) -> Mapping[str, Value]:
        """Notifies that a step ends; returns what its end says of it."""
        return self._notify(
            "finish-step", step_end(self._calls.profile, self._store, reason, content, response)
        )

    def end(self, reason: Value, total: Ref) -> tuple[Value, Value]:
        """Notifies that the run ends; returns why, and its total usage."""
        end = self._notify("finish", {"finishReason": reason, "totalUsage": total})
        return end["finishReason"], end["totalUsage"]

    def failed(self, error: BaseException) -> None:
        """Notifies of an error that ends the run between two steps."""
        shown = error.original if isinstance(error, HookError) else error
        if self._is_heard("error"):
            self._calls.show_chunk(self._calls.error_part(shown))
