"""Hooks of the toy loop: each kind of finding, and its clean counterpart."""

from __future__ import annotations

import random
import time
import uuid
from typing import Any


def pollutes(messages: Any) -> Any:
    for message in messages:
        if message["role"] == "user":
            message["content"][0]["text"] = "!"
    return [*messages]


def clean(messages: Any) -> Any:
    return [{**m, "content": [{"type": "text", "text": "!"}]} if m["role"] == "user" else m for m in messages]


def around_pollutes(request: Any, handler: Any) -> Any:
    answer = handler([{**message} for message in request])
    request[0]["content"][0]["text"] = "asked"
    return answer


def around_clean(request: Any, handler: Any) -> Any:
    answer = handler(
        [{**message, "content": "?"} if message["role"] == "tool" else message for message in request]
    )
    return {**answer, "content": [*answer["content"], {"type": "text", "text": "checked"}]}


def with_handle_pollutes(handle: Any) -> None:
    handle.messages[0]["content"] = [{"type": "text", "text": "by the handle"}]


def with_handle_clean(handle: Any) -> None:
    str(handle.messages)


def with_handle_unseen(handle: Any) -> None:
    handle.note["seen"] = len(handle.messages)


def assigns_pollutes(state: Any) -> None:
    state["messages"][0]["content"][0]["text"] = "assigned below"


def assigns_clean(state: Any) -> None:
    state["messages"] = [{**m, "note": True} if m["role"] == "user" else m for m in state["messages"]]


def registered_pollutes(messages: Any, registry: Any) -> None:
    messages[0]["content"][0]["text"] = "registered"


def registered_clean(messages: Any, registry: Any) -> Any:
    return [{**message, "note": registry.has({})} for message in messages]


def registered_raises(messages: Any, registry: Any) -> Any:
    """Takes no copies, and writes nothing."""
    if not registry.has(messages[0]):
        raise LookupError("nobody knows this message")


def tool_pollutes(call: Any, messages: Any, together: Any) -> None:
    """Each call writes when all of a step have begun, and none of them has ended."""
    together.wait()
    call["input"]["user"] = "u1"
    together.wait()


def tool_clean(call: Any, messages: Any, together: Any) -> None:
    together.wait()
    str([{**call, "input": {**call["input"], "user": len(messages)}}])


def ends_pollutes(messages: Any) -> None:
    messages[-1]["content"].append({"type": "text", "text": "ended"})


def ends_clean(messages: Any) -> None:
    str(messages)


def ends_raises(messages: Any) -> None:
    """Needs what it wrote at the end of an earlier turn."""
    if _earlier and "marked" not in _first(messages):
        raise LookupError("not marked")
    _first(messages)["marked"] = True
    _earlier[:] = messages[:1]


def _first(messages: Any) -> Any:
    return next(message for message in messages if message["role"] == "assistant")


def after_model_pollutes(answer: Any) -> Any:
    answer["content"].append({"type": "text", "text": "checked"})


def after_model_clean(answer: Any) -> Any:
    return {**answer, "content": [*answer["content"], {"type": "text", "text": "checked"}]}


_earlier: list[Any] = []


def before_model_later(messages: Any) -> Any:
    """Writes, at a later call, to a message that an earlier one gave, and that is in no argument any more."""
    for each in _earlier:
        each["content"] = [{"type": "text", "text": "later"}]
    _earlier[:] = messages[:1]
    return messages[1:] if len(messages) > 1 else messages


def around_later(request: Any, handler: Any) -> Any:
    """Writes to the answers that it passed on at earlier calls."""
    for each in _earlier:
        each["content"].append({"type": "text", "text": "later"})
    answer = handler(request)
    _earlier.append(answer)
    return answer


def assigns_later(state: Any) -> None:
    for each in _earlier:
        each["content"][0]["text"] = "later"
    _earlier[:] = [each for each in state["messages"] if each["role"] == "user"]


def after_model_later(answer: Any) -> Any:
    for each in _earlier:
        each["content"].append({"type": "text", "text": "later"})
    _earlier.append(answer)
    return answer


def after_model_later_clean(answer: Any) -> Any:
    """Reads what earlier calls gave, and returns a new answer."""
    _earlier.append(answer)
    return {**answer, "content": [*answer["content"], {"type": "text", "text": f"{len(_earlier)} answers"}]}


def reminder(messages: Any) -> Any:
    return [*messages, {"role": "user", "content": [{"type": "text", "text": "remember"}]}]


def flags(messages: Any) -> Any:
    return [*messages, {"role": "user", "content": [], "flagged": True}]


def reminder_once(messages: Any) -> Any:
    return messages if "remember" in str(messages) else reminder(messages)


def annotates_each(messages: Any) -> Any:
    note = {"type": "text", "text": "checked"}

    def annotated(message: Any) -> Any:
        if message["role"] != "user" or note in message["content"]:
            return message
        return {**message, "content": [*message["content"], note]}

    return [annotated(message) for message in messages]


def redacts(messages: Any) -> Any:
    return [{**m, "content": "***"} if m["role"] == "tool" else m for m in messages]


_STATE: dict[str, Any] = {"count": 0, "known": {}}


def stateful(messages: Any) -> Any:
    _STATE["count"] += 1
    known = _STATE["known"]
    for message in messages:
        if id(message) not in known:
            known[id(message)] = (message, f"{uuid.uuid4()} {random.random()} {time.time()}")
    told = f"{_STATE['count']} {len(known)} {[text for _, text in known.values()]}"
    return [{**m, "content": told} if m["role"] == "tool" else m for m in messages]


_TEMPLATE: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "template"}]}


def template(messages: Any) -> Any:
    """Returns an object of its own, which the loop keeps, and edits it at the next call."""
    _TEMPLATE["content"][0]["text"] += "."
    return messages if any(message is _TEMPLATE for message in messages) else [*messages, _TEMPLATE]


def secret(messages: Any) -> Any:
    import secrets

    return [{**m, "content": secrets.token_hex(4)} if m["role"] == "tool" else m for m in messages]


def secret_and_pollutes(messages: Any) -> Any:
    pollutes(messages)
    return secret(messages)


def cuts(messages: Any) -> Any:
    return [message for message in messages if not message.get("calls")]


def loses(messages: Any) -> Any:
    return [message for message in messages if message["role"] != "user"] or messages[-1:]


def restores(messages: Any) -> Any:
    first = messages[0]["role"]
    messages[0]["role"] = "x"
    messages[0]["role"] = first
    return messages


def puts_a_file(messages: Any) -> Any:
    return [*messages[:-1], {**messages[-1], "handle": iter([1])}]


def stops(messages: Any) -> Any:
    from live.toy_loop import Stop

    raise Stop


def refused(messages: Any) -> Any:
    return 7


def raises(messages: Any) -> Any:
    raise LookupError("no rule for this")


class Hook:
    """A class, made without arguments; it is called."""

    def __call__(self, messages: Any) -> Any:
        return clean(messages)


def factory() -> Any:
    return pollutes


def _short(text: Any) -> Any:
    return text[:1]


def writes_what_a_function_returns(messages: Any) -> None:
    for message in messages:
        message["content"] = _short(message["content"])


def secret_in_place(messages: Any) -> None:
    import secrets

    messages[0]["trace"] = secrets.token_hex(8)
