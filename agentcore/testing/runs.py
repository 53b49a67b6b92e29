"""One conversation run with a hook: as a profile has it, and as if the hook were given copies."""

from __future__ import annotations

import copy
import inspect
import re
import traceback
from collections.abc import Awaitable, Callable, Sequence
from operator import is_
from typing import Any, Final, Literal, NoReturn, TypeAlias

import attrs
from anyio.from_thread import BlockingPortal

from agentcore.frameworks.ai_sdk import PROFILES, Hooks, Model, Settings, Tool
from agentcore.frameworks.ai_sdk.emulation.loop import AiSdkLoop
from agentcore.guard import guard
from agentcore.heap.heap import Ref, Slot, Store
from agentcore.heap.views import View
from agentcore.kit.compare import differences
from agentcore.kit.families import Comparison
from agentcore.testing.prompts import (
    HookFault,
    Kind,
    TwoRuns,
    brief,
    difference_text,
    first_flaw,
    first_non_message,
)

__all__ = ["Check", "Hook", "Mirror", "Takes"]

Json: TypeAlias = dict[str, Any]
Hook: TypeAlias = Callable[[Any], Any]
Takes: TypeAlias = Literal["messages", "options"]

_AGAIN: Final = Comparison(permitted={}, order=("made",))
_STRICT: Final = Comparison(permitted={}, order=("prompts", "caller", "steps", "error"))
_NEEDED: Final = ("messages", "stepNumber", "initialMessages", "responseMessages")
_SOME_PROFILE: Final = next(iter(PROFILES))
# A script goes on as it does whatever tools a hook chooses: that failure is the script's.
_OF_THE_SCRIPT: Final = "AI_ToolChoiceViolationError"


@attrs.define
class Check:
    """A hook and what is asked of it.

    `polluted` is set when it writes where it is expected to; `raised` is what it raised last.
    """

    hook: Hook
    name: str
    portal: BlockingPortal
    takes: Takes
    profiles: Sequence[str]
    idempotent: bool
    expected: Sequence[str] | None
    polluted: bool = False
    raised: Exception | None = None

    def fault(self, conversation: Json) -> HookFault | None:
        """Returns the first fault that the conversation shows; one of idempotence comes last."""
        again = None
        for number, profile in enumerate(self.profiles or (_SOME_PROFILE,)):
            as_values = _AsValues(self, conversation, profile, watched=number == 0)
            expected = _run(profile, conversation, as_values)
            if as_values.error is not None:
                raise as_values.error
            fault = as_values.fault
            if fault is None and self.profiles:
                fault = self._failure(conversation, profile, expected)
                fault = fault or self._unlike(conversation, profile, expected)
            if fault is not None:
                return fault
            again = again or as_values.again
        return again

    def with_spread(self, conversation: Json, fault: HookFault) -> HookFault:
        """Returns the fault of a write with how far it spreads under each profile."""
        if not self.profiles:
            return fault
        spread = (f"{profile}: {self._spread(conversation, profile)}" for profile in self.profiles)
        return attrs.evolve(fault, details=(*fault.details, "so that", *spread))

    def expects(self, paths: Sequence[str]) -> bool:
        """Return whether a write is expected at one of these paths of a place."""
        if self.expected is None:
            return False
        return not self.expected or any(_below(wanted, path) for wanted in self.expected for path in paths)

    # ---------------------------------------------------------------- calling the hook

    def called(self, argument: Json) -> Any:
        """Returns the override that the hook returns."""
        returned = self.hook(self.hook_argument(argument))
        if inspect.isawaitable(returned):
            returned = self.portal.call(_awaited, returned)
        if self.takes == "options" or returned is None:
            return returned
        return {"messages": returned}

    def hook_argument(self, argument: Json) -> Any:
        """Returns what the hook is given of the argument."""
        return argument if self.takes == "options" else argument["messages"]

    def argument(self, mirror: Mirror, view: Any) -> Json:
        """Returns the hook's argument, or as much of it as is needed, as plain objects."""
        if self.takes == "options":
            return mirror.plain(view)  # type: ignore[no-any-return]
        return {name: mirror.plain(view[name]) for name in _NEEDED if name in view}

    # ---------------------------------------------------------------- under a profile

    def _failure(self, conversation: Json, profile: str, expected: Json) -> HookFault | None:
        """The fault of a hook that makes a run fail which does not fail without it."""
        error = expected["error"]
        if error is None or error.startswith(_OF_THE_SCRIPT):
            return None
        if _run(profile, conversation, None)["error"] is not None:
            return None
        step = len(expected["prompts"])
        return HookFault(
            kind="fails",
            sentence=f"under {profile} the run fails at step {step} with what {self.name} returns: {error}",
            path="$.error",
            step=None,
            profile=profile,
            conversation=conversation,
        )

    def _unlike(self, conversation: Json, profile: str, expected: Json) -> HookFault | None:
        """The fault of a hook that has another effect under a profile than if it is given copies."""
        live = _Live(self, conversation, profile)
        actual = _run(profile, conversation, live)
        found = differences(expected, actual, _STRICT)
        if live.fault is not None or found is None:
            return live.fault
        # Where paths are named, a write at one of them has to cause it.
        if self.expected is not None and (self.polluted or not self.expected):
            self.polluted = True
            return None
        both = TwoRuns(
            hook=self.name, profile=profile, conversation=conversation, expected=expected, actual=actual
        )
        return HookFault(
            kind="differs",
            sentence=both.sentence(found),
            path=found.path,
            step=None,
            profile=profile,
            conversation=conversation,
            details=(difference_text(found),),
        )

    def _spread(self, conversation: Json, profile: str) -> str:
        as_values = _AsValues(self, conversation, profile, watched=False)
        expected = _run(profile, conversation, as_values)
        actual = _run(profile, conversation, _Live(self, conversation, profile))
        found = differences(expected, actual, _STRICT)
        return "nothing else changes" if found is None else difference_text(found)


