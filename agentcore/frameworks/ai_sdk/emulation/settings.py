"""Settings of a compat run: messages, model, tools and hooks, all plain Python.

Hooks and tools get views and may return plain values, views, or both mixed. Fields keep the names they have
in the AI SDK.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.heap.heap import UNDEFINED, NotEmulatedError, Ref, Store, Value
from agentcore.heap.js import PackageError, fields, is_array, is_nullish, is_object, or_else, text
from agentcore.heap.loading import is_list, is_mapping_of, is_one
from agentcore.heap.views import Desk, ObjectView
from agentcore.messages.brief import brief
from agentcore.messages.values import json_path

__all__ = [
    "Hook",
    "Hooks",
    "Loaded",
    "Model",
    "Settings",
    "Tool",
    "check_counts",
    "check_settings",
    "load",
    "named_headers",
    "read_settings",
    "require_emulated",
]

Hook: TypeAlias = Callable[[ObjectView], Any]
"""Called with its argument or event; what it returns counts for `prepare_step` and `stop_when` only."""


@attrs.frozen(kw_only=True)
class Tool:
    """A tool: `execute(input, options)` is called with views; None leaves its calls pending.

    `needs_approval` is a bool or is called as `execute` is. `to_model_output` is called with
    `{toolCallId, input, output}` and gives the output of the message. `takes` is how long a call waits before
    it returns or throws, in moments: of the calls of a step that run at once, those of fewer moments end
    first, and those of equally many in their order.
    """

    __repr__ = brief

    execute: Callable[[Any, ObjectView], Any] | None = None
    needs_approval: bool | Callable[[Any, ObjectView], Any] | None = None
    to_model_output: Hook | None = None
    on_input_available: Hook | None = None
    takes: int = 0


@attrs.frozen(kw_only=True)
class Model:
    """A model: `answer(options)` is called with a view of the call's options and gives parts.

    Parts are JSON objects: `{type: "text" | "reasoning", text}`, `{type: "tool-call", toolCallId, toolName,
    input}`, `{type: "source", ...}`, and what the provider ran itself: tool calls with `providerExecuted`
    and `{type: "tool-result", toolCallId, toolName, result, isError?}`; each with `providerMetadata?`.
    `on_parts` is called with a view of the parts as the model returned them.
    """

    __repr__ = brief

    id: str
    answer: Callable[[ObjectView], Sequence[Mapping[str, Any]]]
    on_parts: Callable[[Any], None] | None = None

    @classmethod
    def scripted(cls, *answers: Sequence[Mapping[str, Any]], id: str = "scripted") -> Model:  # noqa: A002
        """A model for one run, which gives these answers in turn, and after them none."""
        left = iter(answers)
        return cls(id=id, answer=lambda _: next(left, ()))


@attrs.frozen(kw_only=True)
class Hooks:
    """The hooks of a run; None where nobody listens."""

    __repr__ = brief

    on_start: Hook | None = None
    prepare_step: Hook | None = None
    on_step_start: Hook | None = None
    on_tool_call_start: Hook | None = None
    on_tool_call_finish: Hook | None = None
    on_chunk: Hook | None = None
    on_step_finish: Hook | None = None
    stop_when: Hook | None = None
    on_finish: Hook | None = None


@attrs.frozen(kw_only=True)
class Settings:
    """One call of an agent loop.

    `messages` is the caller's list, plain JSON; `options` are the call's other settings as the AI SDK names
    them: `providerOptions`, `activeTools`, `toolChoice`, `experimental_context`. `frozen` freezes the
    messages deeply first.
    """

    __repr__ = brief

    messages: Sequence[Any] = attrs.field(validator=is_list("a list of messages"))
    model: Model = attrs.field(validator=is_one(Model, "a Model"))
    tools: Mapping[str, Tool] | None = attrs.field(
        default=None, validator=is_mapping_of(Tool, "a Tool", optional=True)
    )
    system: Any = None
    options: Mapping[str, Any] = attrs.field(factory=dict, validator=is_mapping_of(object, "JSON"))
    hooks: Hooks = attrs.field(factory=Hooks, validator=is_one(Hooks, "Hooks"))
    max_steps: int = 20
    frozen: bool = False


@attrs.frozen
class Loaded:
    """The values of some settings on the heap."""

    messages: Ref
    options: Mapping[str, Value]
    system: Value


def load(settings: Settings, desk: Desk) -> Loaded:
    """Puts the values of settings on the heap.

    Raises:
        HostValueError: for a value that JavaScript has no counterpart of.
    """
    with desk.acting("settings"):
        listed = [desk.slot(each, f"$.messages[{index}]") for index, each in enumerate(settings.messages)]
        options = {
            name: desk.slot(value, json_path("$.options", name)) for name, value in settings.options.items()
        }
        system = UNDEFINED if settings.system is None else desk.slot(settings.system, "$.system")
    return Loaded(desk.store.array(listed), options, system)


# The settings of a call that its model is given, and what is checked of them and of others.

_WHOLE: Final = {"maxOutputTokens": 1, "seed": None}
# Of the settings that count something else than a model's parameters.
_COUNTS: Final = {"maxRetries": 0, "streamRetries": 0, "toolCallConcurrency": 1}
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def require_emulated(profile: AiSdkProfile, names: Iterable[str]) -> None:
    """Raises NotEmulatedError for a setting that is neither read nor known to be passed over."""
    for name in names:
        if name not in profile.settings and name not in profile.settings_ignored:
            raise NotEmulatedError("settings", f"the setting {name}", "leave it out")


def read_settings(profile: AiSdkProfile, option: Callable[[str], Value]) -> dict[str, Value]:
    """Reads the settings of a call that the model gets (rule ai-sdk.settings-shared).

    Raises:
        PackageError: AI_InvalidArgumentError for a value that is refused.
    """
    return check_settings(profile, {name: option(name) for name in profile.call_settings})


def check_settings(profile: AiSdkProfile, values: dict[str, Value]) -> dict[str, Value]:
    """The same settings, if none of them is refused (rule ai-sdk.settings-checked).

    Raises:
        PackageError: AI_InvalidArgumentError.
    """
    for name, value in values.items():
        if name in _WHOLE:
            require_whole(name, value, _WHOLE[name])
        elif name in profile.numbers_checked and not is_nullish(value) and not _is_number(value):
            raise _refused(name, "a number")
    return values


def check_counts(profile: AiSdkProfile, option: Callable[[str], Value]) -> None:
    """Raises PackageError for an invalid number of retries or of calls at once."""
    for name, least in _COUNTS.items():
        if name in profile.settings:
            require_whole(name, option(name), least)


def require_whole(name: str, value: Value, least: int | None) -> None:
    """Raises PackageError unless the value is absent, or a whole number that is large enough."""
    if is_nullish(value):
        return
    if not _is_number(value) or not float(value).is_integer():  # type: ignore[arg-type]
        raise _refused(name, "an integer")
    if least is not None and value < least:  # type: ignore[operator]
        raise _refused(name, f">= {least}")


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refused(name: str, wanted: str) -> PackageError:
    return PackageError("AI_InvalidArgumentError", f"Invalid argument for parameter {name}: must be {wanted}")


def named_headers(store: Store, headers: Value, package: str) -> Ref:
    """The headers with the package's name at the end of the user agent, their names in small letters.

    Raises:
        NotEmulatedError: for headers that are not texts and numbers under names of headers.
    """
    named: dict[str, Value] = {}
    for name, value in _entries(store, headers):
        if not is_nullish(value):
            named[name.lower()] = _header(store, name, value)
    agent = text(store, or_else(named.get("user-agent", UNDEFINED), ""))
    named["user-agent"] = f"{agent} {package}".strip()
    return store.object({name: named[name] for name in sorted(named)})


def _entries(store: Store, headers: Value) -> Iterable[tuple[str, Value]]:
    if is_array(store, headers):
        raise NotEmulatedError("settings", "a list of headers", "give an object")
    return fields(store, headers).items()


def _header(store: Store, name: str, value: Value) -> str:
    shown = "" if is_object(value) else text(store, value).strip(" \t\r\n")
    if is_object(value) or not _TOKEN.fullmatch(name) or not shown.isascii() or not shown.isprintable():
        mend = "give it a name without spaces or separators, and a text of printable ASCII"
        raise NotEmulatedError("settings", f"the header {name}", mend)
    return shown
