"""How many files of the package a call of an agent passes through: what somebody reads who follows one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Final

import anyio

import agentcore
from agentcore import Agent, GeneratedText, ScriptedModel, StepArguments, ToolCall, UserMessage, tool

PACKAGE: Final = Path(agentcore.__file__).parent
MOST: Final = 24


@tool
def look(word: str) -> str:
    """Look a word up."""
    return f"{word} is a word"


def remind(step: StepArguments[Any]) -> dict[str, Any]:
    return {"messages": [*step.messages, UserMessage("be brief")]}


def agent() -> Agent[None]:
    called = ToolCall(tool_call_id="c", tool_name="look", input={"word": "a"})
    return Agent(ScriptedModel([[called], [GeneratedText("done")]]), tools=[look], prepare_step=remind)


def passed_through() -> set[str]:
    """The files with a function that runs in the second of two equal calls: the first one fills caches."""
    anyio.run(agent().generate, "hi")
    second, files = agent(), set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PACKAGE):
            files.add(file.relative_to(PACKAGE).as_posix())

    async def generate() -> int:
        sys.setprofile(note)
        try:
            return len((await second.generate("hi")).run.steps)
        finally:
            sys.setprofile(None)

    assert anyio.run(generate) == 2
    return files


def test_a_call_with_two_steps_a_tool_and_a_hook_passes_through_few_files() -> None:
    # In a process of its own, because whoever measures coverage has the profile function.
    found = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    ).stdout.split()
    seen = {"agent/agent.py", "agent/call/loop.py", "machine/run.py", "machine/step.py", "messages/chains.py"}
    assert seen <= {*found}
    assert len(found) <= MOST, found
    # No error is made on the way, such as that of a write which typing tries and drops.
    assert "errors.py" not in found


if __name__ == "__main__":
    sys.stdout.write("\n".join(sorted(passed_through())))
