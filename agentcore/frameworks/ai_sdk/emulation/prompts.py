"""Makes a prompt of messages, on cells of the heap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

import attrs

from agentcore.errors import InvalidDataContentError
from agentcore.frameworks.ai_sdk.emulation.history import FIELDS, Prompted, PromptMessage, as_list
from agentcore.frameworks.ai_sdk.emulation.offered import merged as merged_options
from agentcore.frameworks.ai_sdk.emulation.results import or_null
from agentcore.heap.heap import UNDEFINED, HeapTypeError, PatternCell, Ref, Slot, Store, Value
from agentcore.heap.js import (
    PackageError,
    elements,
    fields,
    get,
    is_array,
    is_nullish,
    iterated,
    or_else,
    picked,
    text,
    url_object,
    url_text,
)
from agentcore.messages.converters import detect_image_media_type, parse_url, read_data
from agentcore.messages.values import sealed

_TEXT: Final = frozenset({"type", "text", "providerOptions"})
_MEDIA: Final = frozenset({"type", "image", "data", "mediaType", "filename", "providerOptions"})
_CALL: Final = frozenset({"type", "toolCallId", "toolName", "input", "providerExecuted", "providerOptions"})
_RESULT: Final = frozenset({"type", "toolCallId", "toolName", "output", "providerOptions"})
_RESPONSE: Final = frozenset({"type", "approvalId", "approved", "reason"})
# Hooks see fields in this order, whatever the hash seed.
_SORTED: Final = {names: tuple(sorted(names)) for names in (_TEXT, _CALL, _RESPONSE)}


Address: TypeAlias = tuple[str, Value]
"""The address of a file in a message, and the media type that the message says."""


@sealed
@attrs.frozen(kw_only=True)
class PromptRules:
    """The decisions of a profile about prompts: how a prompt holds files, what merging tool messages keeps.

    `addresses` are those of files that stand in messages, `matches` whether a media type is one that begins
    as a key of a model's addresses says; `provider` is the one whose model the prompt is for.
    """

    addresses: Callable[[Store, Iterable[Value]], Iterable[Address]]
    matches: Callable[[str, str], bool]
    user_part: Callable[[Store, Value], Ref]
    assistant_part: Callable[[Store, Value], Value]
    content_item: Callable[[Store, Slot, str], Slot]
    merged_options_kept: bool
    lone_options_kept: bool
    unsafe_keys_dropped: bool
    approvals_excuse_results: bool
    provider: str = ""


def prompted(store: Store, rules: PromptRules) -> Prompted:
    """Returns a memory of converted messages for one run, converting by these rules."""
    return Prompted(store, lambda message: _message(store, message, rules))


def prompt(
    store: Store,
    system: Value,
    messages: Value,
    rules: PromptRules | None = None,
    before: Prompted | None = None,
) -> Ref:
    """The model's prompt: messages, contents and parts are new, payloads are not (claims X3, X16, X17, C29).

    Rule ai-sdk.prompt-shares-payloads. `before` remembers the messages of the run's other prompts, and
    which addresses the model reads itself.

    Raises:
        PackageError: AI_MissingToolResultsError, AI_InvalidMessageRoleError and the like.
        HeapTypeError: for messages that are not what the conversion reads.
    """
    rules = PLAIN if rules is None else rules
    before = prompted(store, rules) if before is None else before
    listed = [(message, before.known(message)) for message in elements(store, messages, "map")]
    supported = before.supported
    everything = supported is UNDEFINED or _reads_all(store, supported)
    planned = [message for message, known in listed if known is None or not everything]
    _plan_downloads(store, rules, planned, UNDEFINED if everything else supported)
    asking = [message for message, known in listed if known is None or known.has_approvals]
    approved = _approved_calls(store, asking) if rules.approvals_excuse_results else ()
    converted = [*_system_messages(store, system), *(before.message(*each) for each in listed)]
    merged: list[PromptMessage] = []
    for message in converted:
        if message.role == "tool" and merged and merged[-1].role == "tool":
            if rules.merged_options_kept:
                _merge_options(store, merged[-1], message, rules)
            merged[-1].join(message)
        else:
            merged.append(message)
    _require_results(store, merged, approved)
    kept = [message for message in merged if message.role != "tool" or message.content]
    refs = [_message_cell(store, message) for message in kept]
    return store.derive(store.array(refs), messages)


def _merge_options(store: Store, earlier: PromptMessage, later: PromptMessage, rules: PromptRules) -> None:
    """The earlier message's options go to its last part, if it has one; the message keeps the later's."""
    unsafe_dropped = rules.unsafe_keys_dropped
    last = earlier.content[-1] if earlier.content else UNDEFINED
    if is_nullish(last) and rules.lone_options_kept:
        earlier.options = merged_options(store, earlier.options, later.options, unsafe_dropped=unsafe_dropped)
        return
    if not (is_nullish(last) or is_nullish(earlier.options)):
        own = get(store, last, "providerOptions")
        kept = merged_options(store, earlier.options, own, unsafe_dropped=unsafe_dropped)
        store.put(last, "providerOptions", kept)  # type: ignore[arg-type]
    earlier.options = later.options


def _message_cell(store: Store, message: PromptMessage) -> Ref:
    inside = message.content
    if isinstance(inside, list):
        inside = store.array([or_null(part) for part in inside])
    made = store.object({"role": message.role, "content": inside, "providerOptions": message.options})
    if message.origins is not None:
        if inside is not message.content:
            store.origins[inside.address] = message.origins[0]
        store.origins[made.address] = message.origins[1]
        return made
    if inside is not message.content:
        for source in message.sources:
            store.derive(inside, source, fields=FIELDS)
            store.derive(inside, get(store, source, "content"))
    return store.derive(made, *message.sources, fields=FIELDS)


def _system_messages(store: Store, system: Value) -> list[PromptMessage]:
    if is_nullish(system):
        return []
    if isinstance(system, str):
        return [PromptMessage("system", system, UNDEFINED, [])]
    return [
        PromptMessage("system", get(store, one, "content"), get(store, one, "providerOptions"), [one])
        for one in as_list(store, system)
    ]


def _message(store: Store, message: Value, rules: PromptRules) -> PromptMessage:
    role = get(store, message, "role")
    content = get(store, message, "content")
    options = get(store, message, "providerOptions")
    if role == "system":
        return PromptMessage("system", content, options, [message])
    if role in ("user", "assistant") and isinstance(content, str):
        only = store.derive(store.object({"type": "text", "text": content}), message, fields=FIELDS)
        return PromptMessage(str(role), [only], options, [message])
    if role == "user":
        shown = [rules.user_part(store, part) for part in elements(store, content, "map")]
        shown = [part for part in shown if not _is_empty_text(store, part)]
        return PromptMessage("user", shown, options, [message])
    if role == "assistant":
        parts = _assistant_parts(store, elements(store, content), rules)
        return PromptMessage("assistant", parts, options, [message])
    if role == "tool":
        parts = _tool_parts(store, elements(store, content), rules)
        return PromptMessage("tool", parts, options, [message])
    raise PackageError("AI_InvalidMessageRoleError", f"Invalid message role: '{text(store, role)}'.")


def _is_empty_text(store: Store, part: Value) -> bool:
    return get(store, part, "type") == "text" and get(store, part, "text") == ""


def _assistant_parts(store: Store, parts: Iterable[Value], rules: PromptRules) -> list[Value]:
    kept = []
    for part in parts:
        if _is_empty_text(store, part) and is_nullish(get(store, part, "providerOptions")):
            continue
        if get(store, part, "type") != "tool-approval-request":
            kept.append(_assistant_part(store, part, rules))
    return kept


def _assistant_part(store: Store, part: Value, rules: PromptRules) -> Value:
    kind = get(store, part, "type")
    if kind in ("text", "reasoning"):
        return _copy(store, part, _TEXT)
    if kind == "tool-call":
        return _copy(store, part, _CALL)
    return _result(store, part, rules) if kind == "tool-result" else rules.assistant_part(store, part)


def _other_assistant_part(store: Store, part: Value) -> Value:
    if get(store, part, "type") == "file":
        data, media_type = _data(store, get(store, part, "data"))
        fields = {
            "type": "file",
            "data": data,
            "filename": get(store, part, "filename"),
            "mediaType": or_else(media_type, get(store, part, "mediaType")),
            "providerOptions": get(store, part, "providerOptions"),
        }
        return store.derive(store.object(fields), part, fields=_MEDIA)
    return UNDEFINED


def _tool_parts(store: Store, parts: Iterable[Value], rules: PromptRules) -> list[Value]:
    kept: list[Value] = []
    for part in parts:
        kind = get(store, part, "type")
        if kind == "tool-approval-response":
            if get(store, part, "providerExecuted"):
                kept.append(_copy(store, part, _RESPONSE))
        else:
            kept.append(_result(store, part, rules) if kind == "tool-result" else UNDEFINED)
    return kept


def _copy(store: Store, part: Value, names: frozenset[str]) -> Ref:
    return store.derive(store.object(picked(store, part, _SORTED[names])), part, fields=names)


def _result(store: Store, part: Value, rules: PromptRules) -> Ref:
    fields = {
        "type": "tool-result",
        "toolCallId": get(store, part, "toolCallId"),
        "toolName": get(store, part, "toolName"),
        "output": _result_output(store, get(store, part, "output"), rules),
        "providerOptions": get(store, part, "providerOptions"),
    }
    return store.derive(store.object(fields), part, fields=_RESULT)


def _result_output(store: Store, output: Value, rules: PromptRules) -> Value:
    """The wrapper itself, except for output of type content, which is made anew (claim X3)."""
    if get(store, output, "type") != "content":
        return output
    value = get(store, output, "value")
    items = store.array(
        [rules.content_item(store, item, rules.provider) for item in elements(store, value, "map")]
    )
    return store.derive(store.object({"type": "content", "value": store.derive(items, value)}), output)


def _content_item(store: Store, item: Slot, _provider: str) -> Slot:
    if get(store, item, "type") != "media":
        return item
    media_type = get(store, item, "mediaType")
    if not isinstance(media_type, str):
        raise HeapTypeError("Cannot read properties of undefined (reading 'startsWith')")
    kind = "image-data" if media_type.startswith("image/") else "file-data"
    fields = {"type": kind, "data": get(store, item, "data"), "mediaType": media_type}
    return store.derive(store.object(fields), item)


def _user_part(store: Store, part: Value) -> Ref:
    kind = get(store, part, "type")
    if kind == "text":
        return _copy(store, part, _TEXT)
    return store.derive(store.object(_file(store, part)), part, fields=_MEDIA)


def _user_part_with_text(store: Store, part: Value) -> Ref:
    """A part of a user message; a file at an address has its text, if the parser writes another."""
    kind = get(store, part, "type")
    if kind == "text":
        return _copy(store, part, _TEXT)
    made = _file(store, part)
    given = get(store, part, "image" if kind == "image" else "data")
    address = url_text(store, made["data"])
    if address is not None and isinstance(given, str) and address != given:
        made["originalUrl"] = given
    return store.derive(store.object(made), part, fields=_MEDIA)


def _file(store: Store, part: Value) -> dict[str, Value]:
    kind = get(store, part, "type")
    if kind not in ("image", "file"):
        raise PackageError("Error", f"Unsupported part type: {text(store, kind)}")
    data, named = _data(store, get(store, part, "image" if kind == "image" else "data"))
    media_type = or_else(named, get(store, part, "mediaType"))
    if kind == "image":
        if isinstance(data, str):
            media_type = or_else(_image_type(data), media_type)
        media_type = or_else(media_type, "image/*")
    elif is_nullish(media_type):
        raise PackageError("Error", "Media type is missing for file part")
    return {
        "type": "file",
        "mediaType": media_type,
        "filename": get(store, part, "filename") if kind == "file" else UNDEFINED,
        "data": data,
        "providerOptions": get(store, part, "providerOptions"),
    }


# ---------------------------------------------------------------- data


def _data(store: Store, data: Value) -> tuple[Value, Value]:
    """Data and the media type that it names; an address is a URL object, and a `data:` one is taken apart.

    Rule ai-sdk.urls-are-objects.
    """
    address = url_text(store, data)
    if address is None and not isinstance(data, str):
        return data, UNDEFINED
    try:
        content, media_type, url = read_data(str(data) if address is None else address)
    except InvalidDataContentError as error:
        raise PackageError(error.wire_name, str(error)) from error
    if url is not None:
        return data if address is not None else url_object(store, url.href), UNDEFINED
    return str(content), UNDEFINED if media_type is None else media_type


def _image_type(data: str) -> Value:
    try:
        detected = detect_image_media_type(data)
    except InvalidDataContentError as error:
        raise PackageError("InvalidCharacterError", str(error)) from error
    return UNDEFINED if detected is None else detected


def _plan_downloads(store: Store, rules: PromptRules, messages: Iterable[Value], supported: Value) -> None:
    """The package downloads first what the model does not read itself, which no run of a program can.

    Rule ai-sdk.supported-urls-read.
    """
    for address, media_type in list(rules.addresses(store, messages)):
        if is_nullish(media_type):
            raise PackageError("AI_DownloadError", f"Failed to download {address}")
        if not isinstance(media_type, str):
            raise HeapTypeError("mediaType.toLowerCase is not a function")
        if supported is not UNDEFINED and not _is_read(store, rules, supported, media_type.lower()):
            raise PackageError("AI_DownloadError", f"Failed to download {address}")


def _reads_all(store: Store, supported: Value) -> bool:
    """True if the model's supported URLs are the default, which takes every address."""
    listed = fields(store, supported)
    return [*listed] == ["*/*"] and _only_pattern(store, listed["*/*"])


