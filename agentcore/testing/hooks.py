"""`check_hook`: a hook over random conversations, under every profile of the AI SDK."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Literal, NoReturn, TypeAlias

import attrs
import hypothesis
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis.errors import NoSuchExample

from agentcore.compat import PROFILES, CompatRun, Hooks, Model, Settings, Tool, run
from agentcore.guard import guard
from agentcore.oracle.ai_sdk.family import FAMILY
from agentcore.oracle.compare import Difference, differences
from agentcore.oracle.families import Comparison
from agentcore.oracle.shrink import shrink
from agentcore.oracle.strategies import conversations
from agentcore.testing.faults import HookFault, HookFaultError, NothingPollutedError
from agentcore.testing.mirrors import Mirror
from agentcore.values import dump_json

__all__ = ["check_hook"]

Json: TypeAlias = dict[str, Any]
Hook: TypeAlias = Callable[[Any], Any]
Takes: TypeAlias = Literal["messages", "options"]

_AGAIN: Final = Comparison(permitted={}, order=("made",))
_STRICT: Final = Comparison(permitted={}, order=("prompts", "caller", "steps", "error"))
_PROFILES: Final = tuple(PROFILES)
_NEEDED: Final = ("messages", "stepNumber", "initialMessages", "responseMessages")
_LONGEST: Final = 200


def check_hook(  # noqa: PLR0913 - what is asked of a hook, by name
    hook: Hook,
    *,
    takes: Takes = "messages",
    profiles: Sequence[str] = _PROFILES,
    idempotent: bool = True,
    texts: Sequence[str] = (),
    examples: int = 50,
    expected_pollution: Sequence[str] | None = None,
) -> None:
    """Runs a hook over random conversations, and raises for the smallest one in which it is at fault.

    The hook is called at every step of each conversation with plain dicts and lists in the AI SDK's message
    form. An async one is awaited on an event loop of its own, so a test may be sync or async. What it does
    has to follow from its argument only. It is at fault if it

    - writes in place to what it is given;
    - makes something else when it is applied to what it made (unless `idempotent` is false);
    - has another effect under a profile than if it were given values (rule testing.as-values): another prompt
      at some step, or other messages left for the caller or in the result;
    - raises, or returns what is no result.

    Args:
        hook: with `takes="messages"`, a function of a list of messages that returns one, or None for no
            change; with `takes="options"`, a `prepare_step` as the AI SDK calls it: a function of an object
            with `messages`, `steps`, `stepNumber` and so on that returns an object of overrides, or None.
        takes: what the hook takes.
        profiles: names of `agentcore.compat.PROFILES`; with none, it is not run under any.
        idempotent: whether a second application has to change nothing.
        texts: what some of the texts begin with; for a hook that looks for something.
        examples: how many conversations.
        expected_pollution: if not None, in-place writes are expected, at these paths if any are given
            (`$[*].content`, and what lies below it); then it is an error if there are none.

    Raises:
        HookFaultError: for a hook that is at fault.
        NothingPollutedError: for an expectation that does not come true.
        KeyError: for a profile that there is not.
    """
    __tracebackhide__ = True
    for name in profiles:
        PROFILES[name]
    with start_blocking_portal() as portal:
        check = _Check(hook, portal, takes, tuple(profiles), idempotent, expected_pollution)
        fault = _smallest(check, texts, examples)
    if fault is not None:
        raise HookFaultError(_name(hook), fault) from check.cause
    if expected_pollution is not None and not check.polluted:  # testing.strict
        raise NothingPollutedError(_name(hook), examples, tuple(expected_pollution))


def _name(hook: Hook) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def _smallest(check: _Check, texts: Sequence[str], examples: int) -> HookFault | None:
    # Fewer messages may show another fault, which would be another story.
    first: list[tuple[str, str]] = []

    def at_fault(conversation: Json) -> bool:
        fault = check.fault(conversation)
        if fault is None:
            return False
        first.append((fault.kind, fault.profile))
        return first[-1] == first[0]

    settings = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        # The oracle's own shrinking knows what is simpler to read (rule testing.smallest).
        phases=[hypothesis.Phase.generate],
        suppress_health_check=[*hypothesis.HealthCheck],
    )
    try:
        found = hypothesis.find(conversations(texts), at_fault, settings=settings)
    except NoSuchExample:
        return None
    smallest = shrink(_as_program(found), lambda program: at_fault(_as_conversation(program)), FAMILY)
    return check.told(_as_conversation(smallest))


def _as_program(conversation: Json) -> Json:
    tools = {name: {"output": output} for name, output in conversation["tools"].items()}
    return {"id": "smallest", "path": "stream", **conversation, "tools": tools}


def _as_conversation(program: Json) -> Json:
    tools = {name: tool.get("output") for name, tool in program.get("tools", {}).items()}
    return {"messages": program["messages"], "script": program["script"], "tools": tools}


# ---------------------------------------------------------------- one conversation


@attrs.define
class _Check:
    """A hook and what is asked of it; `polluted` once it wrote where it was expected to."""

    hook: Hook
    portal: BlockingPortal
    takes: Takes
    profiles: tuple[str, ...]
    idempotent: bool
    expected: Sequence[str] | None
    polluted: bool = False
    cause: Exception | None = None

    def fault(self, conversation: Json) -> HookFault | None:
        """The first fault that the conversation shows."""
        for number, profile in enumerate(self.profiles or _PROFILES[:1]):
            as_values = _AsValues(self, conversation, profile, watched=number == 0)
            expected = run(profile, _settings(conversation, as_values))
            if as_values.fault is not None:
                return as_values.fault
            found = self._difference(conversation, profile, expected)
            if found is not None:
                if not self._expects_difference():
                    return self._differs(conversation, profile, found)
                self.polluted = True
        return None

    def told(self, conversation: Json) -> HookFault | None:
        """The same with how far a write spreads, which is not worked out for every conversation."""
        fault = self.fault(conversation)
        if fault is None or fault.kind != "in place" or not self.profiles:
            return fault
        spread = (f"{profile}: {self._spread(conversation, profile)}" for profile in self.profiles)
        return attrs.evolve(fault, details=(*fault.details, "so that", *spread))

    def expects(self, paths: Sequence[str]) -> bool:
        """Whether a write is expected at one of these paths of a place."""
        if self.expected is None:
            return False
        return not self.expected or any(_below(wanted, path) for wanted in self.expected for path in paths)

    def _expects_difference(self) -> bool:
        # Where paths are named, it has to come of a write at one of them.
        return self.expected is not None and (self.polluted or not self.expected)

    def _spread(self, conversation: Json, profile: str) -> str:
        as_values = _AsValues(self, conversation, profile, watched=False)
        found = self._difference(conversation, profile, run(profile, _settings(conversation, as_values)))
        return "nothing else comes of it" if found is None else _text(found)

    def _difference(self, conversation: Json, profile: str, expected: CompatRun) -> Difference | None:
        if profile not in self.profiles:
            return None
        actual = run(profile, _settings(conversation, self._live))
        return differences(_left(expected), _left(actual), _STRICT)

    def _differs(self, conversation: Json, profile: str, found: Difference) -> HookFault:
        return HookFault(
            kind="differs",
            path=found.path,
            step=None,
            profile=profile,
            conversation=conversation,
            details=(_text(found),),
        )

    def _live(self, view: Any) -> Any:
        """Calls the hook with what the profile's loop has, as it has it."""
        mirror = Mirror()
        try:
            returned = self.called(self.argument(mirror, view))
        finally:
            mirror.write_back()
        return mirror.live(returned)

    def argument(self, mirror: Mirror, view: Any) -> Json:
        """The hook's argument, or as much of it as is needed, as plain objects."""
        if self.takes == "options":
            return mirror.plain(view)  # type: ignore[no-any-return]
        return {name: mirror.plain(view[name]) for name in _NEEDED if name in view}

    def called(self, argument: Json) -> Any:
        """The override that the hook returns."""
        returned = self._come_to(self.hook(self.given(argument)))
        if self.takes == "options" or returned is None:
            return returned
        return {"messages": returned}

    def _come_to(self, returned: Any) -> Any:
        return self.portal.call(_awaited, returned) if inspect.isawaitable(returned) else returned

    def given(self, argument: Json) -> Any:
        """What the hook is given of the argument."""
        return argument if self.takes == "options" else argument["messages"]


