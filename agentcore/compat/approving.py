"""What the history's answers to requests for approval come to before the first step."""

from __future__ import annotations

from agentcore.compat.calls import Calls, StepCalls
from agentcore.compat.convert import Approval, collect_approvals, denied_result, provider_responses
from agentcore.compat.heap import Ref
from agentcore.compat.js import get
from agentcore.compat.profiles import AiSdkProfile


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
        approved, denied = collect_approvals(store, step.messages)
        if not approved and not denied:
            return []
        local = [approval for approval in approved if not self._by_provider(approval)]
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
        if provider:
            messages.insert(
                0 if profile.provider_answers_first else len(messages), provider_responses(store, provider)
            )
        return messages

    def _by_provider(self, approval: Approval) -> bool:
        return bool(get(self.store, approval.call, "providerExecuted"))

    def _as_ready(self, results: list[Ref | None]) -> list[Ref]:
        got = [result for result in results if result is not None]
        if self.profile.schedule is None:
            return got
        # All were started at once, and a tool that throws is ready before one that returns.
        return sorted(got, key=lambda result: get(self.store, result, "type") != "tool-error")

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
