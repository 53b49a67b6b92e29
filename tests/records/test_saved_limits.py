"""What a file from a stranger can do: nothing that costs more than its own size and a limit."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.errors import SavedRunError
from agentcore.machine.effects import Settings
from agentcore.machine.run import Run
from agentcore.messages.messages import Message, TextPart, UserMessage
from agentcore.records.history import fork
from agentcore.records.saved import RunLog, from_json, load, outcome_from_json, to_json
from agentcore.requirements.rules import Rule
from counting import bytes_of, calls_of, growth
from plays import REMINDER, SUMMARY, Play, differences, on, played
from rulebook import states
from scripted import TOOL, USER, call

# ---------------------------------------------------------------- files that say much in few words

MANY: Final = [
    10**3,
    10**6,
    10**9,
    10**40,
    2**53 - 1,
    2**53,
    2**63,
    -1,
    -(10**9),
    True,
    1.0,
    1e300,
    "9",
    None,
]


def of_hooks(*hooks: str, steps: int = 3) -> dict[str, Any]:
    return to_json(played(Play(script=[[call(f"c{n}")] for n in range(steps)], hooks=[*hooks] * 9))[-1])


def nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """All containers in a value, each with all its keys."""
    pending = [value]
    while pending:
        one = pending.pop()
        for key in one if isinstance(one, dict) else range(len(one)):
            yield one, key
            if isinstance(one[key], dict | list):
                pending.append(one[key])


def refused_cheaply(saved: Any) -> SavedRunError | None:
    """Load it: how that was refused, if it was; at a cost that numbers in it have nothing to do with."""
    size = sum(1 for _ in nodes(saved)) if isinstance(saved, dict) else 0
    try:
        assert calls_of(lambda: from_json(saved)) < 20_000 + 120 * size
    except SavedRunError as error:
        return error
    return None


@pytest.mark.slow
def test_no_number_in_a_saved_run_makes_more_than_the_run_has() -> None:
    refused, numbers = 0, cycle(MANY)
    for saved in (of_hooks("remind"), of_hooks("stay"), of_hooks("keeping listing", steps=1)):
        for place, key in [*nodes(saved)]:
            known = place[key]
            if type(known) is not int:
                continue
            for _ in range(4):
                place[key] = next(numbers)
                refused += refused_cheaply(saved) is not None
            place[key] = known
        from_json(saved)
    assert refused > 100


@pytest.mark.measured
@pytest.mark.parametrize(
    ("ids", "path", "says"),
    [
        ([["initial", 0, 10**12]], "", "as many ids as there are messages here, which is 5"),
        ([["initial", 0, 4]], "", "which is 5"),
        ([["initial", 0, 5], ["initial", 0, 1]], "", "which is 5"),
        ([["initial", 0, 2]] * 3, "", "which is 5"),
        ([["initial", 10**20, 5]], "[0]", "use [name, first number, count]"),
        ([["initial", -1, 5]], "[0]", "use [name, first number, count]"),
        ([["initial", 0, True]], "[0]", "use [name, first number, count]"),
        ([["initial", 0, 5, 0]], "[0]", "use [name, first number, count]"),
        ([{"input": 10**12}], "[0]", 'use {"input": count}'),
        ([{"input": -1}], "[0]", 'use {"input": count}'),
        ([{"input": 3, "more": 1}], "[0]", 'use {"input": count}'),
        ([{}], "[0]", 'use {"input": count}'),
        ([["initial", 0, 2], {"input": 3}], "[1]", "expected an array"),
        (3, "", "expected an array"),
    ],
)
@pytest.mark.parametrize(("index", "name"), [(0, "lastingIds"), (1, "ids")])
def test_ids_are_counted_before_any_is_made(index: int, name: str, ids: Any, path: str, says: str) -> None:
    saved = of_hooks("keeping listing")
    place = max(n for n, one in enumerate(saved["outcomes"]) if one["type"] == "processed")
    saved["outcomes"][place]["edits"][index][name] = ids
    saved["outcomes"][place]["places"][index]["messages" if index else "lastingMessages"] = [
        ["initial", 0, 1]
    ] * 5
    with pytest.raises(SavedRunError) as caught:
        from_json(saved)
    assert caught.value.path == f"$.outcomes[{place}].edits[{index}].{name}{path}"
    assert says in caught.value.reason


def test_ids_of_an_outcome_by_itself_are_counted_as_well() -> None:
    edit = {"processorId": "p", "override": {"messages": [{"role": "user", "content": "u"}]}}
    outcome = {"type": "processed", "edits": [{**edit, "ids": [["x", 0, 10**12]]}]}
    with pytest.raises(SavedRunError, match="which is 1"):
        outcome_from_json(outcome)
    for ids in ([{"input": 1}], [["x", 0, 1], ["y", 0, 0], ["z", 1, 10**9]]):
        with pytest.raises(SavedRunError):
            outcome_from_json({"type": "processed", "edits": [{**edit, "ids": ids}]})
    forked = {"type": "forked", "settings": {"model": "m"}, "ids": [["x", 0, 10**12]]}
    with pytest.raises(SavedRunError, match="which is 0"):
        outcome_from_json(forked)


MESSAGES: Final = [{"role": "user", "content": "u"}] * 1_000
HOOK: Final = {"type": "hook-result"}
ASKED: Final = {"name": "n", "source": "tool"}


def file(*outcomes: Any, **settings: Any) -> dict[str, Any]:
    tools = [{"name": "t"}, *settings.pop("tools", [])]
    return {
        "version": 3,
        "settings": {"model": "m", "maxSteps": 2**53 - 1, "tools": tools, **settings},
        "initial": MESSAGES,
        "others": [],
        "outcomes": [*outcomes],
        "response": [],
        "pending": "Done",
    }


def edited(places: Any, ids: Any = None, **override: Any) -> dict[str, Any]:
    edit = {"processorId": "p", "override": override, **(ids or {})}
    return {"type": "processed", "edits": [edit], "places": [places]}


def answer(*names: str, **fields: Any) -> dict[str, Any]:
    calls = [
        {"type": "tool-call", "toolCallId": f"c{index}", "toolName": name, "input": {}}
        for index, name in enumerate(names)
    ]
    return {"type": "model-answer", "content": calls, **fields}


def ran(count: int = 1) -> dict[str, Any]:
    outcomes = [{"type": "succeeded", "toolCallId": f"c{index}", "output": 0} for index in range(count)]
    return {"type": "tool-outcomes", "outcomes": outcomes}


def steps(count: int, first: Any = HOOK, **fields: Any) -> list[Any]:
    return [first, HOOK, answer("t", **fields), ran(), HOOK, HOOK] * count


WINDOW: Final = [["initial", 1, 999]]
TOOLS: Final = [{"name": f"t{n}"} for n in range(1_000)]
OPTIONS: Final = {"p": {f"k{n}": n for n in range(1_000)}}
# Each line of these costs a thousand times what is written in it.
SHORT: Final[dict[str, Any]] = {
    "windows": file(*steps(50, edited({"messages": WINDOW}))),
    "windows that last": file(*steps(50, edited({"lastingMessages": WINDOW}, {"lastingIds": WINDOW}))),
    "segments": file(edited({"messages": WINDOW * 50})),
    "edits": file(
        {"type": "processed", "edits": edited({})["edits"] * 50, "places": [{"messages": WINDOW}] * 50}
    ),
    "forks": file(
        *[{"type": "forked", "settings": {"model": "m"}, "places": [{"messages": WINDOW}], "ids": WINDOW}]
        * 50
    ),
    "names of ids": file(edited({"messages": WINDOW}, {"ids": [["x" * 5_000, 0, 999]]})),
    "questions": file(
        {"type": "asked", "interrupts": [{**ASKED, "name": f"n{n}"} for n in range(1_000)]},
        *[{"type": "asked", "interrupts": [ASKED]}] * 50,
    ),
    "answers": file(
        *[
            one
            for n in range(500)
            for one in (
                {"type": "asked", "interrupts": [{**ASKED, "name": f"n{n}"}]},
                {"type": "answered", "answers": {f"tool/n{n}": 0}},
            )
        ]
    ),
    "states": file(
        *[one for n in range(300) for one in steps(1, requestedModel=f"m{n}", modelState={"n": n})]
    ),
    "tools": file(*steps(200), tools=TOOLS),
    "tools that are offered": file(*steps(200), tools=TOOLS, activeTools=["t"]),
    "instructions": file(*steps(200), system=[{"role": "system", "content": "s"}] * 1_000),
    "unknown tools": file(HOOK, HOOK, answer(*["x"] * 1_000), tools=[{"name": "y" * 4_000}]),
    "hidden tools": file(
        HOOK, HOOK, answer(*["t"] * 1_000), tools=[{"name": "y" * 4_000}], activeTools=["y" * 4_000]
    ),
    "outcomes": file(
        HOOK, HOOK, answer(*["t"] * 500), *({**ran(), "outcomes": [one]} for one in ran(500)["outcomes"])
    ),
    "options": file(*steps(50, edited({}, providerOptions={"p": {"k": 1}})), providerOptions=OPTIONS),
    "options of edits": file(
        {
            "type": "processed",
            "edits": [
                *edited({}, providerOptions=OPTIONS)["edits"],
                *edited({}, providerOptions={"q": {}})["edits"] * 50,
            ],
            "places": [{}] * 51,
        }
    ),
}


@pytest.mark.slow
@states(Rule.RUN_LOAD_BOUNDED)
@pytest.mark.parametrize("name", SHORT)
def test_a_run_that_comes_to_much_more_than_its_text_has_a_limit(name: str) -> None:
    with pytest.raises(SavedRunError, match="than the limit allows; if you trust") as caught:
        from_json(SHORT[name], limit=20_000)
    assert caught.value.path.startswith("$.outcomes[")
    # With more room it is played, and something else is wrong with it.
    with pytest.raises(SavedRunError) as caught:
        from_json(SHORT[name])
    assert "limit" not in caught.value.reason


@pytest.mark.slow
@pytest.mark.parametrize("hook", ["remind", "stay", "compact", "forget", "context", "options"])
def test_a_run_of_hundreds_of_steps_is_far_from_the_limit(hook: str) -> None:
    run = long_run(hook)(200)
    assert from_json(to_json(run), limit=2_000) == run


def test_the_limit_bounds_memory_as_well() -> None:
    saved = file(*steps(200, edited({"lastingMessages": WINDOW}, {"lastingIds": WINDOW})))

    def load() -> None:
        with pytest.raises(SavedRunError, match="than the limit"):
            from_json(saved, limit=100_000)

    assert bytes_of(load) < 100_000 * 250


# ---------------------------------------------------------------- files with anything changed

OTHERS: Final[list[Any]] = [
    *MANY,
    False,
    float("nan"),
    "",
    "x" * 1_000,
    "\ud800",
    [],
    {},
    [[]],
    [{}],
    {"input": 1},
    [["input", 0, 1]],
    {"type": "text", "text": "a"},
    {"role": "user", "content": "a"},
    b"bytes",
    {1: 2},
    object(),
]


def deep(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def changed(saved: Any, drawn: random.Random) -> Any:
    """The saved run with one thing in it changed: a value, a type, a name, how often, or how deep."""
    saved = copy.deepcopy(saved)
    places = [*nodes(saved)]
    place, key = drawn.choice(places)
    other, name = drawn.choice(places)
    here = place[key]
    kind = drawn.randrange(6)
    if kind == 0:
        place[key] = drawn.choice(OTHERS)
    elif kind == 1:
        place[key] = copy.deepcopy(other[name])
    elif kind == 2:
        place[key] = here * drawn.choice([2, 50]) if isinstance(here, list | str) else deep(3_000)
    elif kind == 3:
        del place[key]
    elif kind == 4 and isinstance(place, list):
        place.insert(key, copy.deepcopy(here))
    elif isinstance(place, dict):
        place[drawn.choice(["ids", "lastingIds", "places", "type", "messages", "more"])] = here
    return saved


def seeds() -> list[Any]:
    runs = [
        played(Play(script=[[call("a")], [call("b", "asks")]], hooks=[hook] * 4, asks=frozenset({3})))[-1]
        for hook in ("remind", "stay", "both", "systems", "options", "keeping listing", "setting trimming")
    ]
    branch = fork(runs[0], 1, settings=Settings(model="n", tools=[TOOL]), messages=[SUMMARY, USER, REMINDER])
    runs.append([*on(branch, Play(hooks=["stay"] * 4))][-1])
    runs.append(played(Play(settings=Settings(model="m", process_input=True), input="listing"))[-1])
    runs.append(played(Play(script=[[call("a")]], ends=4))[-1])
    return [to_json(run) for run in runs]


@pytest.mark.slow
def test_whatever_is_changed_in_a_saved_run_it_is_loaded_or_refused_and_nothing_else() -> None:
    drawn = random.Random(3)  # noqa: S311 - the same changes each time
    known, outcomes = seeds(), {"loaded": 0, "refused": 0}
    for _ in range(600):
        saved = changed(drawn.choice(known), drawn)
        error = refused_cheaply(saved)
        outcomes["loaded" if error is None else "refused"] += 1
        assert error is None or error.path.startswith("$")
    assert min(outcomes.values()) > 50


# ---------------------------------------------------------------- growth


def long_run(hook: str) -> Callable[[int], Run]:
    def run(count: int) -> Run:
        settings = Settings(model="m", tools=[TOOL], max_steps=count)
        messages: list[Message] = [UserMessage([TextPart(f"{n}")]) for n in range(40)]
        play = Play(
            settings=settings,
            messages=messages,
            script=[[call(f"c{n}")] for n in range(count)],
            hooks=[hook] * count,
            enough=count,
        )
        last = played(play)[-1]
        assert last.step_number == count
        return last

    return run


# `remind` brings in one message at a step's prompt, `stay` one for good, by which messages of three kinds
# alternate in the step input; `listing` also says which ids its messages have.
HOOKED: Final = ["nothing", "remind", "stay", "systems", "listing"]


@pytest.mark.slow
@pytest.mark.parametrize("hook", HOOKED)
def test_saving_and_loading_grow_as_the_run_does(hook: str) -> None:
    run = long_run(hook)
    # A list that a hook made anew at each step is gone through whole, as the hook has done.
    most = 4.2 if hook == "listing" else 2.2
    assert growth(to_json, run, 100) < most
    assert growth(from_json, lambda count: to_json(run(count)), 100) < most


@pytest.mark.slow
@pytest.mark.parametrize("hook", HOOKED)
def test_a_line_of_a_log_is_as_long_after_many_steps_as_after_few(tmp_path: Path, hook: str) -> None:
    run, log = long_run(hook)(200), RunLog(tmp_path / "run")
    for moment in run.history:
        log(moment)
    lines = [len(line) for line in (tmp_path / "run").read_text("ascii").splitlines()]
    assert max(lines[150:]) < max(lines[20:40]) * 1.2
    assert not list(differences(load(tmp_path / "run"), run.history[-1]))


@pytest.mark.slow
@pytest.mark.parametrize("hook", HOOKED)
def test_the_text_grows_as_the_run_does_and_what_is_loaded_is_the_run(hook: str) -> None:
    small, large = (len(str(to_json(long_run(hook)(count)))) for count in (100, 200))
    assert large / small < 2.2
    run = long_run(hook)(40)
    assert not list(differences(from_json(to_json(run)), run))
    assert to_json(from_json(to_json(run))) == to_json(run)
