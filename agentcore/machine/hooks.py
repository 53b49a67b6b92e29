"""Results of a step's hooks, the hook that is running, and records of finished steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, TypeVar, cast

import attrs
from attrs import field

from agentcore.errors import (
    ConflictingResultError,
    InvalidJsonError,
    InvalidOverrideError,
    InvalidPromptError,
    UnsupportedModelError,
)
from agentcore.messages.chains import MessageForm, SystemForm, message_forms, system_prompt
from agentcore.messages.content import ContentPart, GeneratedText, ToolCall, Usage
from agentcore.messages.messages import Message
from agentcore.messages.prompt import SystemPrompt
from agentcore.messages.readonly import CURRENT, Handing, HookKind
from agentcore.messages.values import (
    NO_ITEMS,
    FrozenDict,
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    freeze,
    frozen_list,
    json_path,
    sealed,
    strict_key,
    vector,
    with_fields,
)

__all__ = [
    "OVERRIDE_NAMES",
    "ProcessorEdit",
    "StepOverride",
    "StepRecord",
    "StepResults",
    "check_tool_names",
    "handing",
    "merge_provider_options",
    "merge_settings",
    "merged",
    "tool_choice",
]

_T = TypeVar("_T")
_CHOICES: Final = ("auto", "none", "required")
_AUTO: Final[JsonObject] = FrozenDict({"type": "auto"})


def tool_choice(value: str | Mapping[str, object] | None) -> JsonObject | None:
    """A tool choice as models are given it: `{"type": "auto" | "none" | "required"}`, or a tool's name.

    A tool is `{"type": "tool", "toolName": name}`. Takes the short form, a text, as well. Raises
    InvalidOverrideError for anything else (claim C58).
    """
    if value is None or value is _AUTO:  # which is what most steps have
        return value
    given = _choice_fields(value)
    kind = given.get("type")
    if kind in _CHOICES and len(given) == 1:
        return _AUTO if kind == "auto" else FrozenDict({"type": str(kind)})
    if kind == "tool" and len(given) == 2 and isinstance(given.get("toolName"), str):  # noqa: PLR2004
        return FrozenDict({"type": "tool", "toolName": str(given["toolName"])})
    reason = 'use "auto", "none", "required" or {"type": "tool", "toolName": name}'
    raise InvalidOverrideError("$.tool_choice", reason)


def _choice_fields(value: object) -> dict[str, object]:
    if isinstance(value, str):
        return {"type": value}
    return dict(value) if isinstance(value, Mapping) else {}


def _system(value: SystemForm | Iterable[SystemForm] | None) -> SystemPrompt | None:
    return _refused(system_prompt, value, "$.system")


def check_tool_names(
    known: Iterable[str], active: Sequence[str] | None, choice: Mapping[str, Any] | None
) -> None:
    """Check that the tools that somebody names are there (Difference.OVERRIDES_CHECKED).

    Args:
        known: the names of the call's tools.
        active: those that a step is to show its model, None for all.
        choice: the tool choice, None for none.

    Raises:
        InvalidOverrideError: for a name that no tool has, with its path.
    """
    names = tuple(known)
    chosen = None if choice is None else choice.get("toolName")
    named = [*((f"$.active_tools[{index}]", name) for index, name in enumerate(active or ()))]
    for path, name in (*named, *([] if chosen is None else [("$.tool_choice.toolName", chosen)])):
        if name not in names:
            reason = f"no tool is named {name!r}; the tools are {', '.join(names) or 'none'}"
            raise InvalidOverrideError(path, reason)


def _messages(value: Iterable[MessageForm] | None) -> Vector[Message] | None:
    return None if value is None else _refused(message_forms, value, "$.messages")


def _lasting(value: Iterable[MessageForm] | None) -> Vector[Message] | None:
    return None if value is None else _refused(message_forms, value, "$.lasting_messages")


def _refused(read: Callable[[Any, str], _T], value: object, path: str) -> _T:
    try:
        return read(value, path)
    except InvalidPromptError as error:
        raise InvalidOverrideError(error.path or path, error.reason) from None


def _names(value: Iterable[str] | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidOverrideError("$.active_tools", "use a list of tool names")
    names = frozen_list(value)
    if not all(isinstance(name, str) for name in names):
        raise InvalidOverrideError("$.active_tools", "use a list of tool names")
    return names


def _options(value: Mapping[str, object] | None) -> JsonObject | None:
    if value is not None and not isinstance(value, Mapping):
        raise InvalidOverrideError("$.provider_options", "use an object of options by provider")
    return cast("JsonObject | None", _json(value, "$.provider_options"))


def _model_settings(value: Mapping[str, object] | None) -> JsonObject | None:
    if value is not None and not isinstance(value, Mapping):
        raise InvalidOverrideError("$.model_settings", "use an object of settings by name")
    return cast("JsonObject | None", _json(value, "$.model_settings"))


def _context(value: object) -> JsonValue:
    return _json(value, "$.experimental_context")


def _json(value: object, path: str) -> JsonValue:
    try:
        return freeze(value, path)
    except InvalidJsonError as error:
        raise InvalidOverrideError(error.path, error.reason) from None


def _format(value: object) -> JsonObject | None:
    """The JSON of a format. An Output is known by its attribute: its module is no part of the core."""
    if value is None:
        return None
    given = getattr(value, "response_format", value)
    if not isinstance(given, Mapping) or given.get("type") not in ("json", "text"):
        reason = 'use an Output, {"type": "text"} or {"type": "json", "schema": ...}'
        raise InvalidOverrideError("$.response_format", reason)
    if not isinstance(given.get("schema", given), Mapping):
        kind = type(given["schema"]).__name__
        raise InvalidOverrideError("$.response_format.schema", f"use a JSON Schema, an object, not {kind}")
    return cast("JsonObject", _json(given, "$.response_format"))


def _is_name(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise InvalidOverrideError(f"$.{attribute.name}", "use the model's id, a text")


@sealed
@attrs.frozen(kw_only=True)
class StepOverride:
    """Values that one step uses in place of the call's own; a field that is None is absent (claims C53, C54).

    The seven fields of the package hold for the step. `lasting_messages` become the step input of this step
    and, with the responses since, of later ones (Difference.LASTING_MESSAGES); `messages` beside them are for
    this step's own prompt. `response_format` is the format of the step's answer: `{"type": "text"}`,
    `{"type": "json"}` with `schema` and `name`, or an Output. `model_settings` are the model's
    (`temperature`, `max_output_tokens`, ...); they are kept and saved with the run, so put no key there.

    Messages and instructions may be JSON as well (`agentcore.messages.chains`).

    Raises:
        InvalidOverrideError: for a wrong kind of value, with the path of the field.
    """

    model: str | None = field(default=None, validator=_is_name)
    system: SystemPrompt | None = field(default=None, converter=_system)
    messages: Vector[Message] | None = field(default=None, converter=_messages)
    active_tools: tuple[str, ...] | None = field(default=None, converter=_names)
    tool_choice: JsonObject | None = field(default=None, converter=tool_choice, eq=strict_key)
    provider_options: JsonObject | None = field(default=None, converter=_options, eq=strict_key)
    experimental_context: JsonValue = field(default=None, converter=_context, eq=strict_key, repr=False)
    lasting_messages: Vector[Message] | None = field(default=None, converter=_lasting)
    response_format: JsonObject | None = field(default=None, converter=_format, eq=strict_key)
    model_settings: JsonObject | None = field(default=None, converter=_model_settings, eq=strict_key)

    @classmethod
    def from_result(cls, value: object) -> StepOverride:
        """Return the override that a hook's result stands for.

        Args:
            value: None, a mapping of some fields of an override, or an override. In a mapping,
                `system_messages` is another name of `system`, `structured_output` of `response_format`, and
                the model may be the model itself.

        Returns:
            The override; without fields for None.

        Raises:
            InvalidOverrideError: for anything else (Difference.OVERRIDES_CHECKED).
            ConflictingResultError: if a field stands there under both of its names.
        """
        if isinstance(value, StepOverride):
            return value
        if value is None:
            return NO_OVERRIDE
        if not isinstance(value, Mapping):
            raise InvalidOverrideError(
                "$", f"return None, a mapping or a StepOverride, not {type(value).__name__}"
            )
        given: dict[str, Any] = {}
        for name, content in value.items():
            if name not in OVERRIDE_NAMES:
                reason = f"no field of an override; the fields are {', '.join(OVERRIDE_NAMES)}"
                raise InvalidOverrideError(json_path("$", str(name)), reason)
            if content is not None and given.setdefault(OVERRIDE_NAMES[name], content) is not content:
                reason = (
                    f"the result has {OVERRIDE_NAMES[name]} as well, by its other name; return one of them"
                )
                raise ConflictingResultError(json_path("$", name), reason)
        if "model" in given:
            given["model"] = _model_id(given["model"])
        return cls(**given)

    def then(self, later: StepOverride) -> StepOverride:
        """Return both overrides as one: fields of the `later` one hold, options and settings are merged.

        Rules override.options-merged, override.settings-merged. A lasting edit also takes the place of what
        the earlier one had this step's own prompt made of.
        """
        if self is NO_OVERRIDE or later is NO_OVERRIDE:
            return later if self is NO_OVERRIDE else self
        changes = {name: value for name in _FIELDS if (value := getattr(later, name)) is not None}
        if later.lasting_messages is not None:
            changes["messages"] = later.messages
        return with_fields(
            self,
            **changes
            | {
                "provider_options": merge_provider_options(self.provider_options, later.provider_options),
                "model_settings": merge_settings(self.model_settings, later.model_settings),
            },
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that are there."""
        return FrozenList(name for name in _FIELDS if getattr(self, name) is not None)


