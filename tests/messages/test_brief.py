from __future__ import annotations

import ast
import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

import agentcore
from agentcore.agent.agent import Agent
from agentcore.agent.models import ScriptedModel
from agentcore.agent.tools import tool
from agentcore.frameworks import ai_sdk
from agentcore.machine.effects import HookResult, ModelAnswer, Settings
from agentcore.machine.run import start
from agentcore.messages.brief import WHOLE, brief, brief_json
from agentcore.messages.content import GeneratedText, ToolCall
from agentcore.messages.messages import FilePart, ImagePart, TextPart, ToolCallPart, UserMessage
from agentcore.messages.values import FrozenDict, FrozenList, FrozenSet, dump_json, freeze, vector
from counting import bytes_of, calls_of
from test_public_values import CLASSES, make

MANY: Final = 200_000
BYTES: Final = bytes(2_000_000)
TEXT: Final = "x" * 2_000_000


@cache
def numbers() -> Any:
    return freeze([{"n": n} for n in range(MANY)])


@cache
def deep() -> Any:
    value: Any = 1
    for level in range(20_000):
        value = [value] if level % 2 else {"a": value}
    return freeze(value)


@dataclass
class Foreign:
    held: object


class Broken:
    def __repr__(self) -> str:
        raise ValueError("no text")


# Made where they are asked for: some are large, and every process of the tests imports this.
LARGE: Final[dict[str, Callable[[], Any]]] = {
    "text": lambda: UserMessage(TEXT),
    "part": lambda: UserMessage([TextPart(TEXT)] * 10),
    "image": lambda: UserMessage([ImagePart(BYTES), FilePart(BYTES, "a/b"), ImagePart(TEXT)]),
    "input": lambda: ToolCallPart("c", "t", input=numbers()),
    "input text": lambda: ToolCallPart("c", "t", input={"a": TEXT, TEXT: 1}),
    "input depth": lambda: ToolCallPart("c", "t", input=deep()),
    "options": lambda: UserMessage("a", {"p": {f"{n}": n for n in range(MANY)}}),
    "call": lambda: ToolCall(tool_call_id="c", tool_name="t", input=numbers()),
    "call depth": lambda: ToolCall(tool_call_id="c", tool_name="t", input=deep()),
    "answer": lambda: ModelAnswer([GeneratedText(TEXT)] * 20, warnings=[TEXT] * 20),
    "result": lambda: HookResult(
        {"a": [TEXT] * 100, "b": dict.fromkeys(range(1000), TEXT), "c": {*range(MANY)}}
    ),
    "result of bytes": lambda: HookResult([BYTES, bytearray(BYTES), frozenset(range(MANY))]),
    "foreign": lambda: HookResult(Foreign(TEXT)),
    "ordered": lambda: HookResult(OrderedDict.fromkeys(range(1_000))),
    "error": lambda: HookResult(ValueError(TEXT, [TEXT])),
    "settings": lambda: Settings(model=TEXT, system=[TEXT] * 10, active_tools=[TEXT] * 1_000),
    "run": lambda: start(Settings(model="m", system=TEXT), [UserMessage([TextPart(TEXT)] * 10)] * 10),
    "vector": lambda: vector(range(MANY)),
    "vectors": lambda: vector([vector([UserMessage(TEXT)] * 100)] * 100),
    "list": lambda: FrozenList([numbers()] * 100),
    "dict": lambda: FrozenDict({TEXT: numbers(), "a": TEXT}),
    "set": lambda: FrozenSet(range(MANY)),
    "wide": lambda: freeze([[["x" * 11] * 60] * 60] * 60),
}


@pytest.mark.parametrize("name", LARGE)
def test_the_text_of_a_value_is_short_and_costs_what_is_shown(name: str) -> None:
    value = LARGE[name]()
    assert 10 < len(repr(value)) <= WHOLE + 1
    assert calls_of(lambda: repr(value)) < 90_000
    # Of a foreign object the text is made whole before it is cut.
    assert bytes_of(lambda: repr(value)) < (20_000_000 if name == "foreign" else 4_000_000)


@pytest.mark.parametrize("name", CLASSES)
def test_each_public_value_is_shown_in_brief(name: str) -> None:
    assert CLASSES[name].__repr__ is brief
    value = make(name)
    assert repr(value).startswith(f"{name}(")
    assert calls_of(lambda: repr(value)) < 90_000