def _only_pattern(store: Store, patterns: Slot) -> bool:
    return is_array(store, patterns) and [_is_pattern(store, each) for each in elements(store, patterns)] == [
        True
    ]


def _is_pattern(store: Store, value: Value) -> bool:
    return type(value) is Ref and type(store.cells[value.address]) is PatternCell


def _is_read(store: Store, rules: PromptRules, supported: Value, media_type: str) -> bool:
    if is_nullish(supported):
        raise HeapTypeError("Cannot convert undefined or null to object")
    patterns: list[Value] = []
    for key, value in fields(store, supported).items():
        begins = key.lower()
        if begins in ("*", "*/*") or rules.matches(media_type, begins.replace("*", "", 1)):
            patterns += elements(store, value) if is_array(store, value) else (value,)
    for pattern in patterns:
        if not _is_pattern(store, pattern):
            raise HeapTypeError("pattern.test is not a function")
        return True
    return False


def _addresses(store: Store, messages: Iterable[Value]) -> Iterator[Address]:
    """The addresses in user messages, those that hold their data themselves included."""
    for message in messages:
        if get(store, message, "role") != "user":
            continue
        content = get(store, message, "content")
        if not is_array(store, content):
            continue
        for part in _flat(store, content):
            if get(store, part, "type") not in ("image", "file"):
                continue
            is_image = get(store, part, "type") == "image"
            data = get(store, part, "image" if is_image else "data")
            address = url_text(store, data)
            url = parse_url(data if isinstance(data, str) else address or "")
            if url is not None:
                named = get(store, part, "mediaType")
                yield url.href, or_else(named, "image/*" if is_image else UNDEFINED)


