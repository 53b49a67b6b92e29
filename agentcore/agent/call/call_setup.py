"""How a call of an agent begins: its run, and the parts that drive it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias

import attrs
from attrs import field
from typing_extensions import TypeVar

from agentcore.agent.call.call import Call
from agentcore.agent.call.cancelling import Cancellation, cancellations
from agentcore.agent.call.config import Checkpoint, Parts, with_prepare_step
from agentcore.agent.call.errors import resumable
from agentcore.agent.models.base import holds_history
from agentcore.agent.telemetry import NO_SPANS, Observer, Spans, Timings
from agentcore.errors import AgentCoreError, InvalidOverrideError
from agentcore.machine.effects import Settings
from agentcore.machine.processors import State, new_state
from agentcore.machine.run import Run, start
from agentcore.messages.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from agentcore.messages.readonly import handing
from agentcore.messages.values import Vector, json_path, sealed, vector

if TYPE_CHECKING:
    from agentcore.agent.agent import Agent
from typing import cast

from agentcore.agent.call.errors import ResumeError
from agentcore.errors import AnswersError, text_at_step
from agentcore.machine.effects import Answered, Done, NeedProcessInput
from agentcore.machine.pending import Pending, pending_of
from agentcore.machine.run import Failed, give

__all__ = [
    "CallArguments",
    "OnStart",
    "PrepareCall",
    "Prompt",
    "StartEvent",
    "answered",
    "begun",
    "check_fits",
    "joined",
    "resumed",
    "state_of",
]

_T = TypeVar("_T", default=None)


# Whether a run goes on is for `stop_when` to say. JSON readers take numbers up to this one as they are.
_NO_LIMIT: Final = 2**53 - 1

Prompt: TypeAlias = str | Message | Iterable[Message]


# ---------------------------------------------------------------- what hooks of a call are told


@sealed
@attrs.frozen
class CallArguments(Generic[State]):
    """What `prepare_call` is given: the agent as this call has it, overrides included, and the messages.

    `invocation_state` is what all of the call share on purpose.
    """

    agent: Agent[Any, Any]
    messages: Vector[Message]
    invocation_state: State = field(factory=new_state, kw_only=True, eq=False, repr=False)


@sealed
@attrs.frozen
class StartEvent(Generic[State]):
    """What `on_start` is told: the settings of the run and the messages that it begins with.

    `invocation_state` is what all of the call share on purpose.
    """

    settings: Settings
    messages: Vector[Message]
    invocation_state: State = field(factory=new_state, kw_only=True, eq=False, repr=False)


PrepareCall: TypeAlias = Callable[
    [CallArguments[State]], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None
]
"""Returns what this call has in place of the agent's own: any of its fields, and `messages`."""

OnStart: TypeAlias = Callable[[StartEvent[State]], object]


# ---------------------------------------------------------------- how a call begins


async def begun(
    agent: Agent[Any, Any], messages: Vector[Message], checkpoint: Checkpoint | None, state: Any
) -> Call[Any]:
    """A call of the agent with these messages, about to begin; `prepare_call` has been asked."""
    agent, given, timings = await _prepared(agent, messages, state)
    return Call(
        start(_run_settings(agent), given),
        _parts(agent, checkpoint),
        Observer(agent.slow_hook_seconds, _spans(agent), timings),
        name=agent.name,
        output=agent.output,
        invocation_state=state,
        on_start=_told_of_runs(agent.on_start, state),
        given_by=None if given is messages else "prepare_call",
    )


def state_of(given: Any) -> Any:
    """Returns the invocation_state that was given, that very object, or a dict of the call's own."""
    return {} if given is None else given


def _told_of_runs(on_start: OnStart[Any] | None, state: Any) -> Callable[[Run], object] | None:
    if on_start is None:
        return None
    return lambda run: on_start(StartEvent(run.settings, run.chains.initial, invocation_state=state))


async def _prepared(
    agent: Agent[Any, Any], messages: Vector[Message], state: Any
) -> tuple[Agent[Any, Any], Vector[Message], Timings]:
    if agent.prepare_call is None:
        return agent, messages, Timings()
    observer = Observer(agent.slow_hook_seconds)
    cancellation = Cancellation()
    await cancellation.begin()
    try:
        arguments = CallArguments(agent, messages, invocation_state=state)
        watch = observer.hook("prepare_call", -1)
        with watch, handing("prepare_call", "processor", None, arguments):
            result = await watch.called(agent.prepare_call, arguments)
    except cancellations() as error:  # cancel.own-error
        raise await cancellation.failure(error, "hook 'prepare_call'") from error
    replaced = _checked_fields(result, agent)
    given = _listed(replaced.pop("messages", messages))
    for name, value in replaced.items():
        agent = _replaced(agent, name, value)
    return agent, given, observer.timings


