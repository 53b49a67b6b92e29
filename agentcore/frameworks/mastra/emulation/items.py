"""The ids that OpenAI and Azure give to the items of an answer, in the provider metadata of its parts.

A call and its result may be items of their own: a stored part that has both keeps the result's id beside the
call's, and a prompt gives each its own again.
"""

from __future__ import annotations

from typing import Final

from agentcore.heap.heap import UNDEFINED, Slot, Store, Value
from agentcore.heap.js import fields, get, is_nullish, or_else, plus, spread

_PROVIDERS: Final = ("openai", "azure")
_OF_RESULT: Final = "resultItemId"


def _field(store: Store, value: Value, *names: str) -> Value:
    """Returns `value?.[name]?.[name]`."""
    for name in names:
        if is_nullish(value):
            return UNDEFINED
        value = get(store, value, name)
    return value


def item_keys(store: Store, options: Value) -> list[str]:
    """Returns the items that some provider metadata names; one that both name is Azure's."""
    ids = {name: _field(store, options, name, "itemId") for name in _PROVIDERS}
    known = {name: one for name, one in ids.items() if isinstance(one, str)}
    if len(known) == len(_PROVIDERS) and len(set(known.values())) == 1:
        del known["openai"]
    return [f"{name}:{one}" for name, one in known.items()]


def item_suffix(store: Store, *options: Value) -> str:
    """What the items in provider metadata add to the key of a part."""
    keys = dict.fromkeys(key for one in options for key in item_keys(store, one))
    return "".join(f"|{key}" for key in keys)


def keep_both(store: Store, of_call: Value, of_result: Value, merged: Value) -> Value:
    """Merged provider metadata of a call and its result, with both ids where those differ."""
    for provider in _PROVIDERS:
        call, result = (_field(store, one, provider, "itemId") for one in (of_call, of_result))
        if isinstance(call, str) and isinstance(result, str) and call != result:
            own = _field(store, merged, provider)
            made = spread(store, own, **{"itemId": call, _OF_RESULT: result})
            merged = spread(store, merged, **{provider: made})
    return merged


def is_lost_search(store: Store, part: Slot, name: Value) -> bool:
    """True for a search of tools by the provider that cannot be sent again, as its ids are gone."""
    if name != "tool_search" or not get(store, part, "providerExecuted"):
        return False
    options = get(store, part, "callProviderMetadata")
    named = next(iter(item_keys(store, options)), None)
    if named is not None:
        ended = get(store, part, "state") in ("output-available", "output-error")
        provider = named.partition(":")[0]
        if not ended or isinstance(_field(store, options, provider, _OF_RESULT), str):
            return False
    return not isinstance(_field(store, part, "input", "call_id"), str)


def merge_texts(store: Store, parts: list[Slot]) -> list[Slot]:
    """The parts of a UI message, in which texts of one item, but for sources between them, are one text."""
    made: list[Slot] = []
    for part in parts:
        at = _same_item(store, made, part)
        if at is None:
            made.append(part)
        else:
            whole = plus(store, get(store, made[at], "text"), get(store, part, "text"))
            made[at] = spread(store, made[at], text=whole)
    return made


def _same_item(store: Store, made: list[Slot], part: Slot) -> int | None:
    if get(store, part, "type") != "text":
        return None
    keys = item_keys(store, get(store, part, "providerMetadata"))
    for at in reversed(range(len(made)) if keys else ()):
        kind = get(store, made[at], "type")
        if kind == "text":
            same = item_keys(store, get(store, made[at], "providerMetadata"))[:1] == keys[:1]
            return at if same else None
        if not str(kind).startswith("source-"):
            return None
    return None


def split_ids(store: Store, part: Slot) -> Slot:
    """A call or a result of a model message, with no id but its own."""
    options = get(store, part, "providerOptions")
    if get(store, part, "type") not in ("tool-call", "tool-result") or not options:
        return part
    is_result = get(store, part, "type") == "tool-result"
    kept = [name for name in _PROVIDERS if isinstance(_field(store, options, name, _OF_RESULT), str)]
    if not kept:
        return part
    made = fields(store, options)
    for name in _PROVIDERS:
        own = fields(store, or_else(get(store, options, name), UNDEFINED))
        result = own.pop(_OF_RESULT, None) if name in kept else None
        if is_result and name in kept:
            own["itemId"] = result
        elif is_result and isinstance(own.get("itemId"), str):
            del own["itemId"]
        elif name not in kept:
            continue
        made[name] = store.derive(store.object(dict(own)), options)
    return store.derive(
        store.object({**fields(store, part), "providerOptions": store.object(dict(made))}), part
    )