def _addresses_with_results(store: Store, messages: Iterable[Value]) -> Iterator[Address]:
    """The addresses in user messages and in the results of tools, none that hold their data themselves."""
    found: list[tuple[Value, Value]] = []
    for message in messages:
        role, content = get(store, message, "role"), get(store, message, "content")
        if not is_array(store, content):
            continue
        for part in elements(store, content):
            if role == "user":
                found += _file_of(store, part)
            elif role in ("tool", "assistant"):
                found += _files_of_result(store, part)
    for data, media_type in found:
        address = url_text(store, _data(store, data)[0])
        if address is not None:
            yield address, media_type


def _file_of(store: Store, part: Value) -> Iterator[tuple[Value, Value]]:
    kind = get(store, part, "type")
    if kind in ("image", "file"):
        data = get(store, part, "image" if kind == "image" else "data")
        yield data, or_else(get(store, part, "mediaType"), "image/*" if kind == "image" else UNDEFINED)


def _files_of_result(store: Store, part: Value) -> Iterator[tuple[Value, Value]]:
    if get(store, part, "type") != "tool-result":
        return
    output = get(store, part, "output")
    if get(store, output, "type") != "content":
        return
    for item in iterated(store, get(store, output, "value")):
        kind = get(store, item, "type")
        if kind in ("image-url", "file-url"):
            address = get(store, item, "url")
            url = parse_url(address) if isinstance(address, str) else None
            if url is None:
                raise HeapTypeError("Invalid URL")
            yield url.href, "image/*" if kind == "image-url" else get(store, item, "mediaType")