def test_what_is_small_is_shown_as_python_shows_it() -> None:
    values: list[Any] = [
        *(None, True, 1, 1.5, "a'b\n\ud800", b"\x00", bytearray(b"a"), (), (1,), (1, 2), [], [1, [2]], {}),
        *({"a": {1: ()}}, set(), {1}, frozenset(), frozenset({1}), ValueError(), KeyError("k"), int, len),
        *(OrderedDict(a=1), Foreign([1])),
    ]
    assert [brief(value) for value in values] == [repr(value) for value in values]
    assert repr(FrozenDict(a=FrozenList([1]))) == "FrozenDict({'a': (1,)})"
    assert (repr(FrozenSet([1])), repr(FrozenSet())) == ("FrozenSet({1})", "FrozenSet()")
    assert repr(vector([vector(), vector([None])])) == "vector([vector([]), vector([None])])"
    assert repr(TextPart("x", {"a": [1]})) == """TextPart(text='x', provider_options={"a":[1]})"""


def test_what_is_cut_says_how_much_there_is() -> None:
    assert brief("x" * 1_001) == f"'{'x' * 1_000}'… (1001 characters)"
    assert brief(b"x" * 101) == f"b'{'x' * 100}'… (101 bytes)"
    assert brief([0] * 102).endswith("0, 0, <2 more>]")
    assert brief(dict.fromkeys(range(101))).endswith("99: None, <1 more>}")
    assert brief(Foreign("x" * 2_000)).endswith("… (2016 characters)")
    assert "<17 items>" in repr(ModelAnswer([GeneratedText("a")] * 17))
    assert brief(Broken()) == "<Broken object>"
    assert brief(10**5_000) == "<int object>"
    assert brief([[["a" * 900] * 100] * 100]).endswith("…")


def test_what_holds_itself_has_a_text() -> None:
    held: list[Any] = []
    held.append(held)
    assert brief(held) == "[" * WHOLE + "…"


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        1.5,
        1e300,
        'a"\n\ud800',
        [],
        {},
        [[]],
        [{}, []],
        {"a": [1, {"b": None}], "c d": "e"},
    ],
)
def test_small_json_is_shown_as_json(value: Any) -> None:
    assert brief_json(freeze(value)) == dump_json(value)


def test_large_json_is_cut() -> None:
    for value in (numbers(), deep(), freeze({"a": TEXT}), freeze({TEXT: 1}), freeze([1.0] * MANY)):
        assert len(brief_json(value)) == 6_001
        assert brief_json(value)[:-1] == dump_json(value)[:6_000]
        assert brief_json(value)[-1] == "…"


# ---------------------------------------------------------------- results


@tool
async def look() -> str:
    """Looks."""
    return TEXT


def test_asyncio_run_of_a_result_with_an_image_costs_no_more_than_one_without() -> None:
    def run(image: bytes) -> Any:
        calls = [[ToolCall(tool_call_id=f"c{n}", tool_name="look", input={})] for n in range(10)]
        agent = Agent(ScriptedModel([*calls, [GeneratedText("done")]]), tools=[look])
        return asyncio.run(agent.generate(UserMessage([ImagePart(image), TextPart("hi")])))

    small, large = run(b"x"), run(BYTES)
    assert len(repr(large)) <= WHOLE + 1
    assert calls_of(lambda: repr(large)) < 2 * calls_of(lambda: repr(small))


def shout(step: Any) -> None:
    step["messages"][0]["content"] += "!"


def test_a_compat_run_is_shown_in_brief() -> None:
    settings = ai_sdk.Settings(
        messages=[{"role": "user", "content": TEXT}],
        model=ai_sdk.Model.scripted([{"type": "text", "text": TEXT}]),
        hooks=ai_sdk.Hooks(prepare_step=shout),
    )
    ran = ai_sdk.run("ai-sdk-6/stream", settings)
    for value in (ran, settings, *ran.pollution, *ran.snapshots):
        assert len(repr(value)) <= WHOLE + 1


def data_classes() -> Iterator[tuple[str, str]]:
    """Classes outside of the core that are given what a run, a trace or a program holds."""
    package = Path(agentcore.__file__).parent
    rooms = ("frameworks", "heap", "kit", "oracle")
    for path in (file for room in rooms for file in sorted((package / room).rglob("*.py"))):
        names = path.relative_to(package.parent).with_suffix("").parts
        module = ".".join(names).removesuffix(".__init__")
        source = path.read_text("utf-8")
        for node in ast.walk(ast.parse(source)) if "__repr__ = brief" in source else ():
            if isinstance(node, ast.ClassDef) and "__repr__ = brief" in ast.unparse(node):
                yield module, node.name


@pytest.mark.parametrize(("module", "name"), sorted(data_classes()))
def test_what_tells_of_runs_is_shown_in_brief(module: str, name: str) -> None:
    cls: Any = getattr(import_module(module), name)
    assert cls.__repr__ is brief
    made = cls.__new__(cls)
    for one in attrs.fields(cls):
        object.__setattr__(made, one.name, TEXT)
    assert len(repr(made)) < WHOLE