def _model_id(value: object) -> str:
    """The id of a model, or the id that it is already."""
    if isinstance(value, str):
        return value
    name = getattr(value, "model_id", None)
    if isinstance(name, str) and all(callable(getattr(value, way, None)) for way in ("generate", "stream")):
        return name
    reason = (
        f"a {type(value).__name__} cannot be called as a model; return a model's id, or an object with "
        "model_id, generate and stream, as agentcore.agent.models.LanguageModel has them"
    )
    raise UnsupportedModelError("$.model", reason)  # processor.model-kind


_FIELDS: Final = tuple(attribute.name for attribute in attrs.fields(StepOverride))
OVERRIDE_NAMES: Final = {
    **{name: name for name in _FIELDS},
    "system_messages": "system",
    "structured_output": "response_format",
}
"""The fields that a hook may return, with those of an override that they are."""

NO_OVERRIDE: Final = StepOverride()
NO_USAGE: Final = Usage()


def merge_provider_options(base: JsonObject | None, override: JsonObject | None) -> JsonObject | None:
    """Merge two objects key by key at every depth; the override's value wins unless both are objects.

    Keys keep the base's order, new ones follow; what is not touched is shared (rule override.options-merged).
    """
    if base is None or override is None:
        return base if override is None else override
    merged: dict[str, object] = dict(base)
    pending: list[tuple[dict[str, object], JsonObject]] = [(merged, override)]
    while pending:  # a loop, because options may nest deeper than Python's stack
        target, changes = pending.pop()
        for key, value in changes.items():
            below = target.get(key)
            if isinstance(value, FrozenDict) and isinstance(below, FrozenDict):
                inner = dict(below)
                target[key] = inner
                pending.append((inner, value))
            else:
                target[key] = value
    return cast("JsonObject", freeze(merged))


