"""The chain of handlers around a stage: input handlers, wrap handlers, the stage, and out again.

Rules strands.phase-order, strands.one-context, strands.copies-passed-on, strands.next-again,
strands.short-circuit and strands.results-live.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.emulation.settings import Middleware
from agentcore.frameworks.strands.emulation.turns import Jobs, Steps, relayed
from agentcore.heap.heap import HostValueError, Ref
from agentcore.heap.views import Desk, ObjectView

Link: TypeAlias = Callable[[Ref], Steps[Ref]]
"""From a context to a result."""

# From the outside to the inside. Input handlers run first; an output handler outside the wrap handlers runs
# after them, and the last registered one is the innermost and runs first.
_LAYERS: Final = ("input", "output", "wrap")


class Chains:
    """Composes the handlers of the stages."""

    def __init__(self, middleware: Iterable[Middleware], desk: Desk, jobs: Jobs) -> None:
        self.desk = desk
        self.jobs = jobs
        self.layers: dict[str, list[Callable[[Link], Link]]] = {"model": [], "tool": [], "stream": []}
        numbered = list(enumerate(middleware))
        made = {"input": self._input, "output": self._output, "wrap": self._wrap}
        for phase in _LAYERS:
            for number, handler in numbered:
                if handler.phase == phase:
                    name = handler.name or f"mw{number}:{handler.stage}.{phase}"
                    self.layers[handler.stage].append(partial(made[phase], handler.call, name))

    def run(self, stage: str, context: Ref, terminal: Link) -> Steps[Ref]:
        """Runs a stage in its handlers."""
        link = terminal
        for layer in reversed(self.layers[stage]):
            link = layer(link)
        return link(context)

    # ---------------------------------------------------------------- phases

    def _input(self, call: Callable[..., Any], name: str, inner: Link) -> Link:
        def link(context: Ref) -> Steps[Ref]:
            given = yield from self._awaited(call, name, context)
            result = yield from self.jobs.passing(inner(given))
            yield from self.jobs.pause()
            return result

        return link

    def _output(self, call: Callable[..., Any], name: str, inner: Link) -> Link:
        def link(context: Ref) -> Steps[Ref]:
            result = yield from self.jobs.passing(inner(context))
            changed = yield from self._awaited(call, name, result)
            yield from self.jobs.pause()
            return changed

        return link

    def _awaited(self, call: Callable[..., Any], name: str, given: Ref) -> Steps[Ref]:
        """What a handler of one value makes of it."""
        self.desk.hook = name
        try:
            returned = call(self.desk.hand(given, (name,)))
        finally:
            yield from self.jobs.pause()
        return given if returned is None else self.desk.slot(returned)  # type: ignore[return-value]

    def _generator(self, returned: Any) -> Any:
        """What a wrap handler returned, if it can be run."""
        if not isinstance(returned, Generator):
            self.desk.settled(returned)
            reason = f"a {type(returned).__name__}; a wrap handler is a generator: yield from next(context)"
            raise self.desk.refuse(HostValueError("", "$", reason))
        return returned

    # What a handler writes is entered under its name. Its code runs whenever it is resumed from outside, and
    # whenever something comes to it from what it wraps.
    def _wrap(self, call: Callable[..., Any], name: str, inner: Link) -> Link:
        def following(context: Any) -> Steps[ObjectView]:
            given: Any = self.desk.slot(context)
            came = partial(setattr, self.desk, "hook", name)
            result = yield from relayed(self.jobs.passing(inner(given)), came=came)
            view: ObjectView = self.desk.hand(result, (name, "result"))
            return view

        def link(context: Ref) -> Steps[Ref]:
            resumed = partial(setattr, self.desk, "hook", name)
            with self.desk.acting(f"hook {name}"):
                handler = self._generator(call(self.desk.hand(context, (name,)), following))
            result = yield from relayed(handler, resumed=resumed)
            yield from self.jobs.pause()
            return self.desk.slot(result)  # type: ignore[return-value]

        return link
