"""The things that a run waits for: approvals of calls, answers to questions, results of calls.

For the machine these are two things. A question stops a step in its middle, and whoever asked is called again
with the answer. An approval, and a call of a tool that somebody else runs, end the step, and what is answered
to them is a tool message. A person is given one list (`pending_of`) and answers it by id (`taken`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias, cast

import attrs
from attrs import field

from agentcore.errors import AnswersError
from agentcore.machine.effects import Done, NeedApprovals, NeedFinish, NeedStepFinish, NeedTools
from agentcore.machine.hooks import StepRecord
from agentcore.machine.state import Draft, Interrupted, Run, runnable_calls
from agentcore.messages.chains import Chains
from agentcore.messages.content import (
    ContentPart,
    ToolApprovalRequest,
    ToolCall,
    ToolError,
    ToolResult,
    result_output,
)
from agentcore.messages.converters import input_json, reason
from agentcore.messages.messages import ToolApprovalResponsePart, ToolMessage, ToolPart, ToolResultPart
from agentcore.messages.values import (
    FrozenDict,
    JsonObject,
    JsonValue,
    Vector,
    dump_json,
    frozen_list,
    json_path,
    sealed,
    strict_key,
    vector,
)
from agentcore.messages.wire import kind_of

__all__ = ["Pending", "PendingKind", "Taken", "left_after", "pending_of", "taken", "unanswered"]

PendingKind: TypeAlias = Literal["approval", "question", "call"]

_Unanswered: TypeAlias = ToolApprovalRequest | ToolCall
"""A request for approval, or a call whose result is for the caller of the run to give."""

# Of input and reasons in a text of one line.
_LONGEST: Final = 100


@sealed
@attrs.frozen(kw_only=True)
class Pending:
    """Something that a run waits for; `agent.resume(run, answers={id: ...})` answers it by its `id`.

    Its `kind` says what answers it:

    - `approval`: True, False, or `{"approved": bool, "reason": str}`; the model gets the reason of a denial.
    - `question`, asked by a tool or a handler (`Interrupt`), with a `name` and a `reason`: any JSON.
    - `call`, of a tool without a function, for the caller of the run to do: any JSON, the result of the call.

    `tool_name`, `input` and `tool_call_id` are those of the call; a question need not be about a call.
    `step_number` is None if a handler of the whole call asks.
    """

    kind: PendingKind
    id: str
    step_number: int | None
    tool_call_id: str | None = None
    tool_name: str | None = None
    input: JsonValue = field(default=None, converter=input_json, eq=strict_key)
    name: str | None = None
    reason: JsonValue = field(default=None, converter=reason, eq=strict_key)

    @property
    def text(self) -> str:
        """One line for a person; long input and long reasons are cut."""
        call = "" if self.tool_name is None else f"{self.tool_name}({_short(self.input)})"
        if self.kind == "approval":
            return f"may {call} run?"
        if self.kind == "call":
            return f"the result of {call}"
        about = "" if self.reason is None else f" {_short(self.reason)}"
        return f"{self.name}{about}" + (call and f", asked by {call}")


def _short(value: JsonValue) -> str:
    text = dump_json(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


# ---------------------------------------------------------------- what a run waits for


def pending_of(run: Run) -> tuple[Pending, ...]:
    """Return what the run waits for: its questions, then its approvals and calls in the order of the calls.

    Empty if the run can go on by itself or has ended. What shares an id is there once and has one answer.

    Args:
        run: a run at any moment.
    """
    found: dict[str, Pending] = {}
    for one in (*_questions(run), *_of_calls(run)):
        # `resume` takes one answer by id. Two entries of one id would ask a person twice for it.
        found.setdefault(one.id, one)
    return frozen_list(found.values())


def _questions(run: Run) -> Iterator[Pending]:
    if not isinstance(run.pending, Interrupted):
        return
    needed = run.pending.run.pending
    calls = needed.calls if isinstance(needed, NeedTools | NeedApprovals) else ()
    # Reversed: of calls that share an id the first one has it, as everywhere else.
    by_id: dict[str | None, ToolCall] = {call.tool_call_id: call for call in reversed(calls)}
    for asked in run.pending.interrupts:
        call = by_id.get(asked.tool_call_id)
        yield Pending(
            kind="question",
            id=asked.id,
            step_number=asked.step_number,
            tool_call_id=asked.tool_call_id,
            tool_name=None if call is None else call.tool_name,
            input=None if call is None else call.input,
            name=asked.name,
            reason=asked.reason,
        )


def _of_calls(run: Run) -> Iterator[Pending]:
    step_number = run.step_number if isinstance(run.current, Draft) else run.step_number - 1
    for one in _waited_for(run):
        call = one.tool_call if isinstance(one, ToolApprovalRequest) else one
        yield Pending(
            kind="call" if one is call else "approval",
            id=_id(one),
            step_number=step_number,
            tool_call_id=call.tool_call_id,
            tool_name=call.tool_name,
            input=call.input,
        )


def _id(one: _Unanswered) -> str:
    return one.approval_id if isinstance(one, ToolApprovalRequest) else one.tool_call_id


def _waited_for(run: Run) -> tuple[_Unanswered, ...]:
    if isinstance(run.pending, Interrupted):
        return unanswered(run.pending.run)
    return unanswered(run) if isinstance(run.pending, Done) else ()


# ---------------------------------------------------------------- calls without an answer


def unanswered(run: Run) -> tuple[_Unanswered, ...]:
    """Return the approvals and calls of the last step that are for a person, whether the run waits or not.

    Those of a step that is going on are known once its tools are about to run.
    """
    if run.reply is not None:
        return ()
    match run.pending, run.current:
        case NeedTools(), Draft() as step:
            runnable = runnable_calls(step.calls, step.requests, run.settings)
            return tuple(_unanswered((*step.content, *step.requests), runnable))
        case ((NeedStepFinish() | NeedFinish() | Done()), _):
            return left_after(run.steps, run.chains)
        case _:
            return ()


def left_after(steps: Vector[StepRecord], chains: Chains) -> tuple[_Unanswered, ...]:
    """Return the approvals and calls of the last finished step that no message after it answers."""
    if not steps:
        return ()
    after = chains.response[len(steps[-1].messages) :]
    replies = [part for message in after if isinstance(message, ToolMessage) for part in message.content]
    return tuple(_unanswered(steps[-1].content, (), replies))


def _unanswered(
    content: Iterable[ContentPart], runnable: Iterable[ToolCall], replies: Iterable[ToolPart] = ()
) -> Iterator[_Unanswered]:
    """The calls of a step without an output there or in the replies; of each its request, if that is open."""
    content, replies = tuple(content), tuple(replies)
    outputs = (part for part in (*content, *replies) if isinstance(part, _OUTPUTS))
    done = {(part.tool_call_id, part.tool_name) for part in (*outputs, *runnable)}
    responses = {part.approval_id for part in replies if isinstance(part, ToolApprovalResponsePart)}
    requests = {
        _key(part.tool_call): part for part in reversed(content) if isinstance(part, ToolApprovalRequest)
    }
    for call in content:
        if not isinstance(call, ToolCall) or call.invalid or _key(call) in done:
            continue
        request = requests.get(_key(call))
        if request is not None and request.approval_id not in responses:
            yield request
        # A provider's own call without a result is still under way there: nobody here can answer it.
        elif not call.provider_executed:
            yield call


_OUTPUTS: Final = (ToolResult, ToolError, ToolResultPart)


def _key(call: ToolCall) -> tuple[str, str]:
    # Calls of two tools may share an id.
    return call.tool_call_id, call.tool_name


# ---------------------------------------------------------------- answers


class Taken(NamedTuple):
    """Answers as a run takes them: those of questions by id, and the tool message of the others."""

    answers: JsonObject
    reply: ToolMessage | None


def taken(run: Run, answers: JsonObject) -> Taken:
    """Return what the answers come to, of which there is one for all that the run waits for.

    Raises:
        AnswersError: if one is missing, or answers nothing, or is not an answer to an approval.
    """
    questions = dict.fromkeys(one.id for one in _questions(run))
    waits = _waited_for(run)
    known = questions | dict.fromkeys(map(_id, waits))
    unknown = tuple(one for one in answers if one not in known)
    missing = tuple(one for one in known if one not in answers)
    approvals = {one.approval_id for one in waits if isinstance(one, ToolApprovalRequest)}
    wrong = tuple(fault for one in answers if one in approvals for fault in _faults(one, answers[one]))
    # All faults in one error: whoever builds a form for answers mends it in one round. A run that waits for
    # nothing refuses even no answers, or a lost state would go unseen.
    if unknown or missing or wrong or not known:
        raise AnswersError(unknown, missing, wrong)
    parts: list[ToolPart] = []
    for each in waits:
        part = _reply(each, answers[_id(each)])
        # Requests of one id are one request; calls of one id have a result each.
        if isinstance(each, ToolCall) or part not in parts:
            parts.append(part)
    reply = ToolMessage(vector(parts)) if parts else None
    return Taken(FrozenDict({one: answers[one] for one in questions}), reply)


_FORMS: Final = 'True, False or {"approved": True or False, "reason": a text}'


def _faults(approval_id: str, answer: JsonValue) -> Iterator[tuple[str, str]]:
    """Return the fault of an answer to an approval: its path, and what to give there."""
    path = json_path("$.answers", approval_id)
    if not isinstance(answer, Mapping):
        if not isinstance(answer, bool):
            yield path, f"an approval is answered by {_FORMS}, not {kind_of(answer)}"
        return
    for name in sorted(answer.keys() - {"approved", "reason"}):
        yield json_path(path, name), f"unknown key; give {_FORMS}"
    if not isinstance(answer.get("approved"), bool):
        yield json_path(path, "approved"), f"give True or False, not {_kind_of(answer, 'approved')}"
    if not isinstance(answer.get("reason"), str | None):
        yield json_path(path, "reason"), f"give a text, not {_kind_of(answer, 'reason')}"


def _kind_of(answer: Mapping[str, JsonValue], name: str) -> str:
    return kind_of(answer[name]) if name in answer else "nothing"


def _reply(one: _Unanswered, answer: JsonValue) -> ToolPart:
    if isinstance(one, ToolCall):
        result = ToolResult(tool_call_id=one.tool_call_id, tool_name=one.tool_name, output=answer)
        return ToolResultPart(one.tool_call_id, one.tool_name, output=result_output(result))
    given = answer if isinstance(answer, Mapping) else {"approved": answer}
    approved, reason = cast("bool", given["approved"]), cast("str | None", given.get("reason"))
    return ToolApprovalResponsePart(one.approval_id, approved=approved, reason=reason)
