"""The driver of the real package, which needs Node and the package."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from agentcore.kit.program import schema
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Answer, Driver, Malformed

pytestmark = pytest.mark.live

Json = dict[str, Any]
CALL = {"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": {"a": "#1"}}
LOOKING: Json = {
    "script": [[CALL], [{"type": "text", "text": "#2"}]],
    "tools": {"look": {"output": {"r": "#3"}}},
}


@pytest.fixture(scope="module", params=["mastra@1.71.0", "mastra@1.0.4"])
def argv(request: pytest.FixtureRequest) -> tuple[str, ...]:
    try:
        return targets.command(request.param)
    except targets.TargetError as error:
        # On a developer's machine without Node the rest of the tests are worth running; CI has it.
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def driver(argv: tuple[str, ...]) -> Iterator[Driver]:
    with Driver(argv, trace_fields=("events",)) as running:
        yield running


def trace(driver: Driver, **program: Any) -> Json:
    outcome = driver.run({"id": "a", **program})
    assert isinstance(outcome, Answer), outcome
    return outcome.trace


def with_step(*ops: Json, **program: Any) -> Json:
    return {"processors": [{"id": "p", "steps": {"0": list(ops)}}], "prepareStep": {"*": []}, **program}


def test_the_smallest_program_says_hi(driver: Driver) -> None:
    found = trace(driver)
    assert found["events"] == ["model:base"]
    assert found["model"][0]["prompt"][-1]["content"][0]["text"] == "hi"
    assert found["final"]["text"] == "ok"
    assert found["error"] is None


@pytest.mark.parametrize("path", ["generate", "stream"])
def test_a_trace_is_what_the_schema_says(driver: Driver, path: str) -> None:
    validator = jsonschema_rs.validator_for(schema("trace", "agentcore.frameworks.mastra"))
    for ops in ([], [{"op": "abort", "reason": "#4"}], [{"op": "throw", "message": "#5"}]):
        assert validator.is_valid(trace(driver, **with_step(*ops, **LOOKING, path=path)))


def test_events_are_in_the_order_in_which_things_were_called(driver: Driver) -> None:
    program = with_step(**LOOKING)
    program["processors"][0]["input"] = []
    assert trace(driver, **program)["events"] == [
        *("p@input", "p@0", "prepareStep@0", "model:base", "tool:look"),
        *("p@1", "prepareStep@1", "model:base"),
    ]


@pytest.mark.parametrize(
    ("ops", "seen"),
    [
        ([], ["#a", "#b"]),
        ([{"op": "set", "at": [0, "content", "parts", 0, "text"], "value": "x"}], ["x", "#b"]),
        ([{"op": "append", "at": [-1, "content", "parts", 0, "text"], "value": "x"}], ["#a", "#bx"]),
        ([{"op": "delete", "at": [0, "content", "parts", 0, "text"]}], [None, "#b"]),
        ([{"op": "push", "message": {"role": "user", "text": "x"}}], ["#a", "#b", "x"]),
        ([{"op": "splice", "start": 0, "count": 1}], ["#b"]),
        ([{"op": "splice", "start": -1}], ["#a"]),
        ([{"op": "reverse"}], ["#b", "#a"]),
        (
            [
                {"op": "stash", "name": "m", "at": [0]},
                {"op": "append", "on": "stash:m", "at": ["content", "parts", 0, "text"], "value": "x"},
            ],
            ["#ax", "#b"],
        ),
        ([{"op": "list", "call": "removeByIds", "ids": ["b"]}], ["#a"]),
        ([{"op": "return", "messages": {"from": "list", "pipe": [{"drop": 1}]}}], ["#b"]),
        ([{"op": "returnMessages", "messages": {"from": "current", "pipe": [{"last": 1}]}}], ["#b"]),
        ([{"op": "return", "messages": {"from": "current", "pipe": [{"ids": ["a"]}]}}], ["#a"]),
        (
            [{"op": "return", "messages": {"from": "current", "pipe": [{"mapText": {"suffix": "x"}}]}}],
            ["#ax", "#bx"],
        ),
    ],
)
def test_an_op_does_what_the_format_says(driver: Driver, ops: list[Json], seen: list[str]) -> None:
    messages = [
        {
            "id": name,
            "role": "user",
            "content": {"format": 2, "parts": [{"type": "text", "text": f"#{name}"}]},
        }
        for name in ("a", "b")
    ]
    processors = [{"id": "p", "where": "ctor", "steps": {"0": ops}}]
    found = trace(driver, messages=messages, processors=processors)
    prompt = [message for message in found["model"][0]["prompt"] if message["role"] == "user"]
    assert [part.get("text") for message in prompt for part in message["content"]] == seen


def test_an_op_that_leads_nowhere_is_listed_and_the_run_goes_on(driver: Driver) -> None:
    found = trace(driver, **with_step({"op": "set", "at": [9, "x"], "value": 1}))
    assert found["opErrors"] == ["p@0, op 0: no element 9"]
    assert found["error"] is None


def test_what_the_package_logs_is_in_the_trace_and_not_on_the_output(driver: Driver) -> None:
    found = trace(driver, prepareStep={"0": [{"op": "throw", "message": "#9"}]})
    assert {"name": "Error", "class": "Error", "message": "#9"} in found["logged"]


def test_the_callers_objects_that_changed_are_shown(driver: Driver) -> None:
    write = {"op": "set", "on": "providerOptions", "at": ["x", "k"], "value": "#2"}
    found = trace(driver, **with_step(write, providerOptions={"x": {"k": "#1"}}))
    assert found["callerChanged"] == {"providerOptions": {"x": {"k": "#2"}}}


def test_drawn_ids_are_numbered_and_dates_are_hidden(driver: Driver) -> None:
    found = trace(driver, **with_step(messages=["#1", "#2"]))
    seen = found["received"][0]["got"]["messages"]
    assert [message["id"] for message in seen] == ["<id1>", "<id2>"]
    assert [message["createdAt"] for message in seen] == ["<date>", "<date>"]


def test_a_date_of_the_year_2000_is_shown(driver: Driver) -> None:
    message = {"id": "s", "role": "user", "createdAt": "2000-01-01T00:00:00Z", "content": "#1"}
    found = trace(driver, **with_step(messages=[{**message, "content": {"format": 2, "parts": []}}]))
    assert found["received"][0]["got"]["messages"][0]["createdAt"] == "2000-01-01T00:00:00.000Z"


def test_a_run_that_takes_too_long_is_no_trace(driver: Driver) -> None:
    # A model that failed is called again after a while.
    failing = [{"type": "throw", "message": "#1"}]
    outcome = driver.run({"id": "slow", "script": [failing], "maxRetries": 1, "timeoutMs": 200})
    assert isinstance(outcome, Malformed)
    assert "no outcome after 200 ms" in outcome.output


def test_programs_run_side_by_side_are_answered_in_their_order(argv: tuple[str, ...]) -> None:
    throwing = {"id": "first", "script": [[{"type": "throw", "message": "#1"}]], "fallbackModels": ["second"]}
    programs: list[Json] = [throwing, *({"id": number} for number in range(40))]
    lines = [json.dumps(program) for program in programs]
    done = subprocess.run(
        argv, input="\n".join([*lines, "7", "{"]), capture_output=True, text=True, check=True, timeout=60
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer.get("id") for answer in answers] == [*(p["id"] for p in programs), None, None]
    assert [answer["driverError"][:11] for answer in answers[-2:]] == ["BadProgram:"] * 2
    assert all(answer["error"] is None for answer in answers[:-2])
