"""The messages of a call, on cells: what is checked of them, what they say of approvals, what they become.

What a message became in a prompt of the run is kept, so that it is read once and not at each step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import Any, Final

import attrs
import jsonschema_rs

from agentcore.frameworks.ai_sdk.emulation.calls import INHERITED, Calls, StepCalls
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile, PromptCheck
from agentcore.heap.cells import ref_to
from agentcore.heap.heap import UNDEFINED, Cell, DepthError, Ref, Store, Value, keyed
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
from agentcore.kit.program import accepts, message_schema, schema
from agentcore.messages.values import sealed

# ---------------------------------------------------------------- the messages of a call


def check_prompt(store: Store, checks: PromptCheck, system: Value, messages: Ref, allowed: Value) -> None:
    """Checks the messages of a call; `allowed` is whether there may be any of the system.

    Raises:
        PackageError: AI_InvalidPromptError.
        HeapTypeError: for what has no role to read.
    """
    if checks is PromptCheck.ROLES:
        check_roles(store, messages, allowed)
    elif checks is PromptCheck.SCHEMA:
        check_system(store, system)
        check_messages(store, messages)
    else:
        _check_roles_and_schema(store, system, messages, allowed)


def check_messages(store: Store, messages: Ref, *, newer: bool = False) -> None:
    """Checks as `standardizePrompt` does: the list is not empty, and its messages fit the schema.

    Raises:
        PackageError: AI_InvalidPromptError.
    """
    plain = store.plain(messages)
    if not plain:
        raise PackageError("AI_InvalidPromptError", "Invalid prompt: messages must not be empty")
    if not accepts(_newer_schema() if newer else message_schema(), plain):
        raise PackageError(
            "AI_InvalidPromptError", "Invalid prompt: The messages do not match the ModelMessage[] schema."
        )


def check_roles(store: Store, messages: Value, allowed: Value) -> None:
    """Checks as `standardizePrompt` of ai@7.0.173: some messages, no system message unless allowed.

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


def _check_roles_and_schema(store: Store, system: Value, messages: Ref, allowed: Value) -> None:
    """Checks as `standardizePrompt` of ai@6.0.326, which reads `role` of every element, message or not."""
    prompts = () if system is UNDEFINED or isinstance(system, str) else as_list(store, system)
    if any(get(store, message, "role") != "system" for message in prompts):
        raise PackageError("AI_InvalidPromptError", "Invalid prompt: system has to be a text or messages")
    has_system = any(get(store, each, "role") == "system" for each in elements(store, messages))
    if has_system and allowed is False:
        raise PackageError("AI_InvalidPromptError", "Invalid prompt: system messages are not allowed")
    check_messages(store, messages, newer=True)


_NEWER: Final = {"file-url": "mediaType", "tool-approval-request": "signature"}
"""Texts that the parts of newer messages may have, by the types of the parts."""


@cache
def _newer_schema() -> jsonschema_rs.Validator:
    def with_texts(node: dict[str, Any]) -> dict[str, Any]:
        kind = node.get("type")
        name = _NEWER.get(kind.get("const", "")) if isinstance(kind, dict) else None
        return node if name is None else {**node, name: {"type": "string"}}

    return jsonschema_rs.validator_for(
        json.loads(json.dumps(schema("model-message")), object_hook=with_texts)
    )


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
    store: Store,
    messages: Value,
    *,
    once: bool = False,
    in_call_order: bool = False,
    inherited: Collection[str] = (),
) -> tuple[list[Approval], list[Approval]]:
    """The approved and the denied calls that a tool message at the end answers (claims C5, X14).

    `once`: each call is answered once. `in_call_order`: the approved ones come in the order of the calls.
    `inherited` are ids under which a request and a result are found where there is none.

    Raises:
        PackageError: for a response to no request, or a request of no call.
    """
    history = elements(store, messages)
    if not history or is_nullish(history[-1]) or get(store, history[-1], "role") != "tool":
        return [], []
    calls, requests = _index_calls(store, history)
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
        request = _asked_about(store, response, requests, inherited)
        call_id = text(store, get(store, request, "toolCallId"))
        if call_id in inherited:
            continue
        is_approved = bool(get(store, response, "approved"))
        again = call_id in done and in_call_order and not is_approved and _is_denial(store, done[call_id])
        if call_id in done and not again:
            continue
        if call_id not in calls:
            raise PackageError("AI_ToolCallNotFoundForApprovalError", f"no tool call {call_id}")
        if again or (once and call_id in settled):
            continue
        settled.add(call_id)
        approval = Approval(request=request, response=response, call=calls[call_id])  # type: ignore[arg-type]
        (approved if is_approved else denied).append(approval)
    if in_call_order:
        order = {call_id: index for index, call_id in enumerate(calls)}
        approved.sort(key=lambda approval: order[get(store, approval.call, "toolCallId")])
    return approved, denied


