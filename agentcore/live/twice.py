"""A second, fresh instance of a hook, applied to what the first one made."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from agentcore.live.adapter import Boundary, Given
from agentcore.live.copies import Data, Exchange
from agentcore.live.loading import HookSource, ValueSource
from agentcore.live.shown import differences, show, text_of

__all__ = ["Twice"]


class Twice:
    """Goes around a hook; `changed` is the first place that the second instance changed, if any."""

    def __init__(self, boundary: Boundary, source: HookSource | ValueSource) -> None:
        self.changed: str | None = None
        self._boundary = boundary
        self._source = source

    def around(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the hook, followed by a second one whose result is compared and thrown away."""

        async def awaited(given: dict[str, Any], returned: Any) -> Any:
            first = await returned
            again = self._again(given, first)
            if again is not None:
                second = self._second(again)
                self._compare(first, await second if inspect.isawaitable(second) else second)
            return first

        @functools.wraps(hook)
        def call(*args: Any, **options: Any) -> Any:
            given = {**dict(zip(self._boundary.names(args), args, strict=False)), **options}
            returned = hook(*args, **options)
            if inspect.isawaitable(returned):
                return awaited(given, returned)
            again = self._again(given, returned)
            if again is not None:
                self._compare(returned, self._second(again))
            return returned

        return call

    def _again(self, given: dict[str, Any], returned: Any) -> Given | None:
        if self._boundary.again is None or returned is None or self.changed is not None:
            return None
        return self._boundary.again(given, returned)

    def _second(self, given: Given) -> Any:
        kept = frozenset(id(each) for each in self._boundary.kept(given) if each is not None)
        copied = Exchange().enter({**given}, kept)
        names = [name for name in (self._boundary.context, *self._boundary.parameters) if name in copied]
        positional = [copied.pop(name) for name in names]
        return self._source.load().call(*positional, **copied)

    def _compare(self, first: Any, second: Any) -> None:
        if second is None:
            return
        found = differences(show(first, Data()), show(second, Data()))
        if found:
            self.changed = text_of(found[0])
