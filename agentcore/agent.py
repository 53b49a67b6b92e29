"""Agents: a model, tools and hooks, and the calls that run them, on asyncio and trio.

Runs, messages and what hooks are shown are values; an agent is one too, so any number of runs may go on at
once. Everything that happens in a run is decided by `agentcore.run`; here it is only set up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Generic, TypeAlias, TypedDict, cast, overload

import attrs
from attrs import field

# From typing_extensions for its default: an `Agent` without output is an `Agent[None]`.
from typing_extensions import TypeVar, Unpack

from agentcore.driver import (
    AgentError,
    AgentResult,
    AgentStream,
    Call,
    NoObjectError,
    Parts,
    ResumeError,
    UnfinishedStreamError,
    UnknownModelError,
    streaming,
)
from agentcore.driver.errors import resumable
from agentcore.driver.fits import check_fits
from agentcore.driver.parts import (
    Checkpoint,
    OnChunk,
    OnFinish,
    OnStepFinish,
    OnStepStart,
    PrepareStep,
    awaited,
)
from agentcore.effects import Settings
from agentcore.errors import InvalidOverrideError
from agentcore.forms import SystemForm, system_prompt
from agentcore.hooks import tool_choice
from agentcore.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from agentcore.models.base import LanguageModel
from agentcore.observe import NO_SPANS, Observer, Spans, Timings
from agentcore.output import Output
from agentcore.processors import NamedProcessor, Processor, named_processors, with_prepare_step
from agentcore.prompt import SystemPrompt
from agentcore.run import Run, start
from agentcore.stop import StopCondition, step_count_is
from agentcore.tools import InvalidToolError, Tool
from agentcore.values import JsonObject, JsonValue, Vector, freeze, json_path, sealed, strict_key, vector

__all__ = [
    "Agent",
    "AgentError",
    "AgentResult",
    "AgentStream",
    "CallArguments",
    "CallOverrides",
    "NoObjectError",
    "OnStart",
    "PrepareCall",
    "Prompt",
    "ResumeError",
    "ResumeOverrides",
    "StartEvent",
    "UnfinishedStreamError",
    "UnknownModelError",
]

_T = TypeVar("_T", default=None)
_O = TypeVar("_O")

# Whether a run goes on is for `stop_when` to say. JSON readers take numbers up to this one as they are.
_NO_LIMIT: Final = 2**53 - 1
_DEFAULT_STEPS: Final = 20

Prompt: TypeAlias = str | Message | Iterable[Message]


# ---------------------------------------------------------------- what hooks of a call are told


@sealed
@attrs.frozen
class CallArguments:
    """What `prepare_call` is given: the agent as this call has it, overrides included, and the messages."""

    agent: Agent[Any]
    messages: Vector[Message]


@sealed
@attrs.frozen
class StartEvent:
    """What `on_start` is told: the settings of the run and the messages that it was given."""

    settings: Settings
    messages: Vector[Message]


PrepareCall: TypeAlias = Callable[
    [CallArguments], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None
]
"""Returns what this call has in place of the agent's own: any of its fields, and `messages`."""

OnStart: TypeAlias = Callable[[StartEvent], object]


# ---------------------------------------------------------------- fields of an agent


def _tools(value: Iterable[Tool[..., Any]]) -> tuple[Tool[..., Any], ...]:
    tools = tuple(value)
    names: set[str] = set()
    for each in cast("tuple[object, ...]", tools):
        if not isinstance(each, Tool):
            name = str(getattr(each, "__name__", each))
            raise InvalidToolError(name, "it is no tool; decorate the function with @tool")
        if each.name in names:
            raise InvalidToolError(each.name, "two tools have that name; models tell them apart by it")
        names.add(each.name)
    return tools


def _models(value: Iterable[LanguageModel]) -> tuple[LanguageModel, ...]:
    return tuple(value)


def _conditions(value: StopCondition | Iterable[StopCondition] | None) -> tuple[StopCondition, ...]:
    if value is None:
        return ()
    return (value,) if callable(value) else tuple(value)


def _names(value: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)


def _options(value: Mapping[str, object] | None) -> JsonObject | None:
    return cast("JsonObject | None", freeze(value, "$.provider_options"))


def _settings(value: Mapping[str, object] | None) -> JsonObject:
    return cast("JsonObject", freeze({} if value is None else value, "$.settings"))