def _has_prefix(media_type: str, begins: str) -> bool:
    """Whether a media type begins so; one with a subtype is meant as a whole."""
    whole = begins and not begins.endswith("/")
    return media_type == begins if whole else media_type.startswith(begins)


def _flat(store: Store, content: Value) -> Iterable[Value]:
    for part in elements(store, content):
        if is_array(store, part):
            yield from elements(store, part)
        else:
            yield part


# ---------------------------------------------------------------- missing results


def _approved_calls(store: Store, messages: Iterable[Value]) -> list[Value]:
    calls: dict[Value, Value] = {}
    answers: list[Value] = []
    for message in messages:
        role = get(store, message, "role")
        if role == "tool":
            answers.append(get(store, message, "content"))
        elif role == "assistant" and is_array(store, content := get(store, message, "content")):
            for part in elements(store, content):
                if get(store, part, "type") == "tool-approval-request":
                    approval_id, call_id = get(store, part, "approvalId"), get(store, part, "toolCallId")
                    if approval_id is not UNDEFINED and call_id is not UNDEFINED:
                        calls[approval_id] = call_id
    answered = [
        calls.get(get(store, part, "approvalId"), UNDEFINED)
        for content in answers
        for part in iterated(store, content)
        if get(store, part, "type") == "tool-approval-response"
    ]
    return [call_id for call_id in answered if call_id]


