"""Random programs on the real stores of agentcore come to what the profile `store/agentcore` says."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from agentcore.conversations.sql import SqlStore
from agentcore.conversations.stores import ConversationStore, MemoryStore
from agentcore.errors import AgentCoreError
from agentcore.frameworks.store_boundary.family import FAMILY
from frameworks.store_boundary.real_stores import RealRun, normal

Json = dict[str, Any]
PROFILE: Final = "store/agentcore"


def plain_messages(value: Any) -> Any:
    """A program whose messages are those of agentcore: parts, no ids, no metadata, and no system messages.

    An agent puts its system messages in front of each prompt, wherever they stand.
    """
    if isinstance(value, dict):
        kept = {key: plain_messages(each) for key, each in value.items()}
        if "role" in kept:
            return normal({**kept, "role": "user" if kept["role"] == "system" else kept["role"]})
        return kept
    return [plain_messages(each) for each in value] if isinstance(value, list) else value


def seen(trace: Json) -> tuple[Any, ...]:
    """What a trace has that a real store shows."""
    loads = [(entry["head"], [*map(normal, entry["messages"])]) for entry in trace["loads"]]
    saves = [
        (entry["turn"], entry["expected"], entry["actual"], entry.get("refused", False), entry["stored"])
        for entry in trace["saves"]
    ]
    return loads, [(*each[:4], [*map(normal, each[4])]) for each in saves]


async def compared(program: Json, store: ConversationStore) -> int:
    """How many prompts were compared; the run on the real store is what the profile says."""
    trace = FAMILY.trace(program, PROFILE)
    real = RealRun(program, store, uuid.uuid4().hex)
    stored = await real.run()
    assert seen({"loads": real.loads, "saves": real.saves}) == seen(trace)
    assert stored == [*map(normal, trace["final"]["stored"])] == [*map(normal, trace["final"]["intended"])]
    for turn, prompts in real.prompts.items():
        asked = [entry["messages"] for entry in trace["prompts"] if entry["turn"] == turn]
        assert prompts == [[*map(normal, messages)] for messages in asked]
    return sum(map(len, real.prompts.values()))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "programs"), [("memory", 200), ("sqlite", 30)])
def test_a_real_store_does_what_the_profile_says(kind: str, programs: int, tmp_path: Path) -> None:
    store = MemoryStore() if kind == "memory" else SqlStore(f"sqlite:///{tmp_path}/a.db")
    prompts = left_out = 0
    for program in FAMILY.programs(range(programs), PROFILE):
        try:
            prompts += anyio.run(compared, plain_messages(program), store)
        except AgentCoreError:
            # A hook has made a prompt or a message that agentcore refuses: no turn is made of that.
            left_out += 1
    assert prompts > programs // 2
    assert left_out < programs // 3