def _context(value: object) -> JsonValue:
    return freeze(value, "$.experimental_context")


def _at_least(limit: int) -> Callable[[Any, attrs.Attribute[Any], float], None]:
    def check(_: Any, attribute: attrs.Attribute[Any], value: float) -> None:
        if value < limit:
            raise ValueError(f"{attribute.name} is {limit} or more, not {value}")

    return check


class ResumeOverrides(TypedDict, total=False):
    """What a call may have in place of the agent's own, also where a run goes on."""

    model: LanguageModel
    models: Iterable[LanguageModel]
    tools: Iterable[Tool[..., Any]]
    name: str | None
    input_processors: Iterable[Processor]
    prepare_step: PrepareStep | None
    stop_when: StopCondition | Iterable[StopCondition] | None
    on_step_start: OnStepStart | None
    on_step_finish: OnStepFinish | None
    on_finish: OnFinish | None
    on_chunk: OnChunk | None
    settings: Mapping[str, object] | None
    max_retries: int
    tool_concurrency: int
    slow_hook_seconds: float
    tracer: Any
    trace_content: bool


class CallOverrides(ResumeOverrides, total=False):
    """What a call may have in place of the agent's own; the rest of it is in the run when that goes on."""

    system: SystemForm | Iterable[SystemForm] | None
    prepare_call: PrepareCall | None
    on_start: OnStart | None
    tool_choice: str | Mapping[str, object] | None
    active_tools: Iterable[str] | None
    provider_options: Mapping[str, object] | None
    experimental_context: object


_OF_THE_RUN: Final = CallOverrides.__optional_keys__ - ResumeOverrides.__optional_keys__