def merge_settings(base: JsonObject | None, override: JsonObject | None) -> JsonObject | None:
    """Merge two objects key by key; the override's value wins (rule override.settings-merged)."""
    if base is None or override is None:
        return base if override is None else override
    return FrozenDict({**base, **override})


@sealed
@attrs.frozen(kw_only=True)
class ProcessorEdit:
    """The edit of one processor to a step, or to a run's input.

    Its system messages are all that there are after it. `ids` are those of its messages, or None where they
    follow from the messages themselves; `lasting_ids` are those of its lasting ones. `holds_history` is
    whether the model that it names holds the history on its side; None if it names none, or nobody knows.
    """

    processor_id: str
    override: StepOverride
    ids: Vector[str] | None = None
    lasting_ids: Vector[str] | None = None
    holds_history: bool | None = None


def _edits_of(value: object) -> tuple[ProcessorEdit, ...]:
    if type(value) is FrozenList and all(isinstance(each, ProcessorEdit) for each in value):
        return value
    one = isinstance(value, StepOverride | Mapping | ProcessorEdit)
    given = (value,) if one else cast("Iterable[object]", value)
    return FrozenList(_edit_of(index, each) for index, each in enumerate(given))


def _edit_of(index: int, value: object) -> ProcessorEdit:
    if isinstance(value, ProcessorEdit):
        return value
    return ProcessorEdit(processor_id=f"hook-{index}", override=StepOverride.from_result(value))


def merged(edits: Iterable[ProcessorEdit]) -> StepOverride:
    """Returns what the edits of a step come to together, in order."""
    override = NO_OVERRIDE
    for edit in edits:
        override = override.then(edit.override)
    return override


