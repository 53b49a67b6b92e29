"""What is checked of the messages of a call, and what its history says of approvals; on cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from agentcore.frameworks.ai_sdk.emulation.calls import Calls, StepCalls
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.heap.heap import UNDEFINED, Ref, Store, Value
from agentcore.heap.js import (
    PackageError,
    elements,
    fields,
    get,
    is_array,
    is_nullish,
    is_object,
    iterated,
    or_else,
    text,
)
from agentcore.messages.schema import accepts, message_schema
from agentcore.messages.values import sealed

# ---------------------------------------------------------------- the messages of a call


def check_messages(store: Store, messages: Ref, *, newer: bool = False) -> None:
    """What `standardizePrompt` checks: a list that is not empty, of messages of the schema.

    Raises:
        PackageError: AI_InvalidPromptError.
    """
    plain = store.plain(messages)
    if not plain:
        raise PackageError("AI_InvalidPromptError", "Invalid prompt: messages must not be empty")
    if not accepts(message_schema(newer=newer), plain):
        raise PackageError(
            "AI_InvalidPromptError", "Invalid prompt: The messages do not match the ModelMessage[] schema."
        )


def check_roles(store: Store, messages: Value, allowed: Value) -> None:
    """What `standardizePrompt` checks of ai@7.0.173: some messages, and none of the system unless allowed.

    Raises:
        PackageError: AI_InvalidPromptError.
    """
    if get(store, messages, "length") == 0:
        raise PackageError("AI_InvalidPromptError", "Invalid prompt: messages must not be empty")
    if not allowed and any(
        get(store, message, "role") == "system" for message in elements(store, messages, "some")
    ):
        raise PackageError(
            "AI_InvalidPromptError", "Invalid prompt: system messages belong in the instructions"
        )


def check_roles_and_schema(store: Store, system: Value, messages: Ref, allowed: Value) -> None:
    """What `standardizePrompt` checks of ai@6.0.326, which reads the role of whatever stands in a list.

    Raises:
        PackageError: AI_InvalidPromptError.
        HeapTypeError: for a system prompt or a message that has no role to read.
    """
    if not isinstance(system, str) and any(
        get(store, message, "role") != "system"
        for message in (() if system is UNDEFINED else as_list(store, system))
    ):
        raise PackageError(
            "AI_InvalidPromptError", "Invalid prompt: system must be a string or system messages"
        )
    listed = elements(store, messages)
    if any(get(store, message, "role") == "system" for message in listed) and allowed is False:
        raise PackageError("AI_InvalidPromptError", "System messages are not allowed.")
    check_messages(store, messages, newer=True)


def check_system(store: Store, system: Value) -> None:
    """A system prompt is a string, a system message or a list of them.

    Raises:
        PackageError: AI_InvalidPromptError.
    """
    if is_nullish(system) or isinstance(system, str):
        return
    for message in as_list(store, system):
        if type(message) is not Ref or get(store, message, "role") != "system":
            raise PackageError(
                "AI_InvalidPromptError", "Invalid prompt: system must be a string or system messages"
            )


def as_list(store: Store, value: Value) -> tuple[Value, ...]:
    """The elements of an array, or what is no array as the only one."""
    return elements(store, value) if is_array(store, value) else (value,)


# ---------------------------------------------------------------- approvals in the history


@sealed
@attrs.frozen(kw_only=True)
class Approval:
    """An answered request: the request and the response part, and the call that they are about."""

    request: Ref
    response: Ref
    call: Ref


def collect_approvals(
    store: Store, messages: Value, *, once: bool = False, in_call_order: bool = False
) -> tuple[list[Approval], list[Approval]]:
    """The approved and the denied calls that a tool message at the end answers (claims C5, X14).

    `once`: each call is answered once. `in_call_order`: the approved ones come in the order of the calls.

    Raises:
        PackageError: for a response to no request, or a request of no call.
    """
    history = elements(store, messages)
    if not history or is_nullish(history[-1]) or get(store, history[-1], "role") != "tool":
        return [], []
    calls, requests = _asked(store, history)
    last = elements(store, get(store, history[-1], "content"))
    done = {
        get(store, part, "toolCallId"): part for part in last if get(store, part, "type") == "tool-result"
    }
    approved: list[Approval] = []
    denied: list[Approval] = []
    settled: set[Value] = set()
    for response in last:
        if get(store, response, "type") != "tool-approval-response":
            continue
        request = _asked_about(store, response, requests)
        call_id = get(store, request, "toolCallId")
        is_approved = bool(get(store, response, "approved"))
        again = call_id in done and in_call_order and not is_approved and _is_denial(store, done[call_id])
        if call_id in done and not again:
            continue
        if call_id not in calls:
            raise PackageError("AI_ToolCallNotFoundForApprovalError", f"no tool call {text(store, call_id)}")
        if again or (once and call_id in settled):
            continue
        settled.add(call_id)
        approval = Approval(request=request, response=response, call=calls[call_id])  # type: ignore[arg-type]
        (approved if is_approved else denied).append(approval)
    if in_call_order:
        order = {call_id: index for index, call_id in enumerate(calls)}
        approved.sort(key=lambda approval: order[get(store, approval.call, "toolCallId")])
    return approved, denied


def _asked(store: Store, history: Iterable[Value]) -> tuple[dict[Value, Ref], dict[Value, Ref]]:
    """The calls of a history by their id, in their order, and the requests by theirs; later ones win."""
    calls: dict[Value, Ref] = {}
    requests: dict[Value, Ref] = {}
    for message in history:
        content = get(store, message, "content")
        if get(store, message, "role") != "assistant" or isinstance(content, str):
            continue
        for part in iterated(store, content):
            kind = get(store, part, "type")
            if kind == "tool-call":
                call_id = get(store, part, "toolCallId")
                calls.pop(call_id, None)
                calls[call_id] = part  # type: ignore[assignment]
            elif kind == "tool-approval-request":
                requests[get(store, part, "approvalId")] = part  # type: ignore[assignment]
    return calls, requests


def _asked_about(store: Store, response: Value, requests: Mapping[Value, Ref]) -> Ref:
    """The request that a response is about."""
    approval_id = get(store, response, "approvalId")
    request = requests.get(approval_id)
    if request is None:
        reason = f"no request with approval id {text(store, approval_id)}"
        raise PackageError("AI_InvalidToolApprovalError", reason)
    return request


def _is_denial(store: Store, result: Value) -> bool:
    return get(store, get(store, result, "output"), "type") == "execution-denied"


def denied_result(store: Store, approval: Approval, *, with_approval_id: bool) -> Ref:
    """The tool result of a denied call; that of a provider's call may tell which approval it was."""
    output: dict[str, Value] = {
        "type": "execution-denied",
        "reason": get(store, approval.response, "reason"),
    }
    if with_approval_id and get(store, approval.call, "providerExecuted"):
        approval_id = get(store, approval.response, "approvalId")
        output["providerOptions"] = store.object({"openai": store.object({"approvalId": approval_id})})
    return store.object(
        {
            "type": "tool-result",
            "toolCallId": get(store, approval.call, "toolCallId"),
            "toolName": get(store, approval.call, "toolName"),
            "output": store.object(output),
        }
    )


