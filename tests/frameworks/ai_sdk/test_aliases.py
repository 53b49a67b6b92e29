"""Object identity in a plain run of three steps: who holds the same object, as measured on ai@6.0.134."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from agentcore.heap.views import ArrayView, ObjectView, View
from frameworks.ai_sdk.bench import Bench, call_part, follow, options, output_of, text_part
from frameworks.ai_sdk.matrix import MEASURED

# The handles of a moment: their names, and the paths below what its hook is given.
HANDLES: Final[Mapping[str, Mapping[str, str]]] = {
    "prepareStep": {"prepareStep{}.messages": "messages", "prepareStep{}.steps": "steps"},
    "onStepStart": {"onStepStart{}.messages": "messages"},
    "model": {"prompt{}": "prompt"},
    "execute": {
        "tool{}.input": "input",
        "tool{}.returned": "returned",
        "tool{}.options.messages": "options.messages",
    },
    "onStepFinish": {
        "onStepFinish{}": "",
        "onStepFinish{}.toolCalls": "toolCalls",
        "onStepFinish{}.toolResults": "toolResults",
    },
    "stopWhen": {"stopWhen{}.steps": "steps"},
    "final": {"final.steps": "steps", "final.response.messages": "response.messages"},
}


def history() -> list[dict[str, Any]]:
    result = {"type": "tool-result", "toolCallId": "h", "toolName": "look"}
    asked = [text_part("text of h"), call_part("h")]
    return [
        {"role": "user", "content": "user text", "providerOptions": options("user")},
        {"role": "assistant", "content": asked, "providerOptions": options("assistant")},
        {"role": "tool", "content": [{**result, "output": {"type": "json", "value": output_of("h")}}]},
        {"role": "user", "content": [{"type": "text", "text": "user list"}]},
    ]


def children(view: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(view, ArrayView):
        yield from ((f"[{index}]", child) for index, child in enumerate(view))
    elif isinstance(view, ObjectView) and "stepNumber" in view:
        yield ".response.messages", view["response"]["messages"]
        yield ".content", view["content"]
    elif isinstance(view, ObjectView):
        yield from ((f".{key}", child) for key, child in view.items())


class Walk:
    """The address of all that is reached from each handle, by name, at the time the handle was given."""

    def __init__(self, path: str) -> None:
        self.addresses: dict[str, int] = {}
        bench = Bench(path, messages=history(), steps_with_a_call=2, moments=self._moment).run()
        self._walk("caller", bench.held["caller"])

    def _moment(self, hook: str, step: int, given: Any) -> None:
        for name, path in HANDLES.get(hook, {}).items():
            self._walk(name.format(step), follow(given, path))

    def _walk(self, name: str, view: Any) -> None:
        if isinstance(view, View):
            self.addresses[name] = view.ref.address
            for key, child in children(view):
                self._walk(name + key, child)


@pytest.mark.parametrize("path", ["stream", "generate"])
def test_handles_of_one_list_are_one_object_and_those_of_two_are_two(path: str) -> None:
    addresses = Walk(path).addresses
    measured = [list(names) for names in MEASURED["aliases"][path]]
    by_address: defaultdict[int, set[str]] = defaultdict(set)
    for name in itertools.chain.from_iterable(measured):
        by_address[addresses[name]].add(name)
    assert sorted(map(sorted, by_address.values())) == sorted(map(sorted, measured))
