"""The documented reminder hook, polluting and corrected, in all modes.

The hook is the one of the source document "prepareStep Semantics": it wants the model to read a reminder at
every step, for that step only. Here it runs on the immutable core and under both paths of AI SDK 6 and 7.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from agentcore.frameworks import ai_sdk
from agentcore.machine.effects import (
    Done,
    HookFailed,
    HookResult,
    ModelAnswer,
    Need,
    NeedModel,
    NeedPrepareStep,
    NeedTools,
    Outcome,
    Settings,
    ToolOutcomes,
    ToolSpec,
    ToolSucceeded,
)
from agentcore.machine.prepare import StepPreparation
from agentcore.machine.run import Failed, Interrupted, Run, give, need, start
from agentcore.messages.content import GeneratedText, ToolCall
from agentcore.messages.messages import Message, UserMessage
from agentcore.messages.values import thaw
from agentcore.messages.wire import message_to_wire, messages_from_wire

__all__ = [
    "MESSAGES",
    "MODES",
    "REMINDER",
    "Column",
    "Step",
    "Version",
    "message_lines",
    "verdict",
    "versions",
]

Json: TypeAlias = Mapping[str, Any]

REMINDER: Final = "[reminder] answer in one line"
MODES: Final = ("ai-sdk-6/stream", "ai-sdk-6/generate", "ai-sdk-7/stream", "ai-sdk-7/generate")
"""The profiles beside `immutable`."""

_WEATHER: Final = {"Rome": "sunny", "Oslo": "rain"}
_CALLS: Final = ("Rome", "Oslo")
MESSAGES: Final[tuple[Json, ...]] = ({"role": "user", "content": "what is the weather in Rome?"},)

# Where the last message is not the user's, so that the hook takes its other branch.
_AFTER_A_CALL: Final[tuple[Json, ...]] = (
    *MESSAGES,
    {
        "role": "assistant",
        "content": [
            {"type": "tool-call", "toolCallId": "c0", "toolName": "weather", "input": {"city": "Rome"}}
        ],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "c0",
                "toolName": "weather",
                "output": {"type": "text", "value": "sunny"},
            }
        ],
    },
)


# ---------------------------------------------------------------- the hook, in two versions and two languages


def polluting(step: Any) -> Any:
    """The documented anti-example, both of its branches."""
    messages = step["messages"]
    last = messages[-1]
    if last["role"] == "user":
        last["content"] += "\n" + REMINDER
    else:
        messages.append({"role": "user", "content": REMINDER})
    return {"messages": messages}


def corrected(step: Any) -> Any:
    """The documented correction: a new list with one more message."""
    reminder = {"role": "user", "content": REMINDER}
    return {"messages": [*step["messages"], reminder]}


def polluting_core(step: Any) -> Any:
    """The anti-example on the core's values, both of its branches."""
    messages = step.messages
    last = messages[-1]
    if last.role == "user":
        last.content += "\n" + REMINDER
    else:
        messages.append(UserMessage(REMINDER))
    return {"messages": messages}


def corrected_core(step: StepPreparation) -> Any:
    """The correction on the core's values."""
    return {"messages": [*step.messages, UserMessage(REMINDER)]}


# ---------------------------------------------------------------- outcomes


@attrs.frozen
class Step:
    """One step, as plain JSON: what its hook was shown, and what the model read, None if it was not asked."""

    shown: tuple[Json, ...]
    prompt: tuple[Json, ...] | None = None


@attrs.frozen(kw_only=True)
class Column:
    """One run of the hook: its mode, first messages and steps, how it ended, what was written in place."""

    mode: str
    start: tuple[Json, ...] = MESSAGES
    steps: tuple[Step, ...]
    error: str | None
    pollution: tuple[ai_sdk.Finding, ...] = ()
    run: Run | ai_sdk.CompatRun = attrs.field(eq=False, repr=False)

    @property
    def reminders(self) -> tuple[int, ...]:
        """How many reminders the model read in each step in which it was asked."""
        return tuple(
            json.dumps(step.prompt).count(REMINDER) for step in self.steps if step.prompt is not None
        )

    @property
    def kept_by_caller(self) -> bool:
        """Whether what was written in place is in the caller's messages after the run."""
        return any("caller" in finding.paths for finding in self.pollution)

    @property
    def added(self) -> int:
        """How many messages with nothing but the reminder the hook added before the last step."""
        return sum(_reminders_in(step.prompt or ()) - _reminders_in(step.shown) for step in self.steps[:-1])

    @property
    def carried(self) -> int:
        """How many of those the last step's hook was shown."""
        return _reminders_in(self.steps[-1].shown)


def _reminders_in(messages: Iterable[Json]) -> int:
    return sum(message_lines(message) == (REMINDER,) for message in messages)