@sealed
@attrs.frozen
class Agent(Generic[_T]):
    """A model with tools, instructions and hooks.

    Hooks are sync or async functions of one argument; a hook that raises fails the run, and nothing a hook
    does to its argument lasts, because all of it is values. `prepare_call` is asked once a call and may
    replace any field; `prepare_step` once a step, for that step. `input_processors` come before it at each
    step, and before the first step once (`agentcore.processors`); those of a call replace those of the agent
    (rule processor.call-replaces). `on_start`, `on_step_start`,
    `on_step_finish` and `on_finish` are told of both kinds of calls, `on_chunk` of streams only. `stop_when`
    are conditions of which one ends the run; without any, the model does.

    Sync tools run in threads, which cannot be stopped: a cancellation waits for the thread, unless the tool
    has a timeout; then the thread is left behind, and what it returns is dropped.

    `models` are those that `prepare_step` may name by their ids. `output` is what the text of the last step
    is read as. `tracer` is an OpenTelemetry tracer; its spans hold messages, instructions and what else
    processors change only with `trace_content`. `settings` are the model's (`temperature`,
    `max_output_tokens`, ...); they are in no saved run.

    Raises:
        InvalidToolError: for tools that are none, or two of one name.
        InvalidProcessorError: for processors that are none, or two of one id.
        InvalidOverrideError: for a tool choice that is none.
        InvalidPromptError: for instructions that are none.
        InvalidJsonError: for what is to be JSON and is none.
        ValueError: for a limit that is too small.
    """

    model: LanguageModel
    tools: tuple[Tool[..., Any], ...] = field(default=(), converter=_tools, kw_only=True)
    system: SystemPrompt | None = field(default=None, converter=system_prompt, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    models: tuple[LanguageModel, ...] = field(default=(), converter=_models, kw_only=True)
    prepare_call: PrepareCall | None = field(default=None, kw_only=True)
    input_processors: tuple[NamedProcessor, ...] = field(default=(), converter=named_processors, kw_only=True)
    prepare_step: PrepareStep | None = field(default=None, kw_only=True)
    stop_when: tuple[StopCondition, ...] = field(
        default=step_count_is(_DEFAULT_STEPS), converter=_conditions, kw_only=True
    )
    on_start: OnStart | None = field(default=None, kw_only=True)
    on_step_start: OnStepStart | None = field(default=None, kw_only=True)
    on_step_finish: OnStepFinish | None = field(default=None, kw_only=True)
    on_finish: OnFinish | None = field(default=None, kw_only=True)
    on_chunk: OnChunk | None = field(default=None, kw_only=True)
    tool_choice: JsonObject | None = field(default=None, converter=tool_choice, kw_only=True, eq=strict_key)
    active_tools: tuple[str, ...] | None = field(default=None, converter=_names, kw_only=True)
    provider_options: JsonObject | None = field(default=None, converter=_options, kw_only=True, eq=strict_key)
    # Not shown: providers may take headers here.
    settings: JsonObject = field(default=None, converter=_settings, kw_only=True, eq=strict_key, repr=False)
    experimental_context: JsonValue = field(
        default=None, converter=_context, kw_only=True, eq=strict_key, repr=False
    )
    output: Output[_T] | None = field(default=None, kw_only=True)
    max_retries: int = field(default=2, validator=_at_least(0), kw_only=True)
    tool_concurrency: int = field(default=8, validator=_at_least(1), kw_only=True)
    slow_hook_seconds: float = field(default=0.2, validator=_at_least(0), kw_only=True)
    tracer: Any = field(default=None, kw_only=True)
    trace_content: bool = field(default=False, kw_only=True)

    # ------------------------------------------------------------ calls

    @overload
    async def generate(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Iterable[Message] = (),
        checkpoint: Checkpoint | None = None,
        **overrides: Unpack[CallOverrides],
    ) -> AgentResult[_T]: ...
    @overload
    async def generate(
        self,
        prompt: Prompt | None = None,
        *,
        output: Output[_O],
        messages: Iterable[Message] = (),
        checkpoint: Checkpoint | None = None,
        **overrides: Unpack[CallOverrides],
    ) -> AgentResult[_O]: ...
    async def generate(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Iterable[Message] = (),
        checkpoint: Checkpoint | None = None,
        **overrides: Any,
    ) -> AgentResult[Any]:
        """Run to the end. The run begins with `messages`, then the prompt; `overrides` hold for this call.

        `checkpoint` is told of the run after every finished step: where the call is cancelled, that is where
        the run can be had from.

        Raises:
            AgentError: whatever failed, with the run as far as it has come.
            InvalidPromptError: for no messages, or for what is none; there is no run then.
            Exception: what `prepare_call` raised; there is no run then.
        """
        call = await _begun(attrs.evolve(self, **overrides), prompt, messages, checkpoint)
        return await call.result()

    @overload
    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Iterable[Message] = (),
        checkpoint: Checkpoint | None = None,
        **overrides: Unpack[CallOverrides],
    ) -> AbstractAsyncContextManager[AgentStream[_T]]: ...
    @overload
    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        output: Output[_O],
        messages: Iterable[Message] = (),
        checkpoint: Checkpoint | None = None,
        **overrides: Unpack[CallOverrides],
    ) -> AbstractAsyncContextManager[AgentStream[_O]]: ...
    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Iterable[Message] = (),
        checkpoint: Checkpoint | None = None,
        **overrides: Any,
    ) -> AbstractAsyncContextManager[AgentStream[Any]]:
        """The same run in events: `async with agent.stream(...) as stream: async for event in stream: ...`.

        Entering raises what `generate` raises where there is no run, iterating raises AgentError.
        """
        agent = attrs.evolve(self, **overrides)
        return streaming(lambda: _begun(agent, prompt, messages, checkpoint))

    async def resume(
        self, run: Run, *, checkpoint: Checkpoint | None = None, **overrides: Unpack[ResumeOverrides]
    ) -> AgentResult[_T]:
        """Go on with a run that failed, was cancelled or was saved, as `generate` does.

        What was pending is done again: a hook is called again, and so is a model or a tool that had not
        answered. Instructions, messages and what else a run keeps are those of the run; `prepare_call` and
        `on_start` are not called.

        Raises:
            AgentError: as `generate` does.
            ResumeError: if the agent's model or tools are not those of the run.
        """
        return await _resumed(self, run, checkpoint, overrides).result()

    def resume_stream(
        self, run: Run, *, checkpoint: Checkpoint | None = None, **overrides: Unpack[ResumeOverrides]
    ) -> AbstractAsyncContextManager[AgentStream[_T]]:
        """Go on with a run as `resume` does, in events."""

        async def begin() -> Call[_T]:
            return _resumed(self, run, checkpoint, overrides)

        return streaming(begin)


# ---------------------------------------------------------------- how a call begins


