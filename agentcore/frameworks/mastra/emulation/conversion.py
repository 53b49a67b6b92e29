"""Converts stored messages to model messages, through the AI SDK's UI messages as the package does.

A part of a model message is a new cell; what it holds (arguments, outputs, provider options) is the stored
object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import attrs

from agentcore.frameworks.mastra.emulation.errors import MastraError
from agentcore.frameworks.mastra.emulation.forms import FORMAT, each_of, filled, has, starts_with, tool_name
from agentcore.frameworks.mastra.emulation.intake import of_core
from agentcore.frameworks.mastra.emulation.items import is_lost_search, merge_texts, split_ids
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.frameworks.mastra.emulation.ui import Sources, UiMessage, ui_message
from agentcore.heap.heap import UNDEFINED, HeapTypeError, Ref, Slot, Store, Value
from agentcore.heap.js import (
    PackageError,
    elements,
    error_text,
    fields,
    get,
    is_array,
    is_nullish,
    joined,
    or_else,
    spread,
    text,
)


@attrs.define
class ModelMessage:
    """A message as a model is shown it."""

    role: Value
    content: list[Slot] | str
    options: Value = UNDEFINED
    sources: Sources = ()

    def cell(self, store: Store) -> Ref:
        """The message as an object of the heap."""
        content = self.content if isinstance(self.content, str) else store.array(self.content)
        made = store.object({"role": self.role, "content": content, "providerOptions": self.options})
        for source, names in self.sources:
            store.derive(made, source, fields=names)
        return store.derive(made, content)


# ---------------------------------------------------------------- UI -> model


_ENDED: Final = ("output-available", "output-error")


def _is_call(store: Store, part: Slot) -> bool:
    return starts_with(store, get(store, part, "type"), "tool-")


def _is_dynamic(store: Store, part: Slot) -> bool:
    return get(store, part, "type") == "dynamic-tool"


def _is_by_provider(store: Store, part: Slot) -> bool:
    """True for a call whose tool the provider runs; that of a dynamic tool is run here whatever it says."""
    return not _is_dynamic(store, part) and get(store, part, "providerExecuted") is True


def _is_blank(store: Store, part: Slot, receiver: str) -> bool:
    if get(store, part, "type") != "text":
        return False
    told = get(store, part, "text")
    if not is_nullish(told) and not isinstance(told, str):
        raise HeapTypeError(f"{receiver}.text?.trim is not a function")
    return isinstance(told, str) and not told.strip()


def _fit(target: MessageList, message: UiMessage, *, for_prompt: bool, is_open: bool) -> list[Slot]:
    """The parts that a model can be shown; `is_open`: nothing came after the message yet."""
    store = target.store
    sanitizes = target.profile.sanitizes_prompts
    shown = [
        part
        for part in message.parts
        if not (sanitizes and _is_left_out(store, message, part))
        and _is_call_shown(target, part, for_prompt=for_prompt, is_open=is_open)
    ]
    merged = merge_texts(store, shown) if sanitizes else shown
    return [_unwrapped(target, part) if _has_output(store, part) else part for part in merged]


def _is_left_out(store: Store, message: UiMessage, part: Slot) -> bool:
    kind = get(store, part, "type")
    if kind == "error" or (isinstance(kind, str) and kind.startswith("data-")):
        return True
    return _is_blank(store, part, "p") and (
        message.role == "user" or not all(_is_blank(store, other, "part") for other in message.parts)
    )


def _is_call_shown(target: MessageList, part: Slot, *, for_prompt: bool, is_open: bool) -> bool:
    store = target.store
    if not _is_call(store, part):
        return True
    state = get(store, part, "state")
    if not for_prompt:
        return state != "input-streaming"
    if not target.profile.sanitizes_prompts:
        return state in _ENDED
    if is_lost_search(store, part, _name(store, part)):
        return False
    # The provider may still answer a call of the last message.
    is_pending = state == "input-available" and bool(get(store, part, "providerExecuted"))
    return state in _ENDED or (is_pending and is_open)


def _has_output(store: Store, part: Slot) -> bool:
    return _is_call(store, part) and get(store, part, "state") == "output-available"


def _last_open(target: MessageList, messages: list[UiMessage]) -> int:
    """The place of the last message shown of the assistant's, which no user's follows; -1 if none."""
    for place in reversed(range(len(messages))):
        message = messages[place]
        if message.role == "user":
            break
        is_shown = message.role == "assistant" and message.parts
        if is_shown and _fit(target, message, for_prompt=True, is_open=True):
            return place
    return -1


def _unwrapped(target: MessageList, part: Slot) -> Ref:
    store = target.store
    output = get(store, part, "output")
    if isinstance(output, Ref) and not is_array(store, output):
        in_parts = get(store, output, "type") == "content" and is_array(store, get(store, output, "value"))
        if has(store, output, "value") and not (in_parts and target.profile.sanitizes_prompts):
            output = get(store, output, "value")
    return store.derive(store.object({**fields(store, part), "output": output}), part)


def _in_steps(store: Store, parts: Iterable[Slot], *, calls_end: bool) -> list[list[Slot]]:
    """The parts between the marks of steps; `calls_end`: a call ends its step, but for other calls.

    A part of any other type is left out (rule mastra.own-parts-lost).
    """
    blocks: list[list[Slot]] = [[]]
    before: Slot = None
    for part in parts:
        kind = get(store, part, "type")
        if kind == "step-start":
            blocks.append([])
            before = None
            continue
        if calls_end and before is not None and _is_call(store, before) and _ends_step(store, before, part):
            blocks.append([])
        if _is_call(store, part) or kind in _SENT or starts_with(store, kind, "data-"):
            blocks[-1].append(part)  # of data nothing is sent, but the message that it makes
        before = part
    return [block for block in blocks if block]


_SENT: Final = ("text", "reasoning", "dynamic-tool")


def _ends_step(store: Store, call: Slot, part: Slot) -> bool:
    """True if what follows a call is no call, or one the provider ran and answered after one run here."""
    if not _is_call(store, part):
        return True
    by_provider = [bool(get(store, one, "providerExecuted")) for one in (call, part)]
    return by_provider == [False, True] and get(store, part, "state") in _ENDED


def model_messages(
    target: MessageList,
    messages: Iterable[UiMessage],
    *,
    for_prompt: bool = False,
    calls_end: bool = True,
) -> list[ModelMessage]:
    """UI messages as model messages; in a prompt a call without an answer is left out.

    `calls_end`: what comes after a call and is no call is in a message of its own, after the answers.

    Raises:
        PackageError: for a role that no model knows.
    """
    made: list[ModelMessage] = []
    options: list[Value] = []
    shown = list(messages)
    last = _last_open(target, shown) if for_prompt and target.profile.sanitizes_prompts else -1
    for place, message in enumerate(shown):
        is_open = place == last
        parts = _fit(target, message, for_prompt=for_prompt, is_open=is_open) if message.parts else []
        if not parts:
            continue
        produced = _produced(target, message.role, parts, calls_end=calls_end)
        if not target.profile.options_by_place:
            _give_options(reversed(produced), message)
        options.append(message.options)
        made += [attrs.evolve(one, sources=message.sources) for one in produced]
    if target.profile.options_by_place:
        for one, given in zip(made, options, strict=False):
            one.options = one.options if given is UNDEFINED else given
    return made


def _give_options(produced: Iterable[ModelMessage], message: UiMessage) -> None:
    if message.options is not UNDEFINED:
        for one in produced:
            if one.role == message.role:
                one.options = message.options
                break


def _produced(target: MessageList, role: Value, parts: list[Slot], *, calls_end: bool) -> list[ModelMessage]:
    store = target.store
    if role == "system":
        texts = [part for part in parts if get(store, part, "type") == "text"]
        options = spread(store, *(get(store, part, "providerMetadata") for part in texts))
        told = joined(store, [get(store, part, "text") for part in texts])
        return [ModelMessage("system", told, options if fields(store, options) else UNDEFINED)]
    if role == "user":
        return [
            ModelMessage(
                "user", [_text_part(store, part) for part in parts if get(store, part, "type") == "text"]
            )
        ]
    if role == "assistant":
        produced = []
        for block in _in_steps(store, parts, calls_end=calls_end):
            produced.append(ModelMessage("assistant", _assistant_parts(target, block)))
            calls = [
                part
                for part in block
                if (_is_call(store, part) or _is_dynamic(store, part)) and not _is_by_provider(store, part)
            ]
            if calls:
                answers = [_answer(target, part) for part in calls]
                produced.append(ModelMessage("tool", [one for one in answers if one is not None]))
        return produced
    raise PackageError("AI_MessageConversionError", f"Unsupported role: {text(store, role)}")


def _text_part(store: Store, part: Slot) -> Ref:
    options = get(store, part, "providerMetadata")
    made = {"type": "text", "text": get(store, part, "text"), "providerOptions": or_else(options, UNDEFINED)}
    return store.derive(store.object(made), part)


def _assistant_parts(target: MessageList, block: Iterable[Slot]) -> list[Slot]:
    store = target.store
    content: list[Slot] = []
    for part in block:
        kind = get(store, part, "type")
        if kind == "text":
            content.append(_text_part(store, part))
        elif kind == "reasoning":
            options = get(store, part, "providerMetadata")
            made = {"type": "reasoning", "text": get(store, part, "text"), "providerOptions": options}
            content.append(store.derive(store.object(made), part))
        elif kind == "dynamic-tool" or _is_call(store, part):
            if get(store, part, "state") != "input-streaming":
                content.append(_call(store, part))
            answer = _answer(target, part) if _is_by_provider(store, part) else None
            content += [] if answer is None else [answer]
    return content


def _name(store: Store, part: Slot) -> Value:
    if _is_dynamic(store, part):
        return get(store, part, "toolName")
    return text(store, get(store, part, "type")).partition("-")[2]


def _call(store: Store, part: Slot) -> Ref:
    made: dict[str, Value] = {
        "type": "tool-call",
        "toolCallId": get(store, part, "toolCallId"),
        "toolName": _name(store, part),
        "input": get(store, part, "input"),
        "providerExecuted": UNDEFINED if _is_dynamic(store, part) else get(store, part, "providerExecuted"),
        "providerOptions": or_else(get(store, part, "callProviderMetadata"), UNDEFINED),
    }
    return store.derive(store.object(made), part)


def _answer(target: MessageList, part: Slot) -> Ref | None:
    store = target.store
    state = get(store, part, "state")
    if state == "output-error":
        told = get(store, part, "errorText")
        output: dict[str, Value] = {"type": "error-text", "value": error_text(store, told)}
        if _is_by_provider(store, part):
            output = {"type": "error-json", "value": or_else(told, None)}
    elif state == "output-available":
        given = get(store, part, "output")
        output = {"type": "text" if isinstance(given, str) else "json", "value": or_else(given, None)}
    else:
        return None
    made: dict[str, Value] = {
        "type": "tool-result",
        "toolCallId": get(store, part, "toolCallId"),
        "toolName": _name(store, part),
        "output": store.object(output),
    }
    if target.profile.results_have_options:
        made["providerOptions"] = or_else(get(store, part, "callProviderMetadata"), UNDEFINED)
    return store.derive(store.object(made), part)


# ---------------------------------------------------------------- the list's messages


def of_all(target: MessageList, *, for_prompt: bool = False) -> list[ModelMessage]:
    """Converts the whole conversation to model messages, with the input of each call beside its answer."""
    there = filled(target.all())
    return _of_messages(target, there, there, for_prompt=for_prompt)


def of_source(target: MessageList, source: str) -> list[ModelMessage]:
    """Converts the messages of one source; an empty place anywhere in the list may fail this."""
    return _of_messages(target, target.of(source), target.all(), for_prompt=False)


def _of_messages(
    target: MessageList, messages: Iterable[Slot], looked_at: Iterable[Slot], *, for_prompt: bool
) -> list[ModelMessage]:
    store = target.store
    shown = [ui_message(target, one) for one in messages]
    made = model_messages(target, shown, for_prompt=for_prompt)
    _check_results(target, looked_at)
    for message in made:
        if isinstance(message.content, str):
            continue
        if target.profile.keys_name_items:
            message.content = [split_ids(store, part) for part in message.content]
        if message.role == "tool":
            message.content = [_with_input(target, part) for part in message.content]
    return _paired(store, made) if for_prompt and target.profile.sanitizes_prompts else made


def _results(target: MessageList, messages: Iterable[Slot]) -> Iterator[tuple[Slot, Value]]:
    """Yields the parts of messages that have a tool's result, with what the package keeps in each.

    Raises:
        HeapTypeError: if there is a message or a part that is null, or a place that is empty.
    """
    store = target.store
    for message in messages:
        content = get(store, message, "content")
        parts = UNDEFINED if is_nullish(content) else get(store, content, "parts")
        if not parts or get(store, content, "format") != FORMAT:
            continue
        for part in each_of(store, parts, "message.content.parts"):
            is_call = get(store, part, "type") == "tool-invocation"
            call = get(store, part, "toolInvocation") if is_call else UNDEFINED
            if not is_nullish(call) and get(store, call, "state") == "result":
                options = get(store, part, "providerMetadata")
                yield call, UNDEFINED if is_nullish(options) else get(store, options, "mastra")  # type: ignore[misc]


def _check_results(target: MessageList, messages: Iterable[Slot]) -> None:
    """The package goes over all results for media in the form of the Model Context Protocol.

    Raises:
        HeapTypeError: if there is a message or a part that is null, or a place that is empty.
        NotEmulatedError: for a result with media.
    """
    if not target.profile.keeps_outputs:
        return
    store = target.store
    for call, kept in _results(target, messages):
        result = get(store, call, "result")
        content = get(store, result, "content") if isinstance(result, Ref) else UNDEFINED
        listed = elements(store, content) if is_array(store, content) else ()
        if not (isinstance(kept, Ref) and has(store, kept, "modelOutput")) and any(
            isinstance(part, Ref)
            and get(store, part, "type") in ("image", "audio")
            and isinstance(get(store, part, "data"), str)
            for part in listed
        ):
            raise target.leave_out("a result with images or audio", "give JSON without such parts")


def _kept_outputs(target: MessageList) -> dict[Value, Value]:
    """The outputs that parts keep for the model, by the ids of their calls."""
    store = target.store
    found: dict[Value, Value] = {}
    for call, kept in _results(target, target.all()) if target.profile.keeps_outputs else ():
        output = get(store, kept, "modelOutput") if isinstance(kept, Ref) else UNDEFINED
        if not is_nullish(output):
            found[get(store, call, "toolCallId")] = output
    return found


def _with_input(target: MessageList, part: Slot) -> Slot:
    store = target.store
    given = target.known_args(get(store, part, "toolCallId"))
    return store.derive(store.object({**fields(store, part), "input": given}), part)


def _ids(store: Store, message: ModelMessage | None, kind: str) -> set[Value]:
    if message is None or isinstance(message.content, str):
        return set()
    return {get(store, part, "toolCallId") for part in message.content if get(store, part, "type") == kind}


def _paired(store: Store, messages: list[ModelMessage]) -> list[ModelMessage]:
    """Without calls that no answer follows and answers that no call precedes."""
    kept: list[ModelMessage] = []
    for index, message in enumerate(messages):
        before = messages[index - 1] if index else None
        after = messages[index + 1] if index + 1 < len(messages) else None
        content = message.content
        if message.role == "assistant":
            answered = _ids(store, after, "tool-result") if after and after.role == "tool" else set()
            content = [part for part in content if not _is_unanswered(store, part, answered)]
        elif message.role == "tool":
            asked = _ids(store, before, "tool-call") if before and before.role == "assistant" else set()
            content = [part for part in content if get(store, part, "toolCallId") in asked]
        if content or isinstance(content, str):
            kept.append(
                message if len(content) == len(message.content) else attrs.evolve(message, content=content)
            )
    return kept


def _is_unanswered(store: Store, part: Slot, answered: set[Value]) -> bool:
    is_call = get(store, part, "type") == "tool-call" and get(store, part, "providerExecuted") is not True
    return is_call and get(store, part, "toolCallId") not in answered


def system_prompt(target: MessageList) -> list[ModelMessage]:
    """The system messages as a model is shown them. Each is dated on the way, which the list remembers."""
    stored_forms = [of_core(target, message, "system") for message in target.all_system()]
    made = model_messages(target, [ui_message(target, message) for message in stored_forms])
    _check_results(target, target.all())
    return made


def model_prompt(target: MessageList) -> list[ModelMessage]:
    """System messages, and the conversation, as model messages.

    Raises:
        MastraError: if there is no conversation, and the package wants one.
    """
    systems = system_prompt(target)
    return _after_user(target, [*systems, *of_all(target, for_prompt=True)])


def _after_user(target: MessageList, shown: list[ModelMessage]) -> list[ModelMessage]:
    """The messages, after one of the user's if the assistant's came first (rule mastra.user-first)."""
    first = next((index for index, message in enumerate(shown) if message.role != "system"), None)
    if first is None and target.profile.refuses_empty_prompts:
        told = (
            "This request does not contain any user or assistant messages. At least one user or assistant "
            "message is required to generate a response."
        )
        raise MastraError("NO_USER_OR_ASSISTANT_MESSAGES", told)
    if first is not None and shown[first].role == "assistant":
        shown.insert(first, ModelMessage("user", "."))
    return shown


def prompt(target: MessageList) -> Ref:
    """Makes the prompt of a model, in the form that its provider gets.

    Raises:
        MastraError: if there is no conversation, and the package wants one.
    """
    store = target.store
    conversation = of_all(target, for_prompt=True)
    kept = _kept_outputs(target)
    shown = _after_user(target, [*system_prompt(target), *conversation])
    # The provider's own answers, in messages of the assistant's, are shown as they are.
    cells = [_prompt_message(target, one, kept if one.role == "tool" else {}) for one in shown]
    listed = store.array([cell for cell in cells if cell is not None])
    return store.derive(listed, target.messages, target.system_messages, *target.tagged.values())


def _prompt_message(target: MessageList, message: ModelMessage, kept: Mapping[Value, Value]) -> Ref | None:
    store = target.store
    if message.role == "system":
        return message.cell(store)
    if isinstance(message.content, str):
        part = store.object({"type": "text", "text": message.content})
        return attrs.evolve(message, content=[part]).cell(store)
    content = [_prompt_part(target, part, kept) for part in message.content]
    shown = content or not target.profile.sanitizes_prompts
    return attrs.evolve(message, content=content).cell(store) if shown else None


def _prompt_part(target: MessageList, part: Slot, kept: Mapping[Value, Value]) -> Slot:
    store = target.store
    kind = get(store, part, "type")
    if kind not in ("tool-call", "tool-result"):
        return part
    named: dict[str, Value] = {
        **fields(store, part),
        "toolName": tool_name(target, get(store, part, "toolName")),
    }
    output = kept.get(get(store, part, "toolCallId")) if kind == "tool-result" else None
    if output is not None:
        named["output"] = output
    return store.derive(store.object(named), part)