async def _awaited(returned: Awaitable[Any]) -> Any:
    return await returned


class _AsValues:
    """The hook as the immutable core would have it: it gets copies, and only what it returns counts."""

    def __init__(self, check: _Check, conversation: Json, profile: str, *, watched: bool) -> None:
        self.fault: HookFault | None = None
        self._check = check
        self._conversation = conversation
        self._profile = profile
        self._watched = watched

    def __call__(self, view: Any) -> Any:
        mirror = Mirror()
        argument = _step_input(self._check.argument(mirror, view))
        before = copy.deepcopy(argument["messages"])
        returned = self._called(argument)
        if self._watched and self._check.idempotent:
            self._apply_again(argument, _messages(returned))
        messages = _messages(returned)
        others = {key: mirror.live(value) for key, value in (returned or {}).items() if key != "messages"}
        return {**others, "messages": before if messages is None else copy.deepcopy(messages)}

    def _called(self, argument: Json) -> Any:
        check = self._check
        # Once is enough: the first profile's loop has the same messages as the others.
        watched = check.given(argument) if self._watched else None
        with guard(watched) as report:
            returned = self._tried(argument)
        unexpected = [change for change in report.changes if not check.expects(change.paths)]
        check.polluted |= len(unexpected) < len(report.changes)
        if unexpected:
            self._stop("in place", unexpected[0].path, argument, list(map(str, unexpected)))
        if not _is_override(returned):
            self._stop("returned", "$", argument, [f"{returned!r}"[:_LONGEST]])
        return returned

    def _tried(self, argument: Json) -> Any:
        try:
            return self._check.called(argument)
        except Exception as error:  # noqa: BLE001 - whatever a hook raises is its fault
            self._check.cause = error
            self._stop("raised", "$", argument, [f"{type(error).__name__}: {error}"])

    def _apply_again(self, argument: Json, made: list[Any] | None) -> None:
        if made is None:
            return
        made = copy.deepcopy(made)
        again = _messages(self._tried({**argument, "messages": copy.deepcopy(made)}))
        found = None if again is None else differences({"made": made}, {"made": again}, _AGAIN)
        if found is not None:
            at = attrs.evolve(found, path=found.path.replace("$.made", "$", 1))
            self._stop("not idempotent", at.path, argument, [_text(at)])

    def _stop(self, kind: Any, path: str, argument: Json, details: list[str]) -> NoReturn:
        self.fault = HookFault(
            kind=kind,
            path=path,
            step=argument["stepNumber"],
            profile=self._profile,
            conversation=self._conversation,
            details=tuple(details),
        )
        raise _AtFaultError


