"""What a framework, or a loop of one's own, gives the live check: an adapter with its boundaries.

A boundary says how the framework calls a hook there; the adapter runs one conversation with a hook attached.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from agentcore.live.session import Part, Session

__all__ = [
    "Adapter",
    "AdapterBase",
    "Attached",
    "Boundary",
    "Entry",
    "Given",
    "Recorder",
    "around",
    "as_async_method",
    "as_method",
    "as_object",
    "boundaries",
    "members",
    "messages_of",
    "observer",
    "rewriting",
]

Given: TypeAlias = Mapping[str, Any]
"""The arguments of one call of the hook, by name."""

Keeps: TypeAlias = Callable[[Given], Sequence[Any]]


def _nothing(_: Given) -> Sequence[Any]:
    return ()


@dataclass(frozen=True)
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
        reaches: returns the same by name, for the contract: a list itself where `handles` has what is in it,
            since which messages are in it is for hooks to say. Of two that are alike one is enough.
        handler: the name of the argument with which an around hook calls on; None for other hooks.
        passive: returns what a hook that does nothing returns.
        offers: returns what a hook returns that returns the conversation as it is, for the contract; None if
            `passive` does.
        paths: the paths that have the boundary; None for all of the adapter's.
        whole: whether the hook gets the whole conversation rather than one item of it.
        messages_in: returns the whole conversation that the hook was given; None if it is not given that.
        messages_out: returns the conversation in what the hook returned, or passed to `handler`.
        again: returns the arguments of a second call that gets what the first one returned; None if there
            are none.
        delta: whether what the hook returns is added to the conversation rather than put in its place.
    """

    parameters: tuple[str, ...]
    _: KW_ONLY
    context: str | None = None
    methods: tuple[str, ...] = ()
    after: bool = False
    kept: Keeps = _nothing
    outlets: Keeps = _nothing
    handles: Keeps = _nothing
    reaches: Callable[[Given], Mapping[str, Any]] | None = None
    handler: str | None = None
    passive: Callable[[Given], Any] = lambda _: None
    offers: Callable[[Given], Any] | None = None
    paths: Sequence[str] | None = None
    whole: bool = True
    messages_in: Callable[[Given], Any] | None = None
    messages_out: Callable[[Any], Any] | None = None
    again: Callable[[Given, Any], Given] | None = None
    delta: bool = False

    def __post_init__(self) -> None:
        if self.reaches is not None and self.handles is _nothing:
            reaches = self.reaches
            object.__setattr__(self, "handles", lambda given: [*reaches(given).values()])

    def names(self, args: Sequence[Any]) -> tuple[str, ...]:
        """Returns the names of the positional arguments of a call."""
        more = self.context is not None and len(args) > len(self.parameters)
        return (str(self.context), *self.parameters) if more else self.parameters


def messages_of(context: Any) -> Any:
    """Returns the attribute `messages`: the conversation in most requests and contexts."""
    return context.messages


def around(
    request: str,
    *before: str,
    messages: Callable[[Any], Any] = messages_of,
    whole: bool = True,
    assigned: bool = False,
    **more: Any,
) -> Boundary:
    """Returns the boundary of a hook that gets a request and a `handler` with which it calls on.

    Args:
        request: the name of the argument with the request.
        before: the names of arguments before it.
        messages: returns the conversation in a request; by default its attribute `messages`.
        whole: whether it is the whole conversation; such a hook runs before the model, others after it.
        assigned: whether the hook may assign the request's own slots.
        more: further attributes of `Boundary`.
    """
    return Boundary(
        (*before, request, "handler"),
        handler="handler",
        passive=lambda given: given["handler"](given[request]),
        whole=whole,
        after=not whole,
        messages_in=(lambda given: messages(given[request])) if whole else None,
        messages_out=messages,
        outlets=(lambda given: [given[request]]) if assigned else _nothing,
        **more,
    )


def rewriting(
    name: str, *before: str, messages: Callable[[Any], Any] = lambda each: each, **more: Any
) -> Boundary:
    """Returns the boundary of a hook that runs before the model and returns an argument, rewritten or not.

    Args:
        name: the name of that argument.
        before: the names of arguments before it.
        messages: returns the conversation in the argument, and in what is returned.
        more: further attributes of `Boundary`.
    """
    return Boundary(
        (*before, name),
        passive=lambda given: given[name],
        messages_in=lambda given: messages(given[name]),
        messages_out=messages,
        again=lambda given, returned: {**given, name: returned},
        **more,
    )


def observer(*parameters: str, passed: str | None = None, whole: bool = False, **more: Any) -> Boundary:
    """Returns the boundary of a hook that runs after the model.

    Args:
        parameters: the names of the positional arguments.
        passed: the name of the argument that the hook returns, changed or not; None if it returns nothing.
        whole: whether the hook gets the whole conversation rather than one item of it.
        more: further attributes of `Boundary`.
    """
    passive: Any = lambda given: given[passed] if passed else None  # noqa: E731 - one line
    return Boundary(parameters, passive=passive, after=True, whole=whole, **more)


def boundaries(
    of: Mapping[str, Boundary], *, prefixes: Sequence[str] = ("",), **shared: Any
) -> dict[str, Boundary]:
    """Returns the boundaries of a framework, with what they share.

    Args:
        of: the boundaries by their names.
        prefixes: an object is a hook by a method that is named as the boundary, with one of these before it,
            sync before async.
        shared: attributes of all of them.
    """
    return {
        name: replace(each, methods=each.methods or tuple(f"{prefix}{name}" for prefix in prefixes), **shared)
        for name, each in of.items()
    }