async def _awaited(returned: Awaitable[Any]) -> Any:
    return await returned


# ---------------------------------------------------------------- the hook in the two runs


class _AtFaultError(Exception):
    """Ends a run whose hook is at fault; the loop takes it for the hook's own."""


class _Called:
    """A hook in one run; `fault` is the fault that ended it."""

    def __init__(self, check: Check, conversation: Json, profile: str) -> None:
        self.check = check
        self.fault: HookFault | None = None
        self._conversation = conversation
        self._profile = profile

    def made(self, kind: Kind, sentence: str, path: str, step: int, details: Sequence[str] = ()) -> HookFault:
        """Returns a fault of the hook in this run."""
        return HookFault(
            kind=kind,
            sentence=f"{self.check.name} {sentence}",
            path=path,
            step=step,
            profile=self._profile,
            conversation=self._conversation,
            details=tuple(details),
        )

    def stop(self, fault: HookFault) -> NoReturn:
        """Ends the run with a fault."""
        self.fault = fault
        raise _AtFaultError


class _Live(_Called):
    """The hook with what the profile's loop has, as it has it."""

    def __call__(self, view: Any) -> Any:
        mirror = Mirror()
        argument = self.check.argument(mirror, view)
        self._require_messages(argument)
        try:
            returned = self.check.called(argument)
        finally:
            mirror.write_back()
        return mirror.live(returned)

    def _require_messages(self, argument: Json) -> None:
        # Rule testing.messages-only; only writes that are expected come this far.
        at = first_non_message(argument["messages"])
        if at is not None:
            step, value = argument["stepNumber"], brief(argument["messages"][at])
            sentence = f"leaves, by what it writes, something in the messages of step {step} that is not one:"
            self.stop(self.made("in place", f"{sentence} $[{at}] is {value}", f"$[{at}]", step))


