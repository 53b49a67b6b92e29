"""The documented reminder hook, polluting and corrected, in three modes side by side.

The hook is the one of the source document "prepareStep Semantics": it wants the model to see a reminder at
every step, for that step only. Here it runs on the immutable core and under both paths of AI SDK 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import attrs

from agentcore import compat
from agentcore.content import GeneratedText, ToolCall
from agentcore.effects import (
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
from agentcore.messages import Message, UserMessage
from agentcore.preparing import StepPreparation
from agentcore.run import Failed, Interrupted, give, need, start
from agentcore.values import thaw
from agentcore.wire import message_to_wire, messages_from_wire

REMINDER: Final = "[reminder] answer in one line"
MESSAGES: Final = ({"role": "user", "content": "what is the weather in Rome?"},)
_WEATHER: Final = {"Rome": "sunny", "Oslo": "rain"}
_CALLS: Final = ("Rome", "Oslo")


def polluting(step: Any) -> Any:
    """The documented anti-example: it writes into the last message if that is the user's."""
    last = step["messages"][-1]
    if last["role"] == "user":
        last["content"] += "\n" + REMINDER
    else:
        step["messages"].append({"role": "user", "content": REMINDER})
    return {"messages": step["messages"]}


def corrected(step: Any) -> Any:
    """The documented correction: a new list with one more message."""
    return {"messages": [*step["messages"], {"role": "user", "content": REMINDER}]}


def polluting_core(step: StepPreparation) -> Any:
    """The anti-example on the core's values."""
    last: Any = step.messages[-1]
    last.content += "\n" + REMINDER
    return {"messages": step.messages}


def corrected_core(step: StepPreparation) -> Any:
    """The correction on the core's values."""
    return {"messages": [*step.messages, UserMessage(REMINDER)]}


@attrs.frozen(kw_only=True)
class Column:
    """One mode: what the model saw at each step (plain JSON), how it ended, what was written in place."""

    mode: str
    prompts: tuple[tuple[Mapping[str, Any], ...], ...]
    error: str | None
    pollution: tuple[compat.Finding, ...] = ()


@attrs.frozen(kw_only=True)
class Version:
    """One version of the hook in all modes; `hook` is the function that ran under compat."""

    title: str
    hook: Callable[[Any], Any]
    columns: tuple[Column, ...]


def versions() -> tuple[Version, ...]:
    """Runs both versions in all modes."""
    return (
        _version("The reminder written into the message", polluting, polluting_core),
        _version("The reminder in a list that is returned", corrected, corrected_core),
    )


def _version(title: str, hook: Callable[[Any], Any], core_hook: Callable[[StepPreparation], Any]) -> Version:
    compared = (_under(profile, hook) for profile in ("ai-sdk-6/stream", "ai-sdk-6/generate"))
    return Version(title=title, hook=hook, columns=(_immutable(core_hook), *compared))


# ---------------------------------------------------------------- compat


def _under(profile: str, hook: Callable[[Any], Any]) -> Column:
    prompts: list[tuple[Mapping[str, Any], ...]] = []

    def answer(options: Any) -> list[dict[str, Any]]:
        prompts.append(tuple(options["prompt"].thaw()))
        return _answer(len(prompts) - 1)

    settings = compat.Settings(
        messages=MESSAGES,
        model=compat.Model(id="scripted", answer=answer),
        tools={"weather": compat.Tool(execute=lambda given, _: _WEATHER[given["city"]])},
        hooks=compat.Hooks(prepare_step=hook),
    )
    run = compat.run(profile, settings)
    error = None if run.error is None else str(run.error)
    return Column(mode=profile, prompts=tuple(prompts), error=error, pollution=run.pollution)


def _answer(call: int) -> list[dict[str, Any]]:
    if call >= len(_CALLS):
        return [{"type": "text", "text": "sunny there, rain in Oslo"}]
    given = {"city": _CALLS[call]}
    return [{"type": "tool-call", "toolCallId": f"c{call}", "toolName": "weather", "input": given}]


# ---------------------------------------------------------------- the core


def _immutable(hook: Callable[[StepPreparation], Any]) -> Column:
    prompts: list[Iterable[Message]] = []
    run = start(Settings(model="scripted", tools=[ToolSpec("weather")]), messages_from_wire(list(MESSAGES)))
    while not isinstance(wanted := need(run), Done | Failed | Interrupted):
        if isinstance(wanted, NeedModel):
            prompts.append(wanted.prompt)
        run = give(run, _outcome(wanted, hook, len(prompts) - 1))
    shown = tuple(tuple(thaw(message_to_wire(message)) for message in prompt) for prompt in prompts)
    error = str(wanted.error) if isinstance(wanted, Failed) else None
    return Column(mode="immutable", prompts=shown, error=error)


def _weather(call: ToolCall) -> str:
    return _WEATHER[thaw(call.input)["city"]]


def _outcome(wanted: Need, hook: Callable[[StepPreparation], Any], call: int) -> Outcome:
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