def members(module: Any, *names: str) -> tuple[Any, ...]:
    """Returns those members of a module that the installed release has."""
    return tuple(getattr(module, name) for name in names if hasattr(module, name))


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

    async def settle(self) -> None:
        """Lets what the hook left running go on, as it does between two calls of the framework."""
        ...

    def result(self, value: Any) -> None:
        """Records what the framework returned for the turn."""
        ...

    def holder(self, name: str, value: Any) -> None:
        """Names an object that is shown at the end of the run: `caller`, `store`, `steps`, `observers`."""
        ...


def as_method(hook: Attached) -> Callable[..., Any]:
    """Returns the hook as a method for a class of a framework: sync or async as it is, with `self` first."""
    if hook.is_async:

        async def method_async(_: Any, *args: Any, **options: Any) -> Any:
            return await hook.call(*args, **options)

        return method_async

    def method(_: Any, *args: Any, **options: Any) -> Any:
        return hook.call(*args, **options)

    return method


def as_async_method(hook: Attached) -> Callable[..., Any]:
    """Returns the hook as a coroutine method, whether it is async or not."""

    async def method(_: Any, *args: Any, **options: Any) -> Any:
        returned = hook.call(*args, **options)
        return await returned if inspect.isawaitable(returned) else returned

    return method


def as_object(hook: Attached, base: type, name: str, method: Callable[[Attached], Any] = as_method) -> Any:
    """Returns the person's object; for a function, an object of a framework's class with it as a method.

    Args:
        hook: the hook.
        base: the class of the framework, which can be made without arguments.
        name: the name of the method.
        method: makes a method of the hook.
    """
    if hook.owner is not None:
        return hook.owner
    # A framework may look at the parameters.
    body = {name: functools.wraps(getattr(base, name))(method(hook))}
    return types.new_class("Checked", (base,), {}, lambda space: space.update(body))()


@runtime_checkable
class Adapter(Protocol):
    """Runs conversations in a framework; see the skeleton in `agentcore/skeletons/live_adapter.py`."""

    name: str
    package: str
    """The distribution whose version is reported; empty for a loop without one."""
    boundaries: Mapping[str, Boundary]
    paths: Sequence[str]
    drop: Sequence[str]
    """Names of attributes that differ from run to run: random ids, times. What a hook puts there is compared
    unless it looks like them."""

    def run(self, session: Session, hook: Attached | None, at: str, path: str) -> None:
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


class AdapterBase(ABC):
    """What adapters share; one of one's own adds the boundaries, and the abstract methods.

    Attributes:
        awaits: whether the framework runs in an event loop even if the hook is sync.
        classes: what `bases` returns.
        steering: what `control` returns.
    """

    name: str
    package: str = ""
    boundaries: Mapping[str, Boundary]
    paths: Sequence[str] = ("generate",)
    drop: Sequence[str] = ()
    awaits: bool = False
    classes: Sequence[type] = ()
    steering: Sequence[type[BaseException]] = ()

    @abstractmethod
    def begin(self, session: Session, hook: Attached | None, at: str, path: str) -> Callable[[Any], Any]:
        """Attaches the hook, and returns the function that runs a turn.

        Args:
            session: has the scripted answers and the outcomes of tools.
            hook: the hook; None for a run without one.
            at: the boundary.
            path: one of `paths`.

        Returns:
            A function of what `passed` returned; it returns a `session.Reply`, or an awaitable of one.
        """

    @abstractmethod
    def user(self, parts: Sequence[Part]) -> Any:
        """Returns a message of the user, or a list of messages."""

    @abstractmethod
    def answer(self, parts: Sequence[Part]) -> Any:
        """Returns an answer of the model, likewise."""

    @abstractmethod
    def result(self, call: Part) -> Any:
        """Returns a message with the result of a call."""

    def results(self, calls: Sequence[Part]) -> Any:
        """Returns the message, or messages, with the results of an answer's calls."""
        return [self.result(call) for call in calls]

    @abstractmethod
    def entry(self, message: Any) -> Entry | list[Entry]:
        """Returns the neutral form of a message, or of each of its parts."""

    def entries(self, messages: Any) -> Sequence[Entry]:
        """Returns the neutral form of a prompt, or of the messages that a hook is given or returns."""
        made = [self.entry(each) for each in messages]
        return [one for each in made for one in (each if isinstance(each, list) else [each])]

    def passed(self, messages: list[Any]) -> Any:
        """Returns what the caller passes to the framework for a turn."""
        return messages

    def run(self, session: Session, hook: Attached | None, at: str, path: str) -> None:
        """Runs all turns of a conversation, in one event loop if the framework or the hook needs one.

        Raises:
            TypeError: if something is awaited without an event loop.
        """
        turns = session.converse(self, self.begin(session, hook, at, path))
        if self.awaits or (hook is not None and hook.is_async):
            asyncio.run(turns)
            return
        # A sync hook may start an event loop of its own, so it must not run inside of one.
        try:
            turns.send(None)
        except StopIteration:
            return
        turns.close()
        raise TypeError(f"{self.name}: the framework awaits something; set `awaits` of the adapter")

    def bases(self) -> Sequence[type]:
        """Returns the classes whose own methods do nothing."""
        return self.classes

    def control(self) -> Sequence[type[BaseException]]:
        """Returns the exceptions by which a hook steers the framework."""
        return self.steering
