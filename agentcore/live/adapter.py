"""What a framework, or a loop of one's own, gives the live check: an adapter with its boundaries.

A boundary says how the framework calls a hook there; the adapter runs one conversation with a hook attached.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from agentcore.live.conversations import Conversation

__all__ = ["Adapter", "Attached", "Boundary", "Entry", "Given", "Recorder"]

Given: TypeAlias = Mapping[str, Any]
"""The arguments of one call of the hook, by name."""

Keeps: TypeAlias = Callable[[Given], Sequence[Any]]


def _nothing(_: Given) -> Sequence[Any]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Boundary:
    """How a framework calls a hook at one place of its loop.

    Attributes:
        parameters: names for the positional arguments, in order; keyword arguments have their own.
        context: the name of an argument that comes before those of `parameters` if the hook takes one more.
        methods: the names of an object's method that the framework calls here, sync before async.
        after: whether the hook runs after the model, so that the next prompt is the first to see an effect.
        kept: returns what stays itself in both runs: models, agents, tools, the user's own context.
        outlets: returns the objects whose own slots the hook may assign; what lies below stays a write.
        handles: returns conversation data that is reached by what is kept; it is watched, and writes to it
            are taken back in the value run.
        handler: the name of the argument with which an around hook calls on; None for other hooks.
        passive: returns what a hook that does nothing returns.
        whole: whether the hook gets the whole conversation rather than one item of it.
        messages_in: returns the whole conversation that the hook was given; None if it is not given that.
        messages_out: returns the conversation in what the hook returned, or passed to `handler`.
        again: returns the arguments of a second call that gets what the first one returned; None if there
            are none.
        delta: whether what the hook returns is added to the conversation rather than put in its place.
    """

    parameters: tuple[str, ...]
    context: str | None = None
    methods: tuple[str, ...] = ()
    after: bool = False
    kept: Keeps = _nothing
    outlets: Keeps = _nothing
    handles: Keeps = _nothing
    handler: str | None = None
    passive: Callable[[Given], Any] = lambda _: None
    whole: bool = True
    messages_in: Callable[[Given], Any] | None = None
    messages_out: Callable[[Any], Any] | None = None
    again: Callable[[Given, Any], Given] | None = None
    delta: bool = False

    def names(self, args: Sequence[Any]) -> tuple[str, ...]:
        """Returns the names of the positional arguments of a call."""
        more = self.context is not None and len(args) > len(self.parameters)
        return (str(self.context), *self.parameters) if more else self.parameters


@dataclass(frozen=True)
class Entry:
    """One message of a prompt, as far as the rules about prompts need it.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        text: all that the model reads of it.
        calls: the ids of tool calls in it.
        results: the ids of tool calls that it has results for.
    """

    role: str
    text: str
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Attached:
    """A hook as the adapter attaches it.

    Attributes:
        call: a function with the hook's own signature, sync or async as the hook is.
        is_async: whether it is a coroutine function.
        owner: the person's object, if the hook is one of its methods; `call` is in place of the method
            already.
    """

    call: Callable[..., Any]
    is_async: bool
    owner: Any = None


class Recorder(Protocol):
    """Takes what an adapter sees during a run."""

    def prompt(self, messages: Any) -> int:
        """Records a prompt at the moment in which the scripted model receives it; returns its step."""
        ...

    def begin_turn(self, turn: int) -> None:
        """Says that a further call of the framework begins."""
        ...

    def result(self, value: Any) -> None:
        """Records what the framework returned for the turn."""
        ...

    def holder(self, name: str, value: Any) -> None:
        """Names an object that is shown at the end of the run: `caller`, `store`, `steps`, `observers`."""
        ...


@runtime_checkable
class Adapter(Protocol):
    """Runs conversations in a framework; see the skeleton in `agentcore/skeletons/live_adapter.py`."""

    name: str
    package: str
    """The distribution whose version is reported; empty for a loop without one."""
    boundaries: Mapping[str, Boundary]
    paths: Sequence[str]
    drop: Sequence[str]
    """Names of attributes that differ from run to run: random ids, times."""

    def run(
        self, conversation: Conversation, hook: Attached | None, at: str, path: str, recorder: Recorder
    ) -> None:
        """Runs all turns of a conversation; raises what the framework raises."""
        ...

    def entries(self, messages: Any) -> Sequence[Entry]:
        """Returns the neutral form of a prompt, or of the messages that a hook is given or returns."""
        ...

    def bases(self) -> Sequence[type]:
        """Returns the classes whose own methods do nothing, so that a method of theirs is no hook."""
        ...

    def control(self) -> Sequence[type[BaseException]]:
        """Returns the exceptions by which a hook steers the framework rather than fails."""
        ...
