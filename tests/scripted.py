"""A driver of runs by a script, for tests: answers each need at once and keeps what was needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentcore.machine.effects import (
    ApprovalsNeeded,
    Done,
    HookResult,
    ModelAnswer,
    NeedApprovals,
    NeedModel,
    NeedTools,
    Outcome,
    Settings,
    ToolOutcomes,
    ToolSpec,
    ToolSucceeded,
)
from agentcore.machine.run import Failed, Run, give, need, start
from agentcore.messages.content import (
    ContentPart,
    ToolCall,
)
from agentcore.messages.messages import (
    Message,
    TextPart,
    UserMessage,
)

USER = UserMessage([TextPart("u")])
TOOL = ToolSpec("t")
SETTINGS = Settings(model="m", tools=[TOOL])
Hook = Callable[[Any], Outcome]


def call(call_id: str = "c", tool: str = "t", **fields: Any) -> ToolCall:
    return ToolCall(tool_call_id=call_id, tool_name=tool, input={"id": call_id}, **fields)


def run_tools(wanted: NeedTools) -> Outcome:
    return ToolOutcomes([ToolSucceeded(c.tool_call_id, f"did {c.tool_call_id}") for c in wanted.calls])


def drive(
    script: Iterable[Iterable[ContentPart]],
    hooks: Mapping[type, Hook] | None = None,
    settings: Settings = SETTINGS,
    messages: Iterable[Message] = (USER,),
) -> tuple[Run, list[Any]]:
    """Run to the end by a script, each need answered by its hook if it has one; the needs that there were."""
    answers = iter(script)
    defaults: dict[type, Hook] = {
        NeedModel: lambda _: ModelAnswer(next(answers)),
        NeedTools: run_tools,
        NeedApprovals: lambda _: ApprovalsNeeded([]),
    }
    hooks = {**defaults, **(hooks or {})}
    run = start(settings, messages)
    needs: list[Any] = []
    while not isinstance(need(run), (Done, Failed)):
        needs.append(need(run))
        run = give(run, hooks.get(type(need(run)), lambda _: HookResult())(need(run)))
    return run, needs


def of(kind: type, needs: list[Any]) -> list[Any]:
    return [wanted for wanted in needs if isinstance(wanted, kind)]


def failed(run: Run) -> Failed:
    assert isinstance(run.pending, Failed)
    return run.pending


def roles(messages: Iterable[Message]) -> list[str]:
    return [message.role for message in messages]


def returns(*results: object) -> Hook:
    """A hook that returns these, one a call, then nothing."""
    left = list(results)
    return lambda _: HookResult(left.pop(0) if left else None)