class _AsValues(_Called):
    """The hook as the immutable core would have it: it gets copies, and only what it returns counts.

    `again` is the fault that it is not idempotent, which does not end the run. `error` is one of the check's
    own, which the loop takes for the hook's.
    """

    def __init__(self, check: Check, conversation: Json, profile: str, *, watched: bool) -> None:
        super().__init__(check, conversation, profile)
        self.again: HookFault | None = None
        self.error: Exception | None = None
        # Once is enough: the first profile's loop has the same messages as the others.
        self._watched = watched

    def __call__(self, view: Any) -> Any:
        try:
            return self._override(view)
        except _AtFaultError:
            raise
        except Exception as error:
            self.error = error
            raise

    def _override(self, view: Any) -> Json:
        mirror = Mirror()
        argument = _step_input(self.check.argument(mirror, view))
        before = _step_input(self.check.argument(Mirror(), view))["messages"]
        returned = self._returned(argument)
        messages = self._messages(returned, argument)
        if self._watched and messages is not None:
            self._require_whole(before, messages, argument)
            if self.check.idempotent and self.again is None:
                self.again = self._applied_again(argument, messages)
        others = {key: mirror.live(value) for key, value in (returned or {}).items() if key != "messages"}
        return {**others, "messages": before if messages is None else messages}

    def _returned(self, argument: Json) -> Any:
        check, step = self.check, argument["stepNumber"]
        with guard(check.hook_argument(argument) if self._watched else None) as report:
            returned = self._tried(argument, f"at step {step}")
        unexpected = [change for change in report.changes if not check.expects(change.paths)]
        check.polluted |= len(unexpected) < len(report.changes)
        if unexpected:
            path, changes = unexpected[0].path, [*map(str, unexpected)]
            sentence = f"writes in place at step {step}: it changes {path}"
            self.stop(self.made("in place", sentence, path, step, changes))
        return returned

    def _tried(self, argument: Json, when: str) -> Any:
        try:
            return self.check.called(argument)
        except Exception as error:  # noqa: BLE001 - whatever a hook raises is its fault
            self.check.raised = error
            sentence = f"raises {type(error).__name__} {when}: {error}"
            self.stop(self.made("raised", sentence, "$", argument["stepNumber"], _line_of(error)))

    def _messages(self, returned: Any, argument: Json) -> list[Any] | None:
        """The messages of what the hook returned; None for no other ones."""
        step, options = argument["stepNumber"], self.check.takes == "options"
        if returned is None:
            return None
        if not isinstance(returned, dict):
            self._refuse("$", f"returns {brief(returned)} at step {step}, which is not an object", step)
        messages = returned.get("messages")
        if messages is None:
            return None
        if not isinstance(messages, list | tuple):
            sentence = f"returns {brief(messages)} at step {step}, which is not a list of messages"
            self._refuse("$.messages" if options else "$", sentence, step)
        at = first_non_message(messages)
        if at is not None:
            path = f"$.messages[{at}]" if options else f"$[{at}]"
            value = brief(messages[at])
            self._refuse(path, f"returns at step {step} what is not a message: {path} is {value}", step)
        return [*messages]

    def _refuse(self, path: str, sentence: str, step: int) -> NoReturn:
        self.stop(self.made("returned", sentence, path, step))

    def _require_whole(self, given: list[Json], messages: list[Json], argument: Json) -> None:
        """Ends the run if the messages are not what a provider takes (rule testing.prompt-whole)."""

        def hook(others: Any) -> Any:
            again = {**argument, "messages": copy.deepcopy([*others])}
            return self._messages(self._tried(again, f"at step {argument['stepNumber']}"), again)

        flaw = first_flaw(given, messages, hook)
        if flaw is not None:
            step = argument["stepNumber"]
            sentence = f"leaves {flaw.leaves} in the prompt of step {step}"
            self.stop(self.made(flaw.kind, sentence, flaw.path, step))

    def _applied_again(self, argument: Json, messages: list[Any]) -> HookFault | None:
        step = argument["stepNumber"]
        again = {**argument, "messages": copy.deepcopy(messages)}
        returned = self._messages(self._tried(again, f"when it gets what it returned at step {step}"), again)
        found = None if returned is None else differences({"made": messages}, {"made": returned}, _AGAIN)
        if found is None:
            return None
        at = attrs.evolve(found, path=found.path.replace("$.made", "$", 1))
        sentence = f"returns something else when it gets what it returned at step {step}"
        return self.made("not idempotent", sentence, at.path, step, [difference_text(at)])