def provider_responses(store: Store, approvals: Iterable[Approval]) -> Ref:
    """The tool message that hands the answers about its own calls to the provider."""
    parts = [
        store.object(
            {
                "type": "tool-approval-response",
                "approvalId": get(store, approval.response, "approvalId"),
                "approved": get(store, approval.response, "approved"),
                "reason": get(store, approval.response, "reason"),
                "providerExecuted": True,
            }
        )
        for approval in approvals
    ]
    return store.object({"role": "tool", "content": store.array(parts)})


def _is_equal(store: Store, one: Value, other: Value) -> bool:
    """Whether two values hold the same data, keys in any order (`isDeepEqualData`)."""
    if one is other or not (is_object(one) and is_object(other)):
        return isinstance(one, bool) == isinstance(other, bool) and one == other
    if is_array(store, one) != is_array(store, other):
        return False
    if is_array(store, one):
        pairs = [*zip(elements(store, one), elements(store, other), strict=False)]
        return len(elements(store, one)) == len(elements(store, other)) == len(pairs) and all(
            _is_equal(store, *pair) for pair in pairs
        )
    mine, others = fields(store, one), fields(store, other)
    return mine.keys() == others.keys() and all(_is_equal(store, mine[key], others[key]) for key in mine)


# What the history's answers to requests for approval come to before the first step.

# Of a call in the history; what the tools say now counts instead.
_TOLD_ANEW: Final = frozenset({"toolMetadata", "dynamic"})


