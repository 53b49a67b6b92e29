"""The profile that merges by id does what the reducer of langgraph does, on the saves of random programs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any, Final

import attrs
import pytest

from agentcore.frameworks.store_boundary.family import FAMILY, trace_under
from agentcore.frameworks.store_boundary.profiles import MERGE_BY_ID
from agentcore.heap.copying import CopyDepth
from agentcore.live.installs import InstallError, installed

Json = dict[str, Any]
VERSION: Final = "1.2.24"
# So that nobody writes into what is stored between two saves.
COPIED: Final = attrs.evolve(MERGE_BY_ID, stored=CopyDepth.DEEP)
REDUCER: Final = """
import json, sys
from langchain_core.messages import HumanMessage
from langgraph.graph.message import add_messages

for line in sys.stdin:
    sides = [[HumanMessage(json.dumps(one), id=one["id"]) for one in side] for side in json.loads(line)]
    merged = add_messages(*sides)
    print(json.dumps([[one.id, json.loads(one.content)] for one in merged]))
"""


def merges() -> Iterator[tuple[list[Json], list[Json], list[Json]]]:
    """What was stored before each save, what was saved, and what was stored then."""
    for program in FAMILY.programs(range(200), MERGE_BY_ID.name):
        before = [
            {**message, "id": message.get("id", f"new-{number}")}
            for number, message in enumerate(program.get("stored", ()), 1)
        ]
        stored = numbered(before)
        for save in trace_under(COPIED, program)["saves"]:
            if "saved" in save:
                yield stored, save["saved"], save["stored"]
            stored = save["stored"]


def numbered(messages: list[Json]) -> list[Json]:
    """Messages whose given ids are counted from 1, as the profile gives them."""
    fresh = iter(range(1, len(messages) + 1))
    return [
        {**message, "id": f"new-{next(fresh)}"} if message["id"].startswith("new-") else message
        for message in messages
    ]


@pytest.mark.live
def test_the_reducer_merges_as_the_profile_does() -> None:
    try:
        place = installed("langgraph", VERSION)
    except InstallError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(str(error))
    cases = [*merges()]
    lines = "".join(json.dumps([stored, saved]) + "\n" for stored, saved, _ in cases)
    command = [place.python, "-c", REDUCER]
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    merged = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(merged) == len(cases) > 200
    for found, (_, _, stored) in zip(merged, cases, strict=True):
        assert [number for number, _ in found] == [message["id"] for message in stored]
        assert [message for _, message in found] == stored


def test_another_merge_would_be_found() -> None:
    append = attrs.evolve(MERGE_BY_ID, saving=type(MERGE_BY_ID.saving).APPEND)
    programs = [*FAMILY.programs(range(40), MERGE_BY_ID.name)]
    found = [
        [save["stored"] for save in trace_under(profile, program)["saves"]]
        for program in programs
        for profile in (MERGE_BY_ID, append)
    ]
    assert any(one != other for one, other in zip(found[::2], found[1::2], strict=True))
