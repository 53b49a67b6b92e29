"""One call of an agent, from its settings and its first hook to its result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, cast

import anyio
import attrs
from attrs import field
from typing_extensions import TypeVar

from agentcore.agent.call.config import (
    Cancellation,
    Checkpoint,
    Emit,
    Parts,
    cancellations,
    with_prepare_step,
)
from agentcore.agent.call.errors import (
    AgentError,
    ForeignCancellationError,
    ResumeError,
    RunningLoopError,
    resumable,
    signals,
    without_signals,
)
from agentcore.agent.call.loop import Driver, has_answered
from agentcore.agent.call.stages import Chain
from agentcore.agent.middleware import AgentStreamContext, AgentStreamStage, Handlers
from agentcore.agent.models.base import holds_history
from agentcore.agent.output import AgentResult
from agentcore.agent.telemetry import NO_SPANS, Observer, Spans, Timings
from agentcore.conversations.conversation import Conversation
from agentcore.conversations.open_turn import OpenTurn, first_turn_of, open_turn_of
from agentcore.errors import (
    AgentCoreError,
    AnswersError,
    InvalidOverrideError,
    MissingToolResultsError,
    RefusedPromptError,
    text_at_step,
)
from agentcore.machine.effects import Answered, Asked, Done, NeedProcessInput, Settings
from agentcore.machine.hooks import handing
from agentcore.machine.pending import Pending, pending_of
from agentcore.machine.processors import State, new_state
from agentcore.machine.run import Failed, Interrupted, Run, give, start
from agentcore.messages.content import ContentPart, GeneratedText, check_content
from agentcore.messages.interrupts import InterruptSignal
from agentcore.messages.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from agentcore.messages.values import JsonObject, Vector, json_path, sealed, vector
from agentcore.records.history import has_begun, one_step, replay

__all__ = [
    "Call",
    "CallArguments",
    "OnStart",
    "PrepareCall",
    "Prompt",
    "StartEvent",
    "begun",
    "blocked_on",
    "check_fits",
    "give_answers",
    "resumed",
    "state_of",
    "turn_of",
]

_T = TypeVar("_T", default=None)

_TASK: Final = "the task of the run"


class Call(Generic[_T]):
    """One call: a run, its driver, and what is made of its end."""

    def __init__(  # noqa: PLR0913 - what a call is made of
        self,
        run: Run,
        parts: Parts,
        observer: Observer,
        *,
        name: str | None,
        invocation_state: Any,
        on_start: Callable[[Run], object] | None = None,
        given_by: str | None = None,
        turn: OpenTurn | None = None,
    ) -> None:
        self._begins = run
        self._parts = parts
        self._observer = observer
        self._name = name
        self._invocation_state = invocation_state
        self._on_start = on_start
        # The hook that returned the messages that the run begins with.
        self._given_by = given_by
        self._turn = first_turn_of(run) if turn is None else turn
        self._handlers = parts.handlers_of(AgentStreamStage)
        self._cancellation = Cancellation()
        # Those of this call; a handler may let one of another agent's call through.
        self._errors: list[AgentError] = []
        self._driver = self._driver_of(run)

    def _driver_of(self, run: Run) -> Driver:
        return Driver(run, self._parts, self._observer, self._invocation_state, self._cancellation)

    @property
    def run(self) -> Run:
        """The run as far as it has come."""
        return self._driver.run

    @property
    def conversation(self) -> Conversation:
        """The conversation with the turn as far as the run has come."""
        return self._turn.after(resumable(self.run))

    @property
    def timings(self) -> Timings:
        """The times so far."""
        return self._observer.timings

    async def result(self, emit: Emit | None = None) -> AgentResult[_T, Any]:
        """Runs to the end.

        Raises:
            AgentError: if anything fails; it has the run as far as it has come.
            BaseException: what cancels the call, or ends the program.
        """
        await self._cancellation.begin()
        try:
            result = await self._observed(emit)
        except Exception as error:
            await self._cancellation.settle()
            # By identity: an AgentError of another agent that a tool or handler ran is the cause of this
            # call's failure and not the failure itself.
            if any(error is one for one in self._errors):
                raise
            raise AgentError(self.run, error, turn=self._turn) from error
        except cancellations() as error:
            failed = await self._cancellation.failure(error, "the call of the agent")
            raise AgentError(self.run, failed, turn=self._turn) from failed
        await self._cancellation.settle()
        return result

    async def broken_by(self, error: BaseException) -> AgentError:
        """Makes the failure of a call whose own task somebody has cancelled.

        Raises:
            BaseException: `error` itself if the call was cancelled by a scope around it.
        """
        await self._cancellation.failure(error, _TASK, own_task=True)
        return self.broken(error)

    def broken(self, error: BaseException | None = None) -> AgentError:
        """Makes the failure of a call whose own task has ended without a result."""
        failed = ForeignCancellationError(_TASK)
        failed.__cause__ = error
        return AgentError(self.run, failed, turn=self._turn)

    async def _observed(self, emit: Emit | None) -> AgentResult[_T, Any]:
        with self._observer.spans.run(self._name, self._parts.model) as span:
            try:
                if self._handlers is None:
                    return await self._driven(emit)
                return await self._through_handlers(self._handlers, emit)
            finally:
                span.record_end(self.run)

    async def _driven(self, emit: Emit | None) -> AgentResult[_T, Any]:
        await self._driver.started(self._on_start)
        return self._result_of(await self._driver.drive(emit))

    def _result_of(self, run: Run) -> AgentResult[_T, Any]:
        if isinstance(run.pending, Failed):
            raise self._failed(run, self._named(run, run.pending.error))
        asked = self._asked_format_of(run)
        return AgentResult(
            run=run,
            timings=self.timings,
            invocation_state=self._invocation_state,
            response_format=asked,
            objects=self._objects(run, asked),
            turn=self._turn,
        )

    def _failed(self, run: Run, error: Exception) -> AgentError:
        self._errors.append(AgentError(run, error, turn=self._turn))
        return self._errors[-1]

    def _named(self, run: Run, error: Exception) -> Exception:
        """The error, with the hook that returned the messages of the run, if they are at fault."""
        if self._given_by is None or not isinstance(error, (RefusedPromptError, MissingToolResultsError)):
            return error
        as_given = run.given is self._begins.given and not run.steps
        return error.by(self._given_by, None) if as_given and error.returned_by is None else error

    def _asked_format_of(self, run: Run) -> JsonObject | None:
        return self._parts.asked_format(run.steps[-1].override.response_format if run.steps else None)

    def _objects(self, run: Run, asked: JsonObject | None) -> tuple[_T, ...]:
        """The object of the run, or none (rule output.of-the-last-step)."""
        if isinstance(run.pending, Interrupted):
            return ()
        if (self._parts.output is not None or asked is not None) and not has_answered(run):
            return ()
        if asked is None:
            return cast("tuple[_T, ...]", (None,))
        try:
            return (cast("_T", self._driver.output_of(asked).parse(run.steps[-1].text)),)
        except Exception as error:
            raise self._failed(run, error) from error

    # ------------------------------------------------------------ the stage of the whole call

    async def _through_handlers(self, handlers: Handlers, emit: Emit | None) -> AgentResult[_T, Any]:
        begins = self._begins
        chain = Chain(
            AgentStreamStage,
            handlers,
            self._called,
            observer=self._observer,
            cancellation=self._cancellation,
        )
        context = AgentStreamContext(
            messages=begins.chains.initial,
            settings=begins.settings,
            resumed=has_begun(begins),
            invocation_state=self._invocation_state,
            answers=begins.answers,
            answered=self._answer_without_model,
        )
        try:
            result = await chain.result(context, emit)
        except BaseException as error:  # noqa: BLE001 - raised, or what is left of it
            asked = signals(error, InterruptSignal)
            if not asked:
                raise without_signals(error)  # noqa: B904 - it is that exception
            self._driver.run = give(resumable(self.run), Asked(signal.interrupt for signal in asked))
            return self._result_of(self.run)
        self._driver.run = result.run
        return attrs.evolve(
            result, timings=self.timings, invocation_state=self._invocation_state, turn=self._turn
        )

    async def _called(self, context: AgentStreamContext, emit: Emit | None) -> AgentResult[Any, Any]:
        self._driver = self._driver_of(self._begun_with(context))
        return await self._driven(emit)

    def _begun_with(self, context: AgentStreamContext) -> Run:
        begins = self._begins
        if has_begun(begins):  # stage.run-begins-once
            return begins
        if context.messages is begins.chains.initial and context.settings is begins.settings:
            return begins
        # What was asked and answered before it began is in its outcomes.
        return replay(context.settings, context.messages, begins.outcomes)

    def _answer_without_model(
        self, context: AgentStreamContext, content: Iterable[ContentPart] | str
    ) -> AgentResult[Any, Any]:
        parts = [GeneratedText(content)] if isinstance(content, str) else list(content)
        check_content(parts)
        return self._result_of(one_step(context.settings, context.messages, parts))


_R = TypeVar("_R")


# ---------------------------------------------------------------- calls from code that is not async


def blocked_on(call: Callable[[], Awaitable[_R]], name: str) -> _R:
    """Run the call to its end on an event loop of its own, of asyncio, and return what it returns.

    Context variables are those of the caller. Raises what the call raises, and KeyboardInterrupt once the
    call has been cancelled.

    Raises:
        RunningLoopError: if an event loop runs in this thread, which would stand still meanwhile.
    """
    if _runs_in_loop():
        raise RunningLoopError(name)
    return anyio.run(call)


def _runs_in_loop() -> bool:
    # anyio knows tasks of asyncio and of trio, and raises an error of its own or of sniffio, by its version;
    # a callback of asyncio's loop is in no task.
    for ask in (asyncio.get_running_loop, anyio.get_cancelled_exc_class):
        try:
            ask()
        except RuntimeError:
            continue
        return True
    return False


# How a call of an agent begins: its run, and the parts that drive it.

if TYPE_CHECKING:
    from agentcore.agent.agent import Agent


# Whether a run goes on is for `stop_when` to say. JSON readers take numbers up to this one as they are.
_NO_LIMIT: Final = 2**53 - 1

Prompt: TypeAlias = str | Message | Iterable[Message]


# ---------------------------------------------------------------- arguments of a call's hooks


@sealed
@attrs.frozen
class CallArguments(Generic[State]):
    """The argument of `prepare_call`: the agent with this call's overrides, and the messages.

    `invocation_state` is what all of the call share on purpose.
    """

    agent: Agent[Any, Any]
    messages: Vector[Message]
    invocation_state: State = field(factory=new_state, kw_only=True, eq=False, repr=False)


@sealed
@attrs.frozen
class StartEvent(Generic[State]):
    """The argument of `on_start`: the settings of the run and the messages that it begins with.

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
    agent: Agent[Any, Any], turn: OpenTurn, checkpoint: Checkpoint | None, state: Any
) -> Call[Any]:
    """A call of the agent that makes the turn, about to begin; `prepare_call` has been asked."""
    # Without a conversation the module of turns is not on the way of a call.
    messages = turn.prompt if turn.base is None else turn.messages
    agent, given, timings = await _prepared(agent, messages, state)
    given_by = None if given is messages else "prepare_call"
    return Call(
        start(_run_settings(agent), given),
        _parts(agent, checkpoint),
        Observer(agent.slow_hook_seconds, _spans(agent), timings),
        name=agent.name,
        invocation_state=state,
        on_start=_told_of_runs(agent.on_start, state),
        given_by=given_by,
        turn=attrs.evolve(turn, replaced_by=given_by or AgentStreamStage.name),
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
    # It names the field and the mend already; wrapping it would hide both.
    except AgentCoreError:
        raise
    except Exception as error:
        reason = f"this {type(value).__name__} cannot be the agent's {name}: {error}"
        raise InvalidOverrideError(json_path("$", name), reason) from error


def resumed(  # noqa: PLR0913 - what a call goes on with
    agent: Agent[_T, Any],
    run: Run,
    *,
    answers: Mapping[str, object] | None,
    conversation: Conversation | None,
    checkpoint: Checkpoint | None,
    state: Any,
) -> Call[_T]:
    """A call that goes on with the run. Raises ResumeError, AnswersError and InvalidConversationError."""
    run, parts = resumable(run), _parts(agent, checkpoint)
    check_fits(parts, run)
    turn = None if conversation is None else open_turn_of(conversation, run)
    return Call(
        give_answers(run, answers),
        parts,
        Observer(agent.slow_hook_seconds, _spans(agent)),
        name=agent.name,
        invocation_state=state,
        turn=turn,
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
        output=agent.output,
        output_retries=agent.output_retries,
        usage_limits=agent.usage_limits,
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
            reason = f"not a field that prepare_call may replace; those are {', '.join(replaceable)}"
            raise InvalidOverrideError(json_path("$", str(name)), reason)
    return dict(result)


def turn_of(
    conversation: Conversation | None, messages: Iterable[Message], prompt: Prompt | None
) -> OpenTurn:
    """The turn of a call that is given these; None: the first of a conversation."""
    return OpenTurn(base=conversation, prompt=_joined(messages, prompt))


def _joined(messages: Iterable[Message], prompt: Prompt | None) -> Vector[Message]:
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
        raise ResumeError(f"{reason}; pass the run's model as `model`")
    # Only what the run could not go on without: schemas and descriptions may change between versions of a
    # program.
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


def give_answers(run: Run, answers: Mapping[str, object] | None) -> Run:
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