class Approving:
    """Runs what was approved and records what was denied (claims C5, X14)."""

    def __init__(self, profile: AiSdkProfile, calls: Calls) -> None:
        self.profile = profile
        self.calls = calls
        self.store = calls.store

    def messages(self, step: StepCalls) -> list[Ref]:
        """The messages that the answers at the end of the history lead to; none if there are no answers.

        Raises:
            PackageError: for an answer to no request, or a request about no call.
        """
        store, profile = self.store, self.profile
        approved, denied = collect_approvals(
            store,
            step.messages,
            once=profile.approvals_settled_once,
            in_call_order=profile.approvals_in_call_order,
        )
        if not approved and not denied:
            return []
        again = [self._asked_again(each, step) for each in approved if not self._by_provider(each)]
        refusals = [(each, self._refusal(each, step)) for each in again]
        valid = [self._needed(each, step) for each, error in refusals if error is None]
        local = [each for each in valid if get(store, each.response, "approved")]
        denied = [*denied, *(each for each in valid if each not in local)]
        results = [self.calls.run(approval.call, step) for approval in local]
        refused = [a for a in denied if profile.denial_names_approval or not self._by_provider(a)]
        made = [self._result(result) for result in self._as_ready(results)]
        made += [self._tool_result(a.call, error, failed=True) for a, error in refusals if error]
        made += [
            denied_result(store, approval, with_approval_id=profile.denial_names_approval)
            for approval in refused
        ]
        messages = []
        if made or (profile.keeps_empty_results and local):
            messages.append(store.object({"role": "tool", "content": store.array(made)}))
        provider = [approval for approval in [*approved, *denied] if self._by_provider(approval)]
        if provider and profile.provider_answers:
            messages.insert(
                0 if profile.provider_answers_first else len(messages), provider_responses(store, provider)
            )
        return messages

    def _asked_again(self, approval: Approval, step: StepCalls) -> Approval:
        """The approval as it is carried out: of a copy of the call, for which the tool is asked again."""
        if not self.profile.approvals_asked_again:
            return approval
        own = {key: slot for key, slot in fields(self.store, approval.call).items() if key not in _TOLD_ANEW}
        call = self.store.derive(self.store.object(own), approval.call)
        kind, reason = self.calls.approval(call, step)
        response = approval.response
        if kind == "denied":
            reason = or_else(reason, get(self.store, response, "reason"))
            denied: dict[str, Value] = {"approved": False, "reason": reason}
            response = self.store.object({**fields(self.store, response), **denied})
        return attrs.evolve(approval, response=response, call=call)

    def _refusal(self, approval: Approval, step: StepCalls) -> Ref | None:
        """Why an approved call may not run with its input."""
        store, call = self.store, approval.call
        tool = self.calls.tool(step.tools, get(store, call, "toolName"))
        if not self.profile.approvals_validated or not self.calls.takes_input(tool):
            return None
        asked = fields(store, approval.request)
        given = get(store, call, "input")
        if "inputSchemaInput" not in asked or _is_equal(store, asked["inputSchemaInput"], given):
            return None
        return self.calls.unlike_input(call)

    def _needed(self, approval: Approval, step: StepCalls) -> Approval:
        """The approval as a denial, if its tool does not ask for approval any more."""
        store, response = self.store, approval.response
        if not self.profile.approvals_validated or self.calls.needs_approval(approval.call, step):
            return approval
        name = text(store, get(store, approval.call, "toolName"))
        reason = or_else(get(store, response, "reason"), f'Tool "{name}" does not require approval')
        denied: dict[str, Value] = {"approved": False, "reason": reason}
        return attrs.evolve(approval, response=store.object({**fields(store, response), **denied}))

    def _by_provider(self, approval: Approval) -> bool:
        return bool(get(self.store, approval.call, "providerExecuted"))

    def _as_ready(self, results: list[Ref | None]) -> list[Ref]:
        got = [result for result in results if result is not None]
        if self.profile.schedule is None and not self.profile.results_as_ready:
            return got
        return self.calls.as_ended(got)

    def _result(self, result: Ref) -> Ref:
        failed = get(self.store, result, "type") == "tool-error"
        return self._tool_result(
            result, get(self.store, result, "error" if failed else "output"), failed=failed
        )

    def _tool_result(self, of: Ref, output: Value, *, failed: bool) -> Ref:
        store = self.store
        return store.object(
            {
                "type": "tool-result",
                "toolCallId": get(store, of, "toolCallId"),
                "toolName": get(store, of, "toolName"),
                "output": self.calls.conversion.output(of, output, "text" if failed else "none"),
            }
        )
