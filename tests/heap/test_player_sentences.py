"""What the player says of a write in words."""

from __future__ import annotations

from typing import Any

from agentcore.frameworks import ai_sdk
from agentcore.heap.player import Comparison, document


def test_a_write_to_what_a_tool_made_itself_is_told_without_a_holders_name() -> None:
    kept: list[Any] = []

    def look(given: Any, _: Any) -> Any:
        if kept:
            kept[0]["sky"] = "grey"
        kept.append(given.desk.view(given.desk.slot({"sky": "clear"})))
        return kept[-1]

    calls = [[{"type": "tool-call", "toolCallId": f"c{n}", "toolName": "look", "input": {}}] for n in (0, 1)]
    run = ai_sdk.run(
        "ai-sdk-6/stream",
        ai_sdk.Settings(
            messages=[{"role": "user", "content": "hi"}],
            model=ai_sdk.Model.scripted(*calls, [{"type": "text", "text": "done"}]),
            tools={"look": ai_sdk.Tool(execute=look)},
        ),
    )
    (scene,) = document([Comparison("", [run.recorded])], "")["scenes"]
    (write,) = [moment for moment in scene["runs"][0]["moments"] if moment["kind"] == "write"]
    assert write["says"].endswith('sets object.sky in place, from "clear" to "grey".')
    assert any("response chain" in line for line in write["lines"])