def message_lines(message: Json) -> tuple[str, ...]:
    """What a message says, in lines."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return tuple(line for part in parts for line in _part(part).split("\n"))


def _part(part: Json) -> str:
    match part["type"]:
        case "text":
            return str(part["text"])
        case "tool-call":
            return f"calls {part['toolName']}({part['input']['city']})"
        case _:
            return f"gets {part['output']['value']}"


@attrs.frozen(kw_only=True)
class Version:
    """One version of the hook in all modes; `hook` and `core_hook` are the functions that ran."""

    title: str
    hook: Callable[[Any], Any]
    core_hook: Callable[[Any], Any]
    columns: tuple[Column, ...]


def versions() -> tuple[Version, ...]:
    """Runs both versions in all modes; the anti-example on the core from where it takes either branch."""
    return (
        _version("Written into the messages", polluting, polluting_core, (MESSAGES, _AFTER_A_CALL)),
        _version("Returned in a new list", corrected, corrected_core, (MESSAGES,)),
    )


def _version(
    title: str,
    hook: Callable[[Any], Any],
    core_hook: Callable[[Any], Any],
    starts: tuple[tuple[Json, ...], ...],
) -> Version:
    core = (_immutable(core_hook, messages) for messages in starts)
    compared = (_run_under(profile, hook) for profile in MODES)
    return Version(title=title, hook=hook, core_hook=core_hook, columns=(*core, *compared))


def verdict(columns: Sequence[Column]) -> str:
    """One sentence about what a version of the hook comes to in one mode.

    Args:
        columns: The runs of one version in one mode; several if they begin with different messages.

    Returns:
        A sentence that is made of what was seen: how many reminders were read, and where they are left.
    """
    if all(column.error is not None for column in columns):
        what = "both branches raise" if len(columns) > 1 else "the hook raises"
        return f"Refused: {what} before the model is asked; the errors say what to return instead."
    (column,) = columns
    after = "; ".join(_fate_of_reminders(column))
    if {*column.reminders} == {1} and not column.kept_by_caller:
        return f"Right: one reminder in each prompt; {after}."
    read = ", ".join(map(str, column.reminders))
    meant = ", ".join("1" for _ in column.reminders)
    return f"Wrong: {read} reminders in the prompts, not {meant}; {after}."


def _fate_of_reminders(column: Column) -> Iterator[str]:
    """What became of the reminders after their step."""
    if column.kept_by_caller:
        yield "one stays in the caller's own message"
    if column.carried:
        yield "added messages are carried into later steps"
    if column.carried < column.added:
        yield "added messages are gone at the next step"


# ---------------------------------------------------------------- compat


def _run_under(profile: str, hook: Callable[[Any], Any]) -> Column:
    shown: list[tuple[Json, ...]] = []
    prompts: list[tuple[Json, ...]] = []

    def shown_to(step: Any) -> Any:
        shown.append(tuple(step["messages"].thaw()))
        return hook(step)

    def answer(options: Any) -> list[dict[str, Any]]:
        prompts.append(tuple(options["prompt"].thaw()))
        return _answer(len(prompts) - 1)

    settings = ai_sdk.Settings(
        messages=MESSAGES,
        model=ai_sdk.Model(id="scripted", answer=answer),
        tools={"weather": ai_sdk.Tool(execute=lambda given, _: _WEATHER[given["city"]])},
        hooks=ai_sdk.Hooks(prepare_step=shown_to),
    )
    run = ai_sdk.run(profile, settings)
    error = None if run.error is None else str(run.error)
    return Column(mode=profile, steps=_steps(shown, prompts), error=error, pollution=run.pollution, run=run)


def _steps(shown: Sequence[tuple[Json, ...]], prompts: Sequence[tuple[Json, ...]]) -> tuple[Step, ...]:
    return tuple(
        Step(messages, prompts[number] if number < len(prompts) else None)
        for number, messages in enumerate(shown)
    )


def _answer(call: int) -> list[dict[str, Any]]:
    if call >= len(_CALLS):
        return [{"type": "text", "text": "sunny there, rain in Oslo"}]
    given = {"city": _CALLS[call]}
    return [{"type": "tool-call", "toolCallId": f"c{call}", "toolName": "weather", "input": given}]


# ---------------------------------------------------------------- the core


def _immutable(hook: Callable[[Any], Any], messages: tuple[Json, ...]) -> Column:
    shown: list[tuple[Json, ...]] = []
    prompts: list[tuple[Json, ...]] = []
    calls_before = len(messages) // 2
    run = start(Settings(model="scripted", tools=[ToolSpec("weather")]), messages_from_wire(list(messages)))
    while not isinstance(wanted := need(run), Done | Failed | Interrupted):
        if isinstance(wanted, NeedPrepareStep):
            shown.append(_plain(wanted.step.messages))
        if isinstance(wanted, NeedModel):
            prompts.append(_plain(wanted.prompt))
        run = give(run, _outcome(wanted, hook, calls_before + len(prompts) - 1))
    error = str(wanted.error) if isinstance(wanted, Failed) else None
    return Column(mode="immutable", start=messages, steps=_steps(shown, prompts), error=error, run=run)


def _plain(messages: Iterable[Message]) -> tuple[Json, ...]:
    return tuple(thaw(message_to_wire(message)) for message in messages)


def _weather(call: ToolCall) -> str:
    return _WEATHER[thaw(call.input)["city"]]


def _outcome(wanted: Need, hook: Callable[[Any], Any], call: int) -> Outcome:
    match wanted:
        case NeedPrepareStep(step=step):
            try:
                return HookResult(hook(step))
            except Exception as error:  # noqa: BLE001 - whatever a hook raises is the run's to deal with
                return HookFailed(error)
        case NeedModel():
            if call < len(_CALLS):
                return ModelAnswer(
                    [ToolCall(tool_call_id=f"c{call}", tool_name="weather", input={"city": _CALLS[call]})]
                )
            return ModelAnswer([GeneratedText("sunny there, rain in Oslo")])
        case NeedTools(calls=calls):
            return ToolOutcomes([ToolSucceeded(one.tool_call_id, _weather(one)) for one in calls])
        case _:
            return HookResult()