def _require_results(store: Store, messages: Iterable[PromptMessage], approved: Iterable[Value]) -> None:
    open_calls: dict[Value, None] = {}
    for message in messages:
        if message.role == "assistant":
            open_calls.update(dict.fromkeys(message.call_ids(store)))
        elif message.role == "tool":
            for call_id in message.call_ids(store):
                open_calls.pop(call_id, None)
        else:
            _require_none(store, open_calls, approved)
    _require_none(store, open_calls, approved)


def _require_none(store: Store, open_calls: dict[Value, None], approved: Iterable[Value]) -> None:
    for call_id in approved:
        open_calls.pop(call_id, None)
    if open_calls:
        named = ", ".join(text(store, call_id) for call_id in open_calls)
        raise PackageError("AI_MissingToolResultsError", f"Tool result is missing for tool call {named}.")


PLAIN: Final = PromptRules(
    addresses=_addresses,
    matches=str.startswith,
    user_part=_user_part,
    assistant_part=_other_assistant_part,
    content_item=_content_item,
    merged_options_kept=False,
    lone_options_kept=True,
    unsafe_keys_dropped=False,
    approvals_excuse_results=True,
)
"""The rules of ai@6.0.134."""

PLAIN_WITH_TEXT: Final = attrs.evolve(
    PLAIN,
    addresses=_addresses_with_results,
    matches=_has_prefix,
    user_part=_user_part_with_text,
    merged_options_kept=True,
    lone_options_kept=False,
    unsafe_keys_dropped=True,
    approvals_excuse_results=False,
)
"""The rules of ai@6.0.326."""