async def _begun(
    agent: Agent[Any], prompt: Prompt | None, messages: Iterable[Message], checkpoint: Checkpoint | None
) -> Call[Any]:
    agent, given, timings = await _prepared(agent, _joined(messages, prompt))
    settings = _run_settings(agent)
    return Call(
        start(settings, given),
        _parts(agent, checkpoint),
        Observer(agent.slow_hook_seconds, _spans(agent), timings),
        name=agent.name,
        output=agent.output,
        on_start=agent.on_start,
        start_event=StartEvent(settings, given),
    )


async def _prepared(
    agent: Agent[Any], messages: Vector[Message]
) -> tuple[Agent[Any], Vector[Message], Timings]:
    if agent.prepare_call is None:
        return agent, messages, Timings()
    observer = Observer(agent.slow_hook_seconds)
    with observer.hook("prepare_call", -1):
        result = await awaited(agent.prepare_call(CallArguments(agent, messages)))
    replaced = _checked_fields(result)
    given = vector(replaced.pop("messages", messages))
    return attrs.evolve(agent, **replaced), given, observer.timings


def _resumed(
    agent: Agent[_T], run: Run, checkpoint: Checkpoint | None, overrides: ResumeOverrides
) -> Call[_T]:
    refused = sorted(set(overrides) - ResumeOverrides.__optional_keys__)
    if refused:
        raise ResumeError(
            f"a run that goes on has its own {', '.join(refused)}; start another to change that"
        )
    agent = attrs.evolve(agent, **overrides)
    run, parts = resumable(run), _parts(agent, checkpoint)
    check_fits(parts, run)
    return Call(
        run,
        parts,
        Observer(agent.slow_hook_seconds, _spans(agent)),
        name=agent.name,
        output=agent.output,
    )


def _run_settings(agent: Agent[Any]) -> Settings:
    return Settings(
        model=agent.model.model_id,
        system=agent.system,
        tools=[tool.spec for tool in agent.tools] or None,
        tool_choice=agent.tool_choice,
        active_tools=agent.active_tools,
        provider_options=agent.provider_options,
        experimental_context=agent.experimental_context,
        max_steps=_NO_LIMIT,
        process_input=any(each.process_input is not None for each in agent.input_processors),
    )


def _parts(agent: Agent[Any], checkpoint: Checkpoint | None) -> Parts:
    return Parts(
        model=agent.model,
        models=agent.models,
        tools=agent.tools,
        processors=with_prepare_step(agent.input_processors, agent.prepare_step),
        stop_when=agent.stop_when,
        on_step_start=agent.on_step_start,
        on_step_finish=agent.on_step_finish,
        on_finish=agent.on_finish,
        on_chunk=agent.on_chunk,
        checkpoint=checkpoint,
        settings=agent.settings,
        response_format=None if agent.output is None else agent.output.response_format,
        max_retries=agent.max_retries,
        tool_concurrency=agent.tool_concurrency,
    )


_FIELDS: Final = (
    "messages",
    *(attribute.name for attribute in attrs.fields(Agent) if attribute.name != "prepare_call"),
)


def _checked_fields(result: object) -> dict[str, Any]:
    if result is None:
        return {}
    if not isinstance(result, Mapping):
        raise InvalidOverrideError(
            "$", f"prepare_call returns None or a mapping, not {type(result).__name__}"
        )
    for name in result:
        if name not in _FIELDS:
            reason = f"nothing that prepare_call may replace; that is {', '.join(_FIELDS)}"
            raise InvalidOverrideError(json_path("$", str(name)), reason)
    return dict(result)


def _joined(messages: Iterable[Message], prompt: Prompt | None) -> Vector[Message]:
    if prompt is None:
        return vector(messages)
    if isinstance(prompt, str):
        prompt = UserMessage(prompt)
    return vector((*messages, prompt) if isinstance(prompt, _MESSAGES) else (*messages, *prompt))


_MESSAGES: Final = (SystemMessage, UserMessage, AssistantMessage, ToolMessage)


def _spans(agent: Agent[Any]) -> Spans:
    if agent.tracer is None:
        return NO_SPANS
    # Here, because the extra `otel` may not be installed.
    from agentcore.driver.spans import OpenTelemetrySpans  # noqa: PLC0415

    return OpenTelemetrySpans(agent.tracer, content=agent.trace_content)
