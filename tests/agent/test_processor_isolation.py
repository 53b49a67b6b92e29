"""Random processors that write wherever they can reach no other step, run, processor or the caller."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Final

import anyio
import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.kit import add, call, run_by, scripted, text
from agentcore.agent.agent import Agent, AgentResult
from agentcore.errors import ImmutableWriteError
from agentcore.machine.processors import StepArguments
from agentcore.messages.messages import Message, TextPart, UserMessage
from agentcore.messages.values import thaw
from agentcore.messages.wire import message_to_wire

STEPS: Final = 3
# Each example is four runs, and there are four ways of running it.
FEW: Final = max(settings().max_examples // 8, 1)
FIRST: Final = UserMessage([TextPart("first", {"p": {}})], {"p": {"cached": [1]}})
HISTORY: Final[list[Message]] = [
    UserMessage([TextPart("first", {"p": {"cached": [1]}})]),
    UserMessage("second"),
]


# ---------------------------------------------------------------- what processors do


def wires(messages: Iterable[Message]) -> list[Any]:
    """The messages as plain values of their own."""
    return [thaw(message_to_wire(one)) for one in messages]


def marked(marker: str) -> UserMessage:
    return UserMessage([TextPart(marker)])


def overwrite(step: Any, marker: str) -> None:
    """Writes into everything that it is handed; all of it is refused."""
    for attribute in attrs.fields(StepArguments):
        refused(setattr, step, attribute.name, marker)
    for message in (*step.messages, *step.system_messages, *step.initial_messages):
        refused(setattr, message, "content", marker)
        for part in () if isinstance(message.content, str) else message.content:
            refused(setattr, part, "provider_options", marker)
    containers = (step.messages, step.tools, step.steps, step.provider_options, step.model_settings)
    cached: Any = FIRST.provider_options
    read: tuple[Any, ...] = (*containers, step.request_context, cached, cached["p"], cached["p"]["cached"])
    for container in read:
        refused(operator.setitem, container, 0, marker)
        refused(operator.setitem, container, "p", marker)
        refused(getattr(container, "append" if isinstance(container, Sequence) else "update"), {})


def refused(write: Callable[..., object], *arguments: object) -> None:
    try:
        write(*arguments)
    except (ImmutableWriteError, TypeError):
        return
    raise AssertionError(arguments)


def edit_list(step: StepArguments, marker: str) -> None:
    listed = step.message_list
    listed.replace(listed.ids[0], marked(marker))
    listed.add([marked(f"{marker}+")])
    listed.add_system(marker)


def empty_list(step: StepArguments, _: str) -> None:
    step.message_list.remove_by_ids(step.message_list.ids[:-1])


DOINGS: Final[dict[str, Callable[[StepArguments, str], Any]]] = {
    "nothing": lambda _, __: None,
    "overwrite": overwrite,
    "edit the list": edit_list,
    "empty the list": empty_list,
    "remind": lambda step, marker: [*step.messages, marked(marker)],
    "replace all": lambda _, marker: [marked(marker)],
    "state": lambda step, marker: {"system_messages": [*step.system_messages, marker]},
    "state among messages": lambda step, marker: [*step.messages, {"role": "system", "content": marker}],
    "set": lambda _, marker: {
        "provider_options": {"p": {"a": marker}},
        "model_settings": {"user": marker},
        "experimental_context": {"by": marker},
        "active_tools": ["add"],
    },
    "set in json": lambda step, marker: {
        "messages": wires(step.messages),
        "provider_options": {marker: {}},
    },
}


@attrs.define
class Writer:
    """A processor that does as told, keeps what it was handed, and writes into it later again."""

    id: str
    doings: list[str]
    is_async: bool
    markers: Iterator[int]
    views: list[tuple[StepArguments, Any]] = attrs.field(factory=list)

    def process_input_step(self, step: StepArguments) -> Any:
        for before, _ in self.views:
            overwrite(before, "late")
            with suppress(Exception):
                before.message_list.add(marked("late"))
        self.views.append((step, seen(step)))
        doing = DOINGS[self.doings[step.step_number]]
        marker = f"{self.id}/{next(self.markers)}"
        return self.later(doing, step, marker) if self.is_async else doing(step, marker)

    async def later(self, doing: Callable[..., Any], step: StepArguments, marker: str) -> Any:
        await anyio.lowlevel.checkpoint()
        result = doing(step, marker)
        await anyio.lowlevel.checkpoint()
        return result


def seen(step: StepArguments) -> Any:
    """Everything that a processor is handed, as plain values of its own."""
    fields = {
        attribute.name: getattr(step, attribute.name)
        for attribute in attrs.fields(StepArguments)
        if attribute.name not in ("message_list", "steps")
    }
    plain = {
        name: wires(value) if name.endswith("messages") else thaw(value)
        for name, value in fields.items()
        if name != "tools"
    }
    return copy.deepcopy(plain | {"steps": len(step.steps)})


writers: Final = st.lists(
    st.tuples(
        st.lists(st.sampled_from([*DOINGS]), min_size=STEPS, max_size=STEPS),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)


def made(program: Any) -> list[Writer]:
    markers = count()
    return [
        Writer(id=f"w{number}", doings=doings, is_async=is_async, markers=markers)
        for number, (doings, is_async) in enumerate(program)
    ]


# ---------------------------------------------------------------- runs


def agent(caller: Any, processors: Any) -> Agent[None]:
    script = [[call("add", f"c{number}", a=number)] for number in range(STEPS - 1)]
    return Agent(
        scripted(*script, text()),
        tools=[add],
        system="s",
        # They cut calls from their results as well.
        validate_prompt=False,
        input_processors=processors,
        provider_options=caller["provider_options"],
        settings=caller["settings"],
        experimental_context=caller["experimental_context"],
    )


def of_caller() -> dict[str, Any]:
    return {
        "messages": list(HISTORY),
        "provider_options": {"p": {"a": 1}},
        "settings": {"temperature": 0},
        "experimental_context": {"k": [1]},
    }


def lasting(result: AgentResult[Any]) -> list[Any]:
    """What outlives the steps, and what each step began with, as plain values."""
    plain = [
        [thaw(message_to_wire(one)) for one in result.messages],
        thaw(result.run.settings.provider_options),
    ]
    for record in result.steps:
        plain.append([thaw(message_to_wire(one)) for one in record.step_input])
        plain.append([thaw(message_to_wire(one)) for one in record.messages])
    return plain


def first_views(writer: Writer) -> list[Any]:
    """What the first processor was handed at each step, but for the steps that were before."""
    return [view | {"processor_id": ""} for _, view in writer.views]


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("path", ["generate", "stream"])
@given(program=writers)
@settings(max_examples=FEW)
def test_no_processor_changes_another_step_run_processor_or_the_caller(
    path: str, backend: str, program: Any
) -> None:
    async def main() -> None:
        caller, untouched = of_caller(), of_caller()
        messages = caller["messages"]
        kept = [[*map(id, messages)], wires(messages)]
        plain = made([(["nothing"] * STEPS, False)])
        alone = await run_by(path, agent(caller, plain), messages=messages)
        ours = [made(program) for _ in range(3)]
        results: list[Any] = [None] * 4

        async def run(number: int, processors: Any) -> None:
            results[number] = await run_by(path, agent(caller, processors), messages=messages)

        async with anyio.create_task_group() as group:
            for number, processors in enumerate([*ours, []]):
                group.start_soon(run, number, processors)

        # Another run, beside it and after it: the same program does the same thing, and none does nothing.
        assert lasting(results[3]) == lasting(alone)
        assert all(result.run == results[0].run for result in results[1:3])
        for one, other in zip(ours[0], ours[1], strict=True):
            assert [view for _, view in one.views] == [view for _, view in other.views]
        # Another step: each begins, and ends, as without any processor.
        assert lasting(results[0]) == lasting(alone)
        assert first_views(ours[0][0]) == first_views(plain[0])
        # Another processor's view, also a later look at what it was handed.
        for writer in (*plain, *(each for processors in ours for each in processors)):
            assert len(writer.views) == STEPS
            assert all(seen(step) == view for step, view in writer.views)
        # The caller's objects.
        assert [[*map(id, messages)], wires(messages)] == kept
        assert caller == untouched

    anyio.run(main, backend=backend)


def test_what_processors_do_shows_in_the_step_that_they_do_it_in() -> None:
    """The programs above are about something: each kind of edit reaches its own prompt, and no other."""

    async def main() -> None:
        for doing in ("edit the list", "remind", "replace all", "state", "state among messages"):
            (writer,) = made([(["nothing", doing, "nothing"], True)])
            result = await agent(of_caller(), [writer]).generate(messages=HISTORY)
            reached = [
                "w0/1" in str([message_to_wire(one) for one in record.prompt]) for record in result.steps
            ]
            assert reached == [False, True, False], doing

    anyio.run(main)