class _AtFaultError(Exception):
    """Ends a run whose hook is at fault; the loop takes it for the hook's own."""


def _step_input(argument: Json) -> Json:
    """The argument with the messages that the step has by itself, whatever the profile carries on."""
    if "initialMessages" not in argument:
        return argument
    messages = [*argument["initialMessages"], *argument["responseMessages"]]
    return {**argument, "messages": messages}


def _is_override(returned: Any) -> bool:
    if returned is None:
        return True
    return isinstance(returned, dict) and isinstance(returned.get("messages"), list | tuple | None)


def _messages(override: Json | None) -> list[Any] | None:
    messages = None if override is None else override.get("messages")
    return None if messages is None else [*messages]


def _settings(conversation: Json, prepare_step: Hook) -> Settings:
    return Settings(
        messages=copy.deepcopy(conversation["messages"]),
        model=Model.scripted(*conversation["script"]),
        tools={name: _tool(output) for name, output in conversation["tools"].items()} or None,
        hooks=Hooks(prepare_step=prepare_step),
    )


def _tool(output: Any) -> Tool:
    return Tool(execute=lambda *_: copy.deepcopy(output))


# ---------------------------------------------------------------- what a run left


def _left(ended: CompatRun) -> Json:
    error = ended.error
    return {
        "prompts": [*ended.prompts],
        "caller": ended.caller,
        "steps": ended.steps,
        "error": None if error is None else f"{type(error).__name__}: {error}",
    }


def _text(found: Difference) -> str:
    return f"{found.path} is {_brief(found.actual)}, not {_brief(found.expected)}"


def _brief(value: Any) -> str:
    text = repr(value) if not isinstance(value, dict | list) else dump_json(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _below(wanted: str, path: str) -> bool:
    pattern = re.escape(wanted).replace(r"\[\*\]", r"\[\d+\]")
    return re.match(rf"{pattern}(?=$|[.\[{{])", path) is not None
