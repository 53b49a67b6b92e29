"""Which chunks whoever listens to a stream hears of, and when, against the calls of hooks and tools.

The orders in `data/chunk-orders.jsonl` were measured on the packages by `chunk_orders.mjs`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.frameworks import ai_sdk
from agentcore.oracle.drivers.packages import command

HERE: Final = Path(__file__).parent
MEASURED: Final = [json.loads(line) for line in (HERE / "data/chunk-orders.jsonl").read_text().splitlines()]
PROFILES: Final = {
    "6.0.134": "ai-sdk-6/stream",
    "6.0.326": "ai-sdk-6.0.326/stream",
    "7.0.173": "ai-sdk-7/stream",
}
RELEASES: Final = pytest.mark.parametrize("release", PROFILES)


def tool(name: str, spec: Mapping[str, Any], order: list[str]) -> ai_sdk.Tool:
    kind, approval = spec["kind"], spec.get("approval")

    def execute(_: Any, __: Any) -> int:
        order.append(f"execute {name}")
        if kind in ("throws", "rejects"):
            raise ValueError
        return 1

    def ask(_: Any, __: Any) -> bool:
        order.append(f"needsApproval {name}")
        return bool(approval == "asyncfn")

    def hear(_: Any) -> None:
        order.append(f"inputAvailable {name}")

    return ai_sdk.Tool(
        execute=execute,
        takes=1 if kind == "slow" else 0,
        asynchronous=kind != "throws",
        needs_approval=ask if isinstance(approval, str) else approval,
        on_input_available=hear if spec.get("available") else None,
    )


def order_of(profile: str, case: Mapping[str, Any], **hooks: Callable[[Any], Any]) -> list[str]:
    order: list[str] = []
    script = iter(case["script"])

    def answer(_: Any) -> list[dict[str, Any]]:
        order.append("model")
        parts: list[dict[str, Any]] = next(script, [])
        inputs: list[dict[str, Any]] = [{"input": {}} if "toolName" in part else {} for part in parts]
        # The ids are those of a provider that counts the parts of each answer.
        return [{"id": f"t{i}", **inputs[i], **part} for i, part in enumerate(parts)]

    def tell(what: str) -> Callable[[Any], None]:
        return lambda _: order.append(what)

    def of_tool(what: str) -> Callable[[Any], None]:
        return lambda event: order.append(f"{what} {event['toolCall']['toolName']}")

    told: dict[str, Any] = {
        "prepare_step": tell("prepareStep"),
        "on_step_start": tell("stepStart"),
        "on_chunk": lambda event: order.append(f"chunk {event['chunk']['type']}"),
        "on_tool_call_start": of_tool("toolStart"),
        "on_tool_call_finish": of_tool("toolFinish"),
        "on_step_finish": tell("stepFinish"),
        "on_finish": tell("finish"),
    }
    ai_sdk.run(
        profile,
        ai_sdk.Settings(
            messages=[{"role": "user", "content": "u"}],
            model=ai_sdk.Model(id="model", answer=answer),
            tools={name: tool(name, spec, order) for name, spec in case["tools"].items()} or None,
            hooks=ai_sdk.Hooks(**{**told, **hooks}),
            max_steps=4,
        ),
    )
    return order


@RELEASES
def test_whoever_listens_hears_of_chunks_when_the_package_tells(release: str) -> None:
    for each in MEASURED:
        assert order_of(PROFILES[release], each["case"]) == each["orders"][release], each["case"]


@pytest.mark.live
@RELEASES
def test_the_package_still_tells_when_it_was_measured_to(release: str) -> None:
    node, driver = command(f"ai-sdk@{release}")[:2]
    package = Path(driver).parent / "node_modules/ai"
    entry = json.loads((package / "package.json").read_text())["exports"]["."]["import"]
    entry = entry if isinstance(entry, str) else entry["default"]
    done = subprocess.run(
        [node, HERE / "chunk_orders.mjs", package / entry],
        input=json.dumps([each["case"] for each in MEASURED]),
        capture_output=True,
        text=True,
        check=True,
    )
    for each, order in zip(MEASURED, json.loads(done.stdout), strict=True):
        assert order == each["orders"][release], each["case"]


@RELEASES
def test_a_delta_that_is_written_is_written_in_the_text(release: str) -> None:
    texts = []

    def write(event: Any) -> None:
        if event["chunk"]["type"] == "text-delta":
            event["chunk"]["text"] += "!"

    case = {"script": [[{"type": "text", "text": "ab", "deltas": ["a", "b"]}]], "tools": {}}
    order_of(PROFILES[release], case, on_chunk=write, on_step_finish=lambda step: texts.append(step["text"]))
    assert texts == ["a!b!"]


def test_a_step_of_7_ends_for_what_whoever_listens_wrote() -> None:
    reasons = []

    def write(event: Any) -> None:
        if event["chunk"]["type"] == "finish-step":
            event["chunk"]["finishReason"] = "written"

    order_of(
        PROFILES["7.0.173"],
        {"script": [[{"type": "text", "text": "a"}]], "tools": {}},
        on_chunk=write,
        on_step_finish=lambda step: reasons.append(step["finishReason"]),
    )
    assert reasons == ["written"]