def _content(value: Iterable[ContentPart]) -> Vector[ContentPart]:
    return vector(value)


def _replies(value: Iterable[Message]) -> Vector[Message]:
    return vector(value)


@sealed
@attrs.frozen
class StepResults:
    """The results of a step: what its hooks returned, in order, and what its model and its tools produced.

    Args:
        edits: what each hook did, as records have it; or what hooks return (an override, a mapping of fields,
            None), one or several, which are taken as the edits of hooks named `hook-0`, `hook-1`, ...
        content: the parts of the step, in order.
        replies: the tool messages that came between the step before and this one (rule pending.reply).

    Raises:
        InvalidOverrideError: for what no hook may return, with the path of the field.
    """

    edits: tuple[ProcessorEdit, ...] = field(default=NO_ITEMS, converter=_edits_of)
    content: Vector[ContentPart] = field(factory=vector, converter=_content)
    replies: Vector[Message] = field(factory=vector, converter=_replies, kw_only=True)

    @property
    def override(self) -> StepOverride:
        """The edits as one override."""
        return merged(self.edits)


@sealed
@attrs.frozen(kw_only=True)
class StepRecord:
    """A finished step, as hooks, stop conditions and the caller see it.

    `messages` is the report: the whole response chain so far (Difference.REPORT_IS_THE_LOOPS_OWN).
    `step_input` is what the hooks got, `prompt` what the `model` got, `experimental_context` the step's.
    `override` is the result of all processors together, `edits` has that of each. `response_model` and
    `response_id` are the provider's names of the model and of its answer.

    `initial_messages` are those the run was given, `response_start` is how many messages the response chain
    had before the step; `agentcore.records.provenance` reads them. `replies_start` counts those before the
    answers to the step before; in step 0, all.
    """

    step_number: int
    model: str
    prompt: Vector[Message]
    content: Vector[ContentPart]
    messages: Vector[Message]
    finish_reason: str
    override: StepOverride = NO_OVERRIDE
    edits: tuple[ProcessorEdit, ...] = NO_ITEMS
    experimental_context: JsonValue = field(default=None, eq=strict_key, repr=False)
    usage: Usage = NO_USAGE
    response_model: str | None = None
    response_id: str | None = None
    provider_metadata: JsonObject | None = field(default=None, eq=strict_key)
    warnings: tuple[str, ...] = NO_ITEMS
    initial_messages: Vector[Message] = field(factory=vector, repr=False)
    step_input: Vector[Message] = field(factory=vector, repr=False)
    response_start: int = 0
    replies_start: int = 0
    # What `agentcore.records.origins` has made out about the prompt, kept from its first use on.
    _traced: object = field(default=None, init=False, eq=False, repr=False)

    @property
    def results(self) -> StepResults:
        """The results of the step; `agentcore.step` folded over those of all steps gives the run's chains."""
        return StepResults(self.edits, self.content, replies=self.replies)

    @property
    def replies(self) -> Vector[Message]:
        """The tool messages that came between the step before and this one."""
        return self.messages[self.replies_start : self.response_start]

    @property
    def new_messages(self) -> Vector[Message]:
        """The messages that this step added to the response chain."""
        return self.messages[self.response_start :]

    @property
    def text(self) -> str:
        """The text that the model wrote in this step."""
        return "".join(part.text for part in self.content if isinstance(part, GeneratedText))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that the model asked for in this step, in order."""
        return FrozenList(part for part in self.content if isinstance(part, ToolCall))


def total_usage(records: Iterable[StepRecord]) -> Usage:
    """Return the usage of the steps together."""
    return sum((record.usage for record in records), NO_USAGE)


# ---------------------------------------------------------------- while a hook runs


class handing:  # noqa: N801 - used as a function is: `with handing(...)`
    """Say, for as long as the `with` lasts, what a person's code was given.

    Args:
        hook: the hook's name, as errors have it.
        kind: how it may replace what it was given.
        step_number: the step, from 0; None before the steps.
        given: the value that was passed; places in errors begin there.
    """

    # A class, because one made of a generator costs as much as a short hook. The previous value is put back
    # rather than a token: an async generator may be closed in another context than it was begun in.
    __slots__ = ("_before", "_now")

    def __init__(self, hook: str, kind: HookKind, step_number: int | None, given: object) -> None:
        self._now = Handing(hook, kind, step_number, given)

    def __enter__(self) -> None:
        self._before = CURRENT.get()
        CURRENT.set(self._now)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        CURRENT.set(self._before)