def _index_calls(store: Store, history: Iterable[Value]) -> tuple[dict[Value, Ref], dict[Value, Ref]]:
    """Indexes a history's calls by their id, in their order, and its requests by theirs; later ones win."""
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


def _asked_about(
    store: Store, response: Value, requests: Mapping[Value, Ref], inherited: Collection[str]
) -> Ref:
    """The request that a response is about."""
    approval_id = get(store, response, "approvalId")
    request = requests.get(approval_id)
    if request is None and approval_id in inherited:
        return store.object({})  # what every object inherits has no field of a request
    if request is None:
        reason = f"no request with approval id {text(store, approval_id)}"
        raise PackageError("AI_InvalidToolApprovalError", reason)
    return request


def _is_denial(store: Store, result: Value) -> bool:
    return get(store, get(store, result, "output"), "type") == "execution-denied"


def denied_result(store: Store, approval: Approval, *, with_approval_id: bool) -> Ref:
    """The tool result of a denied call; that of a provider's call may name its approval."""
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
    """The tool message that gives the provider the answers about its own calls."""
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
    """True if two values hold the same data, keys in any order (`isDeepEqualData`)."""
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
            inherited=INHERITED if profile.inherited_names_found else (),
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
        validated = self.profile.approvals_validated or self.profile.approvals_asked_again
        if not validated or not self.calls.takes_input(tool):
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
        if self.profile.pace is None:
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


# ---------------------------------------------------------------- what they became in a prompt

# ai-sdk.unknown-fields-kept: what else a message has is not read.
FIELDS: Final = frozenset({"role", "content", "providerOptions"})
"""The fields of a message that its prompt is made of."""

_APPROVALS: Final = ("tool-approval-request", "tool-approval-response")


@attrs.define
class PromptMessage:
    """A message of a prompt that is being made; a list as its content has the parts, in new cells.

    `ids` are the calls that it opens or answers, if they are known, and `origins` those of its content and of
    itself.
    """

    role: Value
    content: Any
    options: Value
    sources: list[Value]
    ids: list[Value] | None = None
    origins: tuple[Any, Any] | None = None

    def join(self, later: PromptMessage) -> None:
        """Take in the parts of a message that follows."""
        self.content.extend(later.content)
        self.sources.extend(later.sources)
        self.ids = None if self.ids is None or later.ids is None else self.ids + later.ids
        self.origins = None

    def call_ids(self, store: Store) -> list[Value]:
        """The calls that it opens, or those that it answers."""
        return _call_ids(store, self) if self.ids is None else self.ids


def _call_ids(store: Store, message: PromptMessage) -> list[Value]:
    if message.role == "tool":
        kinds = ((part, get(store, part, "type")) for part in message.content)
        return [get(store, part, "toolCallId") for part, kind in kinds if kind == "tool-result"]
    return [
        get(store, part, "toolCallId")
        for part in message.content
        if get(store, part, "type") == "tool-call" and not get(store, part, "providerExecuted")
    ]


