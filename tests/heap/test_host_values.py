"""Values that are not JSON, in every family: what the packages make of them, or who gave them and where."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import functools
import io
import pathlib
import threading
import uuid
from collections.abc import Callable, Generator
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import attrs
import pydantic
import pytest

from agentcore import UserMessage
from agentcore.errors import AgentCoreError
from agentcore.frameworks import ai_sdk, mastra, strands
from agentcore.frameworks.ai_sdk import HostValueError
from agentcore.heap.heap import UNDEFINED, DataCloneError, HeapTypeError

HI: Final = {"role": "user", "content": "hi"}
CALL: Final = {"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {}}
TEXT: Final = {"type": "text", "text": "ok"}
USE: Final = {"toolUse": {"name": "look", "toolUseId": "u1", "input": {}}}
AI_SDK: Final = tuple(ai_sdk.PROFILES)
MASTRA: Final = tuple(mastra.PROFILES)
STRANDS: Final = tuple(strands.PROFILES)
PYTHON: Final = "strands-py@1.62.0"


class Point:
    __slots__ = ("__dict__", "x")

    def __init__(self) -> None:
        self.x = 1
        self.inner = {"at": dt.date(1970, 1, 1)}
        self.__hidden = 2

    @property
    def y(self) -> int:
        return self.x + self.__hidden


@dataclasses.dataclass
class Data:
    x: int = 1


@attrs.define
class Defined:
    x: int = 1


class Model(pydantic.BaseModel):
    x: int = 1


class Kind(enum.Enum):
    A = "a"


class Text(str, enum.Enum):  # noqa: UP042 - the older way to write it
    A = "a"


class Client:
    def close(self) -> None:
        """Nothing to close."""


def giving(value: Any) -> Callable[..., Any]:
    """A tool, a hook or a model that gives a value, whatever it is given."""
    return lambda *_: value


def itself() -> dict[str, Any]:
    made: dict[str, Any] = {"n": 1}
    made["self"] = made
    return made


# ---------------------------------------------------------------- what a tool returned


def ai_settings(value: Any, **more: Any) -> ai_sdk.Settings:
    return ai_sdk.Settings(
        **{
            "messages": [HI],
            "model": ai_sdk.Model.scripted([CALL], [TEXT]),
            "tools": {"look": ai_sdk.Tool(execute=giving(value))},
            **more,
        }
    )


def of_ai_sdk(profile: str, value: Any) -> Any:
    run = ai_sdk.run(profile, ai_settings(value))
    if run.error is not None:
        raise run.error
    return run.prompts[1][2]["content"][0]["output"]["value"]


def mastra_settings(value: Any, **more: Any) -> mastra.Settings:
    answers: Any = iter([[CALL], [TEXT], [TEXT]])
    return mastra.Settings(
        **{
            "messages": [HI],
            "model": mastra.Model("m", lambda _: next(answers)),
            "tools": {"look": mastra.Tool(execute=giving(value))},
            **more,
        }
    )


def of_mastra(profile: str, value: Any) -> Any:
    run = mastra.run(profile, mastra_settings(value))
    assert run.error is None
    return run.prompts[1][-1]["content"][0]["output"]["value"]


def strands_settings(value: Any, **more: Any) -> strands.Settings:
    return strands.Settings(
        **{
            "model": strands.Model.scripted([USE], [{"text": "ok"}]),
            "inputs": ["hi"],
            "tools": {"look": strands.Tool(run=giving(value))},
            **more,
        }
    )


def of_strands(profile: str, value: Any) -> Any:
    run = strands.run(profile, strands_settings(value))
    (block,) = run.prompts[1]["messages"][-1]["content"][0]["toolResult"]["content"]
    return block.get("json", block.get("text"))


def output_of(profile: str, value: Any) -> Any:
    if profile in AI_SDK:
        return of_ai_sdk(profile, value)
    return of_mastra(profile, value) if profile in MASTRA else of_strands(profile, value)


JAVASCRIPT: Final = (*AI_SDK, *MASTRA, *(profile for profile in STRANDS if profile != PYTHON))
OBJECTS: Final[list[tuple[Any, Any]]] = [
    (dt.datetime(2026, 1, 1), "2026-01-01T00:00:00.000Z"),  # noqa: DTZ001 - without a zone on purpose
    (
        dt.datetime(2026, 1, 1, 2, 0, 0, 1999, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        "2026-01-01T00:00:00.001Z",
    ),
    (dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=dt.UTC), "1969-12-31T23:59:59.999Z"),
    (dt.date(1, 1, 1), "0001-01-01T00:00:00.000Z"),
    (b"ab", {"0": 97, "1": 98}),
    (bytearray(b"a"), {"0": 97}),
    (memoryview(b"a"), {"0": 97}),
    (object(), {}),
    (Point(), {"x": 1, "inner": {"at": "1970-01-01T00:00:00.000Z"}}),
    (Data(), {"x": 1}),
    (Defined(), {"x": 1}),
    (Model(), {"x": 1}),
    (Text.A, "a"),
    ((1, (2,)), [1, [2]]),
    (collections.OrderedDict(a=1), {"a": 1}),
    (2**53 + 1, 2**53),
]


@pytest.mark.parametrize("profile", JAVASCRIPT)
@pytest.mark.parametrize(("value", "shown"), OBJECTS, ids=lambda value: type(value).__name__)
def test_what_javascript_has_is_taken_from_a_tool_as_it_has_it(profile: str, value: Any, shown: Any) -> None:
    assert output_of(profile, {"v": [value]}) == {"v": [shown]}


@pytest.mark.parametrize("profile", JAVASCRIPT)
def test_a_date_is_its_text_where_outputs_go_through_json_and_else_a_date(profile: str) -> None:
    seen: list[Any] = []

    def hook(step: Any) -> None:
        if step["stepNumber"] == 1:
            seen.append(step["messages"][-1]["content"][0]["output"]["value"].thaw()["v"])

    when = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    if profile in AI_SDK:
        ai_sdk.run(profile, ai_settings({"v": when}, hooks=ai_sdk.Hooks(prepare_step=hook)))
        assert seen == ["2026-01-01T00:00:00.000Z" if "7" in profile else when]


FUNCTIONS: Final = [len, print, output_of, lambda: 1, "".join, Point, functools.partial(len, [])]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda value: type(value).__name__)
def test_a_function_is_kept_or_left_out_or_fails_the_run_as_in_the_package(function: Any) -> None:
    for profile in ("ai-sdk-6/stream", "ai-sdk-7/stream", "ai-sdk-7/generate", *MASTRA):
        assert output_of(profile, {"v": function, "w": 1}) == {"w": 1}
    assert output_of("ai-sdk-7/stream", function) is None
    with pytest.raises(DataCloneError, match="could not be cloned"):
        output_of("ai-sdk-6/generate", {"v": function})
    assert output_of("strands-ts@1.19.0", {"v": function}) == {}
    assert output_of("strands-ts@1.19.0", function) == (
        'Error: Unable to serialize tool result: "undefined" is not valid JSON'
    )


def test_an_exception_is_an_error_of_which_json_shows_nothing() -> None:
    assert output_of("ai-sdk-6/stream", {"v": ValueError("bad")}) == {
        "v": {"name": "ValueError", "message": "bad"}
    }
    assert output_of("ai-sdk-7/stream", {"v": ValueError("bad")}) == {"v": {}}


def test_undefined_is_left_out() -> None:
    for profile in (*AI_SDK, *MASTRA, *STRANDS):
        assert output_of(profile, {"v": UNDEFINED, "w": [UNDEFINED]}) == {"w": [None]}


def test_what_holds_itself_is_kept_or_fails_or_is_refused() -> None:
    for profile in ("ai-sdk-6/stream", "ai-sdk-6/generate"):
        assert output_of(profile, itself()) == {"n": 1, "self": {"cycle": 1}}
    for profile in ("ai-sdk-7/stream", "ai-sdk-7/generate"):
        with pytest.raises(HeapTypeError, match="Converting circular structure to JSON"):
            output_of(profile, itself())
    text = "Error: Unable to serialize tool result: Converting circular structure to JSON"
    assert output_of("strands-ts@1.19.0", itself()) == text
    for profile in (*MASTRA, PYTHON):
        with pytest.raises(HostValueError, match=r"tool look: .*circular structure"):
            output_of(profile, itself())


def test_an_object_that_is_returned_twice_is_one_object() -> None:
    point = Point()
    run = ai_sdk.run("ai-sdk-6/stream", ai_settings([point, point, dt.date(2026, 1, 1)]))
    assert run.prompts[1][2]["content"][0]["output"]["value"][0]["x"] == 1

    def hook(step: Any) -> None:
        if step["stepNumber"] == 1:
            values = step["messages"][-1]["content"][0]["output"]["value"]
            assert values[0].is_same(values[1])

    assert (
        ai_sdk.run(
            "ai-sdk-6/stream", ai_settings([point, point], hooks=ai_sdk.Hooks(prepare_step=hook))
        ).error
        is None
    )


def test_slots_that_are_not_set_are_no_attributes() -> None:
    made = Point.__new__(Point)
    made.inner = {}
    assert output_of("ai-sdk-7/stream", made) == {"inner": {}}


# ---------------------------------------------------------------- what is refused


async def later() -> int:
    return 1


REFUSED: Final[dict[str, tuple[Callable[[], Any], str]]] = {
    "a set": (lambda: {1}, "a set; JSON has none, give a list"),
    "a frozen set": (lambda: frozenset({1}), "a set; JSON has none, give a list"),
    "NaN": (lambda: float("nan"), "JSON has no such number; give None, or its text"),
    "infinity": (lambda: float("-inf"), "JSON has no such number"),
    "a huge integer": (lambda: 10**400, "JSON has no such number"),
    "a decimal": (lambda: Decimal("1.5"), "a Decimal; JavaScript has no counterpart of it, give JSON"),
    "a fraction": (lambda: Fraction(1, 3), "a Fraction; JavaScript has no counterpart"),
    "a complex number": (lambda: 1j, "a complex; JavaScript has no counterpart"),
    "a member of an enum": (lambda: Kind.A, "a member of an enum; give its value"),
    "a time": (lambda: dt.time(1), "a time without a date; give its text, or a number"),
    "a duration": (lambda: dt.timedelta(1), "a time without a date"),
    "an id": (lambda: uuid.UUID(int=1), "a UUID; JavaScript has no counterpart"),
    "a path": (lambda: pathlib.Path("a"), "JavaScript has no counterpart"),
    "a coroutine": (later, "an awaitable, and nobody awaits it here"),
    "a generator": (lambda: (each for each in "a"), "a generator; give a list"),
    "an iterator": (lambda: iter([1]), "JavaScript has no counterpart"),
    "a module": (lambda: dt, "a module; give what it holds"),
    "a lock": (threading.Lock, "JavaScript has no counterpart"),
    "a file": (lambda: io.StringIO("a"), "JavaScript has no counterpart"),
    "a client": (Client, "a Client; JavaScript has no counterpart"),
    "a message of the core": (lambda: UserMessage("a"), "a UserMessage of the core; give its JSON"),
    "a key that is no text": (lambda: {1: "a"}, "a field name is text, not int; use str(key)"),
    "many bytes": (lambda: bytes(70_000), "bytes; give their base64 text"),
}
EVERY: Final = ("ai-sdk-6/stream", "ai-sdk-7/generate", *MASTRA, *STRANDS)


@pytest.mark.parametrize("profile", EVERY)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_tool_returns_and_javascript_lacks_is_raised_with_tool_and_place(
    profile: str, kind: str
) -> None:
    make, reason = REFUSED[kind]
    with pytest.raises(HostValueError) as caught:
        output_of(profile, {"a": [{"b c": make()}]})
    error = caught.value
    assert isinstance(error, AgentCoreError)
    assert (error.source, error.path) == ("tool look", '$.a[0]["b c"]')
    assert reason in str(error)
    assert str(error).startswith('tool look: $.a[0]["b c"]: ')


@pytest.mark.parametrize(
    "value",
    [dt.date(2026, 1, 1), b"a", Point(), len, ValueError("a")],
    ids=lambda value: type(value).__name__,
)
def test_strands_in_python_has_json_only(value: Any) -> None:
    with pytest.raises(HostValueError, match=r"tool look: \$\.v: .*give (JSON|their base64 text)"):
        output_of(PYTHON, {"v": value})


@pytest.mark.parametrize("profile", EVERY)
def test_a_run_ends_with_the_first_value_that_is_refused(profile: str) -> None:
    asked = []

    def answer(options: Any) -> Any:
        asked.append(options)
        return [USE] if profile in STRANDS else [CALL]

    more: dict[str, Any]
    if profile in AI_SDK:
        more = {"model": ai_sdk.Model(id="m", answer=answer)}
        with pytest.raises(HostValueError):
            ai_sdk.run(profile, ai_settings({1}, **more))
    elif profile in MASTRA:
        with pytest.raises(HostValueError):
            mastra.run(profile, mastra_settings({1}, model=mastra.Model("m", answer)))
    else:
        with pytest.raises(HostValueError):
            strands.run(profile, strands_settings({1}, model=strands.Model(answer=answer), inputs=["a", "b"]))
    assert len(asked) == 1


# ---------------------------------------------------------------- what hooks give


def in_ai_sdk(hook: Any, name: str = "prepare_step", **more: Any) -> None:
    ai_sdk.run("ai-sdk-6/stream", ai_settings({"v": 1}, hooks=ai_sdk.Hooks(**{name: hook}), **more))


def in_mastra(hook: Any) -> None:
    processor = mastra.Processor(id="mine", process_input_step=hook)
    mastra.run("mastra@1.71.0", mastra_settings({"v": 1}, processors=[processor]))


def in_strands(*middleware: strands.Middleware, **more: Any) -> None:
    strands.run("strands-ts@1.19.0", strands_settings({"v": 1}, middleware=middleware, **more))


def wrapping(change: Callable[[Any], Any]) -> strands.Middleware:
    def call(context: Any, following: Any) -> Generator[Any, None, Any]:
        change(context)
        return (yield from following(context))

    return strands.Middleware(stage="model", call=call, name="mine")


def swallowed(step: Any) -> None:
    with pytest.raises(TypeError):
        step["messages"][0]["providerOptions"] = {"p": {"tags": {1}}}


GIVEN: Final[dict[str, tuple[Callable[[], Any], str]]] = {
    "an override": (
        lambda: in_ai_sdk(lambda _: {"messages": [{**HI, "providerOptions": {"p": {"v": Decimal(1)}}}]}),
        "hook prepareStep: $.messages[0].providerOptions.p.v",
    ),
    "an override, of views": (
        lambda: in_ai_sdk(lambda step: {"messages": [*step["messages"], {**HI, "content": {1}}]}),
        "hook prepareStep: $.messages[1].content",
    ),
    "a write": (
        lambda: in_ai_sdk(lambda step: step["messages"][0].update(content=[{"text": {1}}])),
        "hook prepareStep: $.messages[0].content[0].text",
    ),
    "an append": (
        lambda: in_ai_sdk(lambda step: step["messages"].append({"role": Kind.A})),
        "hook prepareStep: $.messages[1].role",
    ),
    "an extension": (
        lambda: in_ai_sdk(lambda step: step["messages"].extend([HI, {**HI, "content": 1j}])),
        "hook prepareStep: $.messages[1].content",
    ),
    "a write that the hook does not let out": (
        lambda: in_ai_sdk(swallowed),
        "hook prepareStep: $.messages[0].providerOptions.p.tags",
    ),
    "a write of an observer, whose errors the package swallows": (
        lambda: in_ai_sdk(lambda step: step["content"].append({1}), "on_step_finish"),
        "hook onStepFinish: $.content[2]",
    ),
    "bytes in a message": (
        lambda: in_ai_sdk(lambda _: {"messages": [{**HI, "content": [{"type": "file", "data": b"a"}]}]}),
        "hook prepareStep: $.messages[0].content[0].data",
    ),
    "a hook of a processor": (
        lambda: in_mastra(lambda args: {"messages": args["messages"], "modelSettings": {"v": {1}}}),
        "hook mine: $.modelSettings.v",
    ),
    "a list of a processor": (lambda: in_mastra(lambda _: [{"id": {1}}]), "hook mine: $[0].id"),
    "a list that is added to": (
        lambda: in_mastra(lambda args: args.message_list.add({"role": "user", "content": 1j}, "input")),
        "hook mine: $.content",
    ),
    "a context": (
        lambda: in_strands(wrapping(lambda context: context.update(messages=[{"v": {1}}]))),
        "hook mine: $.messages[0].v",
    ),
    "a result": (
        lambda: in_strands(
            strands.Middleware(stage="model", phase="output", call=lambda _: {"v": [{1}]}, name="mine")
        ),
        "hook mine: $.v[0]",
    ),
}


@pytest.mark.parametrize("given", GIVEN)
def test_what_a_hook_gives_is_raised_with_the_hook_and_the_place(given: str) -> None:
    give, text = GIVEN[given]
    with pytest.raises(HostValueError) as caught:
        give()
    assert f"{caught.value.source}: {caught.value.path}" == text


async def _asynchronous(*_: Any) -> None:
    """A hook, a tool or a model of an async program."""


asynchronous: Callable[..., Any] = _asynchronous


def with_tool(**fields: Any) -> dict[str, Any]:
    return {"tools": {"look": ai_sdk.Tool(**{"execute": giving(1), **fields})}}


AWAITED: Final[dict[str, tuple[Callable[[], Any], str]]] = {
    **{
        f"{name} of the AI SDK": (functools.partial(in_ai_sdk, asynchronous, name), f"hook {hook}")
        for name, hook in {
            "prepare_step": "prepareStep",
            "on_start": "onStart",
            "on_step_start": "onStepStart",
            "on_step_finish": "onStepFinish",
            "on_chunk": "onChunk",
            "on_finish": "onFinish",
            "on_tool_call_start": "onToolCallStart",
            "on_tool_call_finish": "onToolCallFinish",
            "stop_when": "stopWhen",
        }.items()
    },
    "a tool": (lambda: in_ai_sdk(None, **with_tool(execute=asynchronous)), "tool look"),
    "an approval": (
        lambda: in_ai_sdk(None, **with_tool(needs_approval=asynchronous)),
        "needsApproval of tool look",
    ),
    "an output": (
        lambda: in_ai_sdk(None, **with_tool(to_model_output=asynchronous)),
        "toModelOutput of tool look",
    ),
    "an input": (
        lambda: in_ai_sdk(None, **with_tool(on_input_available=asynchronous)),
        "hook onInputAvailable",
    ),
    "a model": (lambda: in_ai_sdk(None, model=ai_sdk.Model(id="m", answer=asynchronous)), "model"),
    "a processor": (lambda: in_mastra(asynchronous), "hook mine"),
    "a handler": (
        lambda: in_strands(strands.Middleware(stage="model", call=asynchronous, name="mine")),
        "hook mine",
    ),
    "an input handler": (
        lambda: in_strands(strands.Middleware(stage="model", phase="input", call=asynchronous, name="mine")),
        "hook mine",
    ),
    "an event": (
        lambda: in_strands(hooks=[strands.Hook("beforeModel", asynchronous)]),
        "hook hook:beforeModel",
    ),
    "a model of Strands": (lambda: in_strands(model=strands.Model(answer=asynchronous)), "model"),
}


@pytest.mark.parametrize("what", AWAITED)
def test_what_would_have_to_be_awaited_is_refused_and_not_passed_over(what: str) -> None:
    run, source = AWAITED[what]
    with pytest.raises(HostValueError, match="nobody awaits it here") as caught:
        run()
    assert (caught.value.source, caught.value.path) == (source, "$")


def test_a_wrap_handler_is_a_generator() -> None:
    with pytest.raises(HostValueError, match=r"hook mine: \$: a dict; a wrap handler is a generator"):
        in_strands(strands.Middleware(stage="model", call=giving({}), name="mine"))