def _listed(messages: object) -> Vector[Message]:
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise InvalidOverrideError("$.messages", f"expected messages, got {type(messages).__name__}")
    return vector(messages)


def _replaced(agent: Agent[Any], name: str, value: Any) -> Agent[Any]:
    try:
        return attrs.evolve(agent, **{name: value})
    except AgentCoreError:
        raise
    except Exception as error:
        reason = f"this {type(value).__name__} cannot be the agent's {name}: {error}"
        raise InvalidOverrideError(json_path("$", name), reason) from error


def resumed(
    agent: Agent[_T, Any],
    run: Run,
    *,
    answers: Mapping[str, object] | None,
    checkpoint: Checkpoint | None,
    state: Any,
) -> Call[_T]:
    """A call that goes on with the run. Raises ResumeError and AnswersError."""
    run, parts = resumable(run), _parts(agent, checkpoint)
    check_fits(parts, run)
    return Call(
        answered(run, answers),
        parts,
        Observer(agent.slow_hook_seconds, _spans(agent)),
        name=agent.name,
        output=agent.output,
        invocation_state=state,
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
        validate_prompt=agent.validate_prompt,
        holds_history=holds_history(agent.model),
    )


def _parts(agent: Agent[Any], checkpoint: Checkpoint | None) -> Parts:
    return Parts(
        model=agent.model,
        models=agent.models,
        tools=agent.tools,
        middleware=agent.middleware,
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


def _checked_fields(result: object, agent: Agent[Any]) -> dict[str, Any]:
    if result is None:
        return {}
    if not isinstance(result, Mapping):
        raise InvalidOverrideError(
            "$", f"prepare_call returns None or a mapping, not {type(result).__name__}"
        )
    fields = [attribute.name for attribute in attrs.fields(type(agent))]
    replaceable = ("messages", *(name for name in fields if name != "prepare_call"))
    for name in result:
        if name not in replaceable:
            reason = f"nothing that prepare_call may replace; that is {', '.join(replaceable)}"
            raise InvalidOverrideError(json_path("$", str(name)), reason)
    return dict(result)


def joined(messages: Iterable[Message], prompt: Prompt | None) -> Vector[Message]:
    """The messages, then the prompt."""
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
    from agentcore.agent.call.spans import OpenTelemetrySpans  # noqa: PLC0415

    return OpenTelemetrySpans(agent.tracer, content=agent.trace_content)


# ---------------------------------------------------------------- whether an agent can go on with a run


def check_fits(parts: Parts, run: Run) -> None:
    """Raises ResumeError, which says what to give, if these cannot do what the run was begun with."""
    settings = run.settings
    if settings.model != parts.model.model_id:
        reason = f"the run has model {settings.model!r}, the agent {parts.model.model_id!r}"
        raise ResumeError(f"{reason}; give it as `model`")
    executable = {tool.name: tool.execute is not None for tool in parts.tools}
    for spec in settings.tools or ():
        if executable.get(spec.name) is not spec.has_execute:
            kind = "can be executed" if spec.has_execute else "is executed by somebody else"
            raise ResumeError(f"the run has a tool {spec.name!r} that {kind}; give it in `tools`")
    if isinstance(run.pending, NeedProcessInput):
        _check_begins(parts, run)


def _check_begins(parts: Parts, run: Run) -> None:
    # What was to stop or change the input is not left out unseen.
    if run.settings.process_input and not parts.processes_input:
        raise ResumeError("the run has yet to process its input; give it its `input_processors`")
    if not run.settings.process_input:  # its messages failed it, and would again
        error = cast("Failed", start(run.settings, run.given).pending).error
        raise ResumeError(
            f"the run fails on its messages as often as it is resumed ({text_at_step(error)}); start another "
            "one with other messages: agent.generate(prompt, messages=...)"
        )


def answered(run: Run, answers: Mapping[str, object] | None) -> Run:
    """Return the run with the answers to all that it waits for; as it is if it does not wait.

    Raises:
        AnswersError: if the run waits for other answers, or for none; it says for which and what to do.
    """
    waits = pending_of(run)
    if not answers and not waits:
        return run
    try:
        return give(run, Answered({} if answers is None else answers))
    except AnswersError as error:
        note = _waiting_for(waits) if waits else _not_waiting(run)
        raise AnswersError(error.unknown, error.missing, error.wrong, note) from None


def _waiting_for(waits: tuple[Pending, ...]) -> str:
    return "the run waits for " + ", ".join(f"{one.id} ({one.text})" for one in waits)


def _not_waiting(run: Run) -> str:
    if isinstance(run.pending, Done):
        return (
            "the run is done and waits for nothing; begin another turn with "
            "agent.generate(prompt, messages=run.conversation)"
        )
    return "the run waits for nothing yet; resume it without answers"
