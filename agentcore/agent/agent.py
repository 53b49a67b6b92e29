"""Agents: a model, tools and hooks, and the calls that run them, on asyncio and trio.

Runs, messages and what hooks are shown are values; an agent is one too, so any number of runs may go on at
once. Everything that happens in a run is decided by `agentcore.machine.run`; here it is only set up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final, Generic, TypedDict, overload

import attrs
from attrs import field

# From typing_extensions for its default: an `Agent` without output is an `Agent[None]`.
from typing_extensions import TypeVar, Unpack

from agentcore.agent.call import (
    AgentError,
    AgentStream,
    Call,
    ClosedStreamError,
    ForeignCancellationError,
    InvalidAgentError,
    InvalidAnswerError,
    ResumeError,
    RunningLoopError,
    Streaming,
    UnfinishedStreamError,
    UnknownModelError,
)
from agentcore.agent.call.call import (
    CallArguments,
    OnStart,
    PrepareCall,
    Prompt,
    StartEvent,
    begun,
    blocked_on,
    resumed,
    state_of,
    turn_of,
)
from agentcore.agent.call.checks import (
    are_limits,
    at_least,
    conditions_of,
    is_flag,
    is_hook,
    is_model,
    is_output,
    middleware_of,
    models_of,
    names_of,
    options_of,
    settings_of,
    tools_of,
)
from agentcore.agent.call.config import (
    Checkpoint,
    OnChunk,
    OnFinish,
    OnStepFinish,
    OnStepStart,
    PrepareStep,
    StopCondition,
    UsageLimits,
    step_count_is,
)
from agentcore.agent.middleware import Middleware
from agentcore.agent.models.base import LanguageModel
from agentcore.agent.output import AgentResult, NoObjectError, Output
from agentcore.agent.tools import Tool
from agentcore.conversations.conversation import Conversation
from agentcore.machine.hooks import check_tool_names, tool_choice
from agentcore.machine.processors import NamedProcessor, Processor, State, named_processors
from agentcore.machine.run import Run
from agentcore.messages.chains import SystemForm, system_prompt
from agentcore.messages.converters import context
from agentcore.messages.messages import Message
from agentcore.messages.prompt import SystemPrompt
from agentcore.messages.values import JsonObject, JsonValue, sealed, strict_key

__all__ = [
    "Agent",
    "AgentError",
    "AgentResult",
    "AgentStream",
    "CallArguments",
    "CallOverrides",
    "ClosedStreamError",
    "ForeignCancellationError",
    "InvalidAgentError",
    "InvalidAnswerError",
    "NoObjectError",
    "OnStart",
    "PrepareCall",
    "Prompt",
    "ResumeError",
    "ResumeOverrides",
    "RunningLoopError",
    "StartEvent",
    "UnfinishedStreamError",
    "UnknownModelError",
]

_T = TypeVar("_T", default=None)
_O = TypeVar("_O")

_DEFAULT_STEPS: Final = 20

# ---------------------------------------------------------------- what a call may replace


class ResumeOverrides(TypedDict, total=False):
    """The fields of an agent that a call may replace, also if it goes on with a run."""

    model: LanguageModel
    models: Iterable[LanguageModel]
    tools: Iterable[object]
    middleware: Iterable[Middleware]
    name: str | None
    input_processors: Iterable[Processor]
    prepare_step: PrepareStep[Any] | None
    stop_when: StopCondition | Iterable[StopCondition] | None
    on_step_start: OnStepStart | None
    on_step_finish: OnStepFinish | None
    on_finish: OnFinish | None
    on_chunk: OnChunk | None
    settings: Mapping[str, object] | None
    output_retries: int
    usage_limits: UsageLimits | None
    max_retries: int
    tool_concurrency: int
    slow_hook_seconds: float
    tracer: Any
    trace_content: bool


class CallOverrides(ResumeOverrides, total=False):
    """The fields of an agent that a call may replace; a run that goes on has its own instead of these."""

    system: SystemForm | Iterable[SystemForm] | None
    prepare_call: PrepareCall[Any] | None
    on_start: OnStart[Any] | None
    tool_choice: str | Mapping[str, object] | None
    active_tools: Iterable[str] | None
    provider_options: Mapping[str, object] | None
    experimental_context: object
    validate_prompt: bool


@sealed
@attrs.frozen
class Agent(Generic[_T, State]):
    """A model with tools, instructions and hooks.

    Hooks are sync or async functions of one argument. A hook that raises fails the run. What a hook gets is
    read-only: it changes something by returning it.

    Sync tools run in threads, which cannot be stopped: a cancellation waits for the thread, unless the tool
    has a timeout; then the thread is left behind, and what it returns is dropped.

    Args:
        model: the model that is asked at each step.
        tools: tools, or functions of which `tool` makes them.
        middleware: handlers around models, tools and whole calls (`agentcore.agent.middleware`).
        system: the instructions.
        name: the agent's name, for traces and logs.
        models: other models, which `prepare_step` may choose by their ids.
        prepare_call: called once a call; it may replace any field for this call.
        input_processors: processors that run before `prepare_step` at each step, and once before the first
            step (`agentcore.machine.processors`); those of a call replace these (rule
            processor.call-replaces).
        prepare_step: called before each model call; what it returns holds for that step.
        stop_when: conditions, of which any one ends the run after a step, such as `step_count_is(5)` or
            `has_tool_call("submit")` of `agentcore.agent`; by default after 20 steps. None leaves it to the
            model, which ends the run by calling no tool.
        on_start: called once, before the first step.
        on_step_start: called when a step's prompt is made.
        on_step_finish: called after each step.
        on_finish: called after a run that has ended well.
        on_chunk: called for each event of a stream.
        tool_choice: `auto`, `none`, `required`, or `{"type": "tool", "toolName": ...}`.
        active_tools: the names of the tools that the model is offered; None for all.
        provider_options: JSON by provider, passed on to the model.
        settings: the model's settings, such as `temperature` and `max_output_tokens`; in no saved run.
        experimental_context: JSON for hooks and tools, kept with the run.
        output: what the text of the last step is read as, unless a hook asks for another one.
        output_retries: how many times in a run the agent rejects an answer that is not the output, and asks
            the model again with the reason.
        usage_limits: the most that a run may use.
        validate_prompt: whether a prompt that providers refuse fails the run before the model is asked: a
            result without its call, two calls of one id, a message without content
            (Difference.PROMPTS_VALIDATED). A run keeps this setting when it is saved or resumed.
        max_retries: how many times a failed model call is tried again.
        tool_concurrency: how many tools run at once.
        slow_hook_seconds: how long the hooks before a step's model call may take together, and any other
            hook alone, in seconds, before a warning is logged.
        tracer: an OpenTelemetry tracer.
        trace_content: whether its spans of middleware and processors have the content of messages and
            instructions.

    Raises:
        InvalidAgentError: for a model, a hook, a handler, a condition or options of a wrong type.
        InvalidToolError: for a value that is not a tool, or two tools of one name.
        InvalidProcessorError: for a value that is not a processor, or two of one id.
        InvalidOverrideError: for an invalid tool choice, and for the name of an unknown tool.
        InvalidPromptError: for invalid instructions.
        InvalidJsonError: for a value that must be JSON and is not.
        ValueError: for a limit that is too small.
    """

    model: LanguageModel = field(validator=is_model)
    tools: tuple[Tool[..., Any], ...] = field(default=(), converter=tools_of, kw_only=True)
    middleware: tuple[Middleware, ...] = field(default=(), converter=middleware_of, kw_only=True)
    system: SystemPrompt | None = field(default=None, converter=system_prompt, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    models: tuple[LanguageModel, ...] = field(default=(), converter=models_of, kw_only=True)
    prepare_call: PrepareCall[State] | None = field(default=None, validator=is_hook, kw_only=True)
    input_processors: tuple[NamedProcessor, ...] = field(default=(), converter=named_processors, kw_only=True)
    prepare_step: PrepareStep[State] | None = field(default=None, validator=is_hook, kw_only=True)
    stop_when: tuple[StopCondition, ...] = field(
        default=step_count_is(_DEFAULT_STEPS), converter=conditions_of, kw_only=True
    )
    on_start: OnStart[State] | None = field(default=None, validator=is_hook, kw_only=True)
    on_step_start: OnStepStart | None = field(default=None, validator=is_hook, kw_only=True)
    on_step_finish: OnStepFinish | None = field(default=None, validator=is_hook, kw_only=True)
    on_finish: OnFinish | None = field(default=None, validator=is_hook, kw_only=True)
    on_chunk: OnChunk | None = field(default=None, validator=is_hook, kw_only=True)
    tool_choice: JsonObject | None = field(default=None, converter=tool_choice, kw_only=True, eq=strict_key)
    active_tools: tuple[str, ...] | None = field(default=None, converter=names_of, kw_only=True)
    provider_options: JsonObject | None = field(
        default=None, converter=options_of, kw_only=True, eq=strict_key
    )
    # Not shown: providers may take headers here.
    settings: JsonObject = field(default=None, converter=settings_of, kw_only=True, eq=strict_key, repr=False)
    experimental_context: JsonValue = field(
        default=None, converter=context, kw_only=True, eq=strict_key, repr=False
    )
    output: Output[_T] | None = field(default=None, validator=is_output, kw_only=True)
    output_retries: int = field(default=0, validator=at_least(0), kw_only=True)
    usage_limits: UsageLimits | None = field(default=None, validator=are_limits, kw_only=True)
    validate_prompt: bool = field(default=True, validator=is_flag, kw_only=True)
    max_retries: int = field(default=2, validator=at_least(0), kw_only=True)
    tool_concurrency: int = field(default=8, validator=at_least(1), kw_only=True)
    slow_hook_seconds: float = field(default=0.2, validator=at_least(0), kw_only=True)
    tracer: Any = field(default=None, kw_only=True)
    trace_content: bool = field(default=False, kw_only=True)

    @active_tools.validator
    def _are_tools(self, _: attrs.Attribute[Any], value: tuple[str, ...] | None) -> None:
        check_tool_names((tool.name for tool in self.tools), value, self.tool_choice)

    # ------------------------------------------------------------ calls

    @overload
    async def generate(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Iterable[Message] = (),
        conversation: Conversation | None = None,
        checkpoint: Checkpoint | None = None,
        invocation_state: State | None = None,
        **overrides: Unpack[CallOverrides],
    ) -> AgentResult[_T, State]: ...
    @overload
    async def generate(
        self,
        prompt: Prompt | None = None,
        *,
        output: Output[_O],
        messages: Iterable[Message] = (),
        conversation: Conversation | None = None,
        checkpoint: Checkpoint | None = None,
        invocation_state: State | None = None,
        **overrides: Unpack[CallOverrides],
    ) -> AgentResult[_O, State]: ...
    async def generate(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Iterable[Message] = (),
        conversation: Conversation | None = None,
        checkpoint: Checkpoint | None = None,
        invocation_state: State | None = None,
        **overrides: Any,
    ) -> AgentResult[Any, State]:
        """Run to the end, and return the result.

        A run that waits for somebody ends with a result that says for what (`pending`): for an approval, for
        the answer to a question, or for the result of a call; `resume` goes on with it.

        Args:
            prompt: the user's words or parts, which become the last message; None if `messages` have it all.
            messages: the messages that the run begins with, before the prompt.
            conversation: what the run begins with, before both; the result's `conversation` is this one with
                one more turn. Pass `result.conversation` for the next turn.
            checkpoint: a function that gets the run after every finished step. If the call is cancelled, the
                run can be resumed from there.
            invocation_state: a dict that the call's hooks, tools and middleware share, this very object; by
                default an empty one. It is on the result, and in no saved run.
            overrides: fields of the agent that have other values for this call.

        Returns:
            The result: the answer's text, the output, the messages, usage, and what the run waits for.

        Raises:
            AgentError: if the run fails, for whatever reason; it has the run as far as it came.
            InvalidPromptError: if there is no message, or a value that is not one; there is no run then.
            Exception: what `prepare_call` raised; there is no run then.
        """
        state = state_of(invocation_state)
        agent = attrs.evolve(self, **overrides) if overrides else self
        call = await begun(agent, turn_of(conversation, messages, prompt), checkpoint, state)
        return await call.result()

    @overload
    def generate_sync(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Iterable[Message] = (),
        conversation: Conversation | None = None,
        checkpoint: Checkpoint | None = None,
        invocation_state: State | None = None,
        **overrides: Unpack[CallOverrides],
    ) -> AgentResult[_T, State]: ...
    @overload
    def generate_sync(
        self,
        prompt: Prompt | None = None,
        *,
        output: Output[_O],
        messages: Iterable[Message] = (),
        conversation: Conversation | None = None,
        checkpoint: Checkpoint | None = None,
        invocation_state: State | None = None,
        **overrides: Unpack[CallOverrides],
    ) -> AgentResult[_O, State]: ...
    def generate_sync(self, prompt: Prompt | None = None, **arguments: Any) -> AgentResult[Any, State]:
        """Run to the end as `generate` does, from code that is not async; on asyncio.

        Ctrl+C cancels the run and raises KeyboardInterrupt: `checkpoint` has been given the run after every
        step that had finished.

        Args:
            prompt: as for `generate`.
            arguments: the other arguments of `generate`.

        Returns:
            The result, as `generate` does.

        Raises:
            RunningLoopError: if an event loop runs in this thread, as in a notebook: await `generate` there.
            Exception: whatever `generate` raises.
        """
        return blocked_on(partial(self.generate, prompt, **arguments), "generate")

    @overload
    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Iterable[Message] = (),
        conversation: Conversation | None = None,
        checkpoint: Checkpoint | None = None,
        invocation_state: State | None = None,
        **overrides: Unpack[CallOverrides],
    ) -> AbstractAsyncContextManager[AgentStream[_T, State]]: ...
    @overload
    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        output: Output[_O],
        messages: Iterable[Message] = (),
        conversation: Conversation | None = None,
        checkpoint: Checkpoint | None = None,
        invocation_state: State | None = None,
        **overrides: Unpack[CallOverrides],
    ) -> AbstractAsyncContextManager[AgentStream[_O, State]]: ...
    def stream(
        self,
        prompt: Prompt | None = None,
        *,
        messages: Iterable[Message] = (),
        conversation: Conversation | None = None,
        checkpoint: Checkpoint | None = None,
        invocation_state: State | None = None,
        **overrides: Any,
    ) -> AbstractAsyncContextManager[AgentStream[Any, State]]:
        """Run as `generate` does, in events.

        `async with agent.stream("...") as stream:`, and inside of it `async for event in stream:`. The run is
        cancelled when the block is left before its end.

        Args:
            prompt: as for `generate`, as are all others.
            messages: the messages that the run begins with, before the prompt.
            conversation: what the run begins with, before both.
            checkpoint: a function that gets the run after every finished step.
            invocation_state: a dict that the call's hooks, tools and middleware share.
            overrides: fields of the agent that have other values for this call.

        Returns:
            A context manager, which begins the run and gives its AgentStream. Entering it raises what
            `generate` raises where there is no run; iterating over the stream raises AgentError.
        """
        agent = attrs.evolve(self, **overrides) if overrides else self
        state = state_of(invocation_state)
        return Streaming(lambda: begun(agent, turn_of(conversation, messages, prompt), checkpoint, state))

    async def resume(
        self,
        run: Run,
        *,
        answers: Mapping[str, object] | None = None,
        conversation: Conversation | None = None,
        checkpoint: Checkpoint | None = None,
        invocation_state: State | None = None,
        **overrides: Unpack[ResumeOverrides],
    ) -> AgentResult[_T, State]:
        """Go on with a run that failed, was cancelled, waits or was saved, as `generate` runs one.

        The need that was open is met again: a hook is called again, and so is a model or a tool that had not
        answered. Instructions, messages and what else a run keeps are those of the run; `prepare_call` and
        `on_start` are not called. A run that has ended and waits for nothing is its own result.

        Args:
            run: the run, such as `error.run`, `result.run`, or one that `load` read from a file.
            answers: an answer for each thing that the run waits for, by the ids in `result.pending`: True,
                False or `{"approved": bool, "reason": str}` for an approval, any JSON for a question or a
                call (`Pending`).
            conversation: that of the result that waits, or of the error, or the same one loaded from a store:
                what the run produces from here on is one more turn of it.
            checkpoint: a function that gets the run after every finished step.
            invocation_state: a dict that the call's hooks, tools and middleware share; no run is saved with
                its own.
            overrides: fields of the agent that have other values for this call (`ResumeOverrides`).

        Returns:
            The result, as `generate` does.

        Raises:
            AgentError: as `generate` does.
            ResumeError: if the agent's model or tools are not those of the run, or the run can only fail.
            AnswersError: for missing answers, answers of the wrong kind, and answers to what nobody asked.
            InvalidJsonError: for an answer that is not JSON.
            InvalidConversationError: if the conversation does not end with what the run has produced.
        """
        agent, state = self._overridden(overrides), state_of(invocation_state)
        call = resumed(
            agent, run, answers=answers, conversation=conversation, checkpoint=checkpoint, state=state
        )
        return await call.result()

    def resume_sync(
        self,
        run: Run,
        *,
        answers: Mapping[str, object] | None = None,
        conversation: Conversation | None = None,
        checkpoint: Checkpoint | None = None,
        invocation_state: State | None = None,
        **overrides: Unpack[ResumeOverrides],
    ) -> AgentResult[_T, State]:
        """Go on with a run as `resume` does, from code that is not async; on asyncio.

        Args:
            run: as for `resume`, as are all others.
            answers: an answer for each thing that the run waits for, by its id.
            conversation: the conversation that the run's messages go to.
            checkpoint: a function that gets the run after every finished step.
            invocation_state: a dict that the call's hooks, tools and middleware share.
            overrides: fields of the agent that have other values for this call.

        Returns:
            The result, as `resume` does.

        Raises:
            RunningLoopError: if an event loop runs in this thread, as in a notebook: await `resume` there.
            Exception: whatever `resume` raises.
        """
        resume = partial(
            self.resume,
            run,
            answers=answers,
            conversation=conversation,
            checkpoint=checkpoint,
            invocation_state=invocation_state,
            **overrides,
        )
        return blocked_on(resume, "resume")

    def resume_stream(
        self,
        run: Run,
        *,
        answers: Mapping[str, object] | None = None,
        conversation: Conversation | None = None,
        checkpoint: Checkpoint | None = None,
        invocation_state: State | None = None,
        **overrides: Unpack[ResumeOverrides],
    ) -> AbstractAsyncContextManager[AgentStream[_T, State]]:
        """Go on with a run as `resume` does, in events as `stream` gives them.

        Args:
            run: as for `resume`, as are all others.
            answers: an answer for each thing that the run waits for, by its id.
            conversation: the conversation that the run's messages go to.
            checkpoint: a function that gets the run after every finished step.
            invocation_state: a dict that the call's hooks, tools and middleware share.
            overrides: fields of the agent that have other values for this call.

        Returns:
            A context manager as `stream` returns one; entering it raises what `resume` raises.
        """

        async def begin() -> Call[_T]:
            agent, state = self._overridden(overrides), state_of(invocation_state)
            return resumed(
                agent, run, answers=answers, conversation=conversation, checkpoint=checkpoint, state=state
            )

        return Streaming(begin)

    def _overridden(self, overrides: ResumeOverrides) -> Agent[_T, State]:
        refused = sorted(set(overrides) - ResumeOverrides.__optional_keys__)
        if refused:
            raise ResumeError(
                f"a run that goes on has its own {', '.join(refused)}; start another to change that"
            )
        return attrs.evolve(self, **overrides)