def _line_of(error: Exception) -> list[str]:
    """Return the place in the hook's own code where an exception was raised."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return [f"in {last.name}, {last.filename}:{last.lineno}"]


def _step_input(argument: Json) -> Json:
    """The argument with the messages that the step has by itself, whatever the profile carries on."""
    if "initialMessages" not in argument:
        return argument
    messages = [*argument["initialMessages"], *argument["responseMessages"]]
    return {**argument, "messages": messages}


# ---------------------------------------------------------------- a run, and what it left


def _run(profile: str, conversation: Json, prepare_step: Hook | None) -> Json:
    """Runs a conversation: what the model was asked with, and what is left for the caller, in the result."""
    # Nobody reads what a `CompatRun` has besides, and most of its time goes into that.
    prompts: list[Any] = []
    loop = AiSdkLoop(PROFILES[profile], _settings(conversation, prepare_step, prompts))
    outcome = loop.run()
    plain, error = loop.store.plain, outcome.error
    return {
        "prompts": prompts,
        "caller": plain(loop.caller),
        "steps": None if outcome.steps is None else plain(outcome.steps),
        "error": None if error is None else f"{getattr(error, 'name', type(error).__name__)}: {error}",
    }


def _settings(conversation: Json, prepare_step: Hook | None, prompts: list[Any]) -> Settings:
    answers = iter(conversation["script"])

    def answer(options: Any) -> Any:
        prompt: View = options["prompt"]
        prompts.append(prompt.store.plain(prompt.ref))
        return next(answers, ())

    return Settings(
        messages=conversation["messages"],
        model=Model(id="scripted", answer=answer),
        tools={name: _tool(tool) for name, tool in conversation["tools"].items()} or None,
        hooks=Hooks(prepare_step=prepare_step),
    )


class _ToolError(Exception):
    """The error of a tool that fails."""

    name = "Error"


def _tool(tool: Json) -> Tool:
    def execute(*_: Any) -> Any:
        if "error" in tool:
            raise _ToolError(tool["error"])
        return tool.get("output")

    return Tool(execute=execute)


def _below(wanted: str, path: str) -> bool:
    pattern = re.escape(wanted).replace(r"\[\*\]", r"\[\d+\]")
    return re.match(rf"{pattern}(?=$|[.\[{{])", path) is not None


# Live cells as plain dicts and lists, as a hook of an ordinary framework is given them.


class Mirror:
    """Plain objects that stand for views: one for each cell, so that what is shared is shared.

    What a hook writes to them comes to the cells with `write_back`; what it returns keeps their references
    with `live`.
    """

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        # By number: the object, which is thereby kept; what it held; and a view of any cell of its store.
        self._copied: dict[int, tuple[Any, Any, View, Ref]] = {}

    def plain(self, value: Any) -> Any:
        """The value as dicts and lists; what is no view is itself."""
        if not isinstance(value, View):
            return value
        store = value.store
        todo: list[tuple[Ref, Any]] = []
        copy = self._place(store, value.ref, todo)
        # A loop and no recursion: this is most of what a check takes.
        for ref, made in todo:
            cell = store.cells[ref.address]
            if isinstance(cell, tuple):
                made.extend([self._place(store, slot, todo) for slot in cell])
            else:
                made.update({key: self._place(store, slot, todo) for key, slot in cell.items()})
            self._copied[id(made)] = made, made.copy(), value, ref
        return copy

    def _place(self, store: Store, slot: Slot, todo: list[tuple[Ref, Any]]) -> Any:
        """Return the object that stands for a slot; a new one is still to be filled."""
        if type(slot) is not Ref:
            return slot
        made = self._made.get(slot.address)
        if made is None:
            made = self._made[slot.address] = [] if type(store.cells[slot.address]) is tuple else {}
            todo.append((slot, made))
        return made

    def live(self, value: Any) -> Any:
        """Return a hook's value with views in place of the objects that stand for them."""
        known = self._copied.get(id(value))
        if known is not None:
            return known[2].desk.view(known[3])
        if isinstance(value, dict):
            return {key: self.live(each) for key, each in value.items()}
        return [self.live(each) for each in value] if isinstance(value, list | tuple) else value

    def write_back(self) -> None:
        """Makes the edits of the objects on the cells."""
        for made, before, some_view, ref in [*self._copied.values()]:
            if _same(made, before):
                continue
            view = some_view.desk.view(ref)
            if isinstance(made, dict):
                self._write_fields(made, view, before)
            else:
                view[:] = [self.live(each) for each in made]

    def _write_fields(self, made: dict[str, Any], view: Any, before: dict[str, Any]) -> None:
        for key in before.keys() - made.keys():
            del view[key]
        for key, value in made.items():
            if key not in before or value is not before[key]:
                view[key] = self.live(value)


def _same(one: Any, other: Any) -> bool:
    """Return whether two dicts or lists hold the very same objects at the same places."""
    if len(one) != len(other) or not all(map(is_, one, other)):
        return False
    return isinstance(one, list) or all(map(is_, one.values(), other.values()))