class Prompted:
    """Remembers how each message was converted for a prompt, so that an unchanged one is not converted again.

    A prompt is made of all messages at each step, and nearly all of them are what they were at the step
    before: each is read once, until something in it is written. What is made again are new cells all the
    same, of the same contents.
    """

    def __init__(self, store: Store, convert: Callable[[Value], PromptMessage]) -> None:
        # The addresses that the model reads itself; undefined stands for all.
        self.supported: Value = UNDEFINED
        self._store = store
        self._convert = convert
        self._known: dict[int, _Converted] = {}

    def known(self, message: Value) -> _Converted | None:
        """Returns the remembered conversion of a message, if nothing in the message was written since."""
        if type(message) is not Ref:
            return None
        known = self._known.get(message.address)
        return known if known and self._store.printed(message.address) is known.printed else None

    def message(self, message: Value, known: _Converted | None) -> PromptMessage:
        """A message of the prompt; `known` is what `known` gave for it."""
        if known is not None:
            return known.again(self._store, message)
        first = len(self._store.cells)
        made = self._convert(message)
        if type(message) is Ref:
            converted = _converted(self._store, message, made, first)
            if converted is not None:
                self._known[message.address] = converted
        return made


@attrs.frozen(kw_only=True)
class _Converted:
    """A message's conversion: the cells that were made for it, in order, and which cells each came from.

    `parts` are the places of the parts among these cells, if its content is a list of parts.
    """

    printed: Any
    message: PromptMessage
    parts: list[int] | None
    cells: list[Cell]
    origins: list[tuple[int, Any]]
    has_approvals: bool

    def again(self, store: Store, message: Value) -> PromptMessage:
        """The same in new cells."""
        first = len(store.cells)
        store.cells += self.cells
        for offset, origin in self.origins:
            store.origins[first + offset] = origin
        made = self.message
        content = made.content if self.parts is None else [ref_to(first + part) for part in self.parts]
        return PromptMessage(made.role, content, made.options, [message], made.ids, made.origins)


def _converted(store: Store, message: Ref, made: PromptMessage, first: int) -> _Converted | None:
    """Returns the part of a conversion to remember; None if it cannot be repeated from that alone."""
    cells, is_list = store.cells[first:], isinstance(made.content, list)
    parts = made.content if is_list else []
    is_flat = all(type(part) is Ref and part.address >= first for part in parts) and not any(
        type(slot) is Ref and slot.address >= first for cell in cells for _, slot in keyed(cell)
    )
    shown = _plain_message(store, message) if is_flat else None
    if shown is None:
        return None
    known = attrs.evolve(
        made,
        content=[] if is_list else made.content,
        ids=_call_ids(store, made) if is_list else [],
        origins=_origins(store, message) if store.watching else None,
    )
    origins = ((offset, store.origins.get(first + offset)) for offset in range(len(cells)))
    return _Converted(
        printed=shown,
        message=known,
        parts=[part.address - first for part in parts] if is_list else None,
        cells=cells,
        origins=[(offset, origin) for offset, origin in origins if origin is not None],
        # The package never looks for approvals in a system message.
        has_approvals=get(store, message, "role") != "system"
        and any(get(store, part, "type") in _APPROVALS for part in _inside(store, message)),
    )


def _origins(store: Store, message: Ref) -> tuple[Any, Any]:
    """Where the content and the message of a prompt come from, as `Store.derive` has it."""
    whole = ((message.address, FIELDS),)
    content = get(store, message, "content")
    return (*whole, *([(content.address, None)] if isinstance(content, Ref) else [])), whole


def _inside(store: Store, message: Ref) -> Iterable[Value]:
    """The parts of a message that has been converted."""
    content = get(store, message, "content")
    return elements(store, content) if is_array(store, content) else ()


def _plain_message(store: Store, message: Ref) -> Any:
    """Returns the message as in traces, kept by the store; None for one that holds itself, or is too deep."""
    try:
        store.plain(message)
    except DepthError:
        return None
    return store.printed(message.address)
