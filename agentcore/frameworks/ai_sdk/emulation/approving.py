"""What the history's answers to requests for approval come to before the first step."""

from __future__ import annotations

from typing import Final

from agentcore.frameworks.ai_sdk.emulation.calls import Calls, StepCalls
from agentcore.frameworks.ai_sdk.emulation.history import (
    Approval,
    collect_approvals,
    denied_result,
    provider_responses,
)
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.heap.heap import Ref, Value
from agentcore.heap.js import fields, get, or_else

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
        approved, denied = collect_approvals(store, step.messages, once=profile.approvals_settled_once)
        if not approved and not denied:
            return []
        again = [self._asked_again(each, step) for each in approved if not self._by_provider(each)]
        local = [each for each in again if get(store, each.response, "approved")]
        denied = [*denied, *(each for each in again if each not in local)]
        results = [self.calls.run(approval.call, step) for approval in local]
        refused = [a for a in denied if profile.denial_names_approval or not self._by_provider(a)]
        made = [self._result(result) for result in self._as_ready(results)]
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
        return Approval(response=response, call=call)

    def _by_provider(self, approval: Approval) -> bool:
        return bool(get(self.store, approval.call, "providerExecuted"))

    def _as_ready(self, results: list[Ref | None]) -> list[Ref]:
        got = [result for result in results if result is not None]
        if self.profile.schedule is None and not self.profile.results_as_ready:
            return got
        return self.calls.as_ended(got)

    def _result(self, result: Ref) -> Ref:
        store = self.store
        failed = get(store, result, "type") == "tool-error"
        output = get(store, result, "error" if failed else "output")
        return store.object(
            {
                "type": "tool-result",
                "toolCallId": get(store, result, "toolCallId"),
                "toolName": get(store, result, "toolName"),
                "output": self.calls.conversion.output(result, output, "text" if failed else "none"),
            }
        )
