from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentcore.oracle.campaign.check import Database, default_folder
from agentcore.oracle.campaign.findings import DriverFailure, ReferenceFailure
from agentcore.oracle.campaign.verdicts import Kind
from agentcore.oracle.drivers.driver import Crashed
from oracle.driver_commands import small

STREAM = "ai-sdk-6/stream"


def crash(program: dict[str, Any], **changes: Any) -> DriverFailure:
    found = DriverFailure(
        kind=Kind("crashed"), program=program, original=program, outcome=Crashed("", ""), repeated=True
    )
    return attrs.evolve(found, **changes)


def test_what_is_kept_is_there_the_next_time(tmp_path: Path) -> None:
    database = Database(tmp_path / "new")
    assert database.programs(STREAM) == ([], [])
    file = database.add(STREAM, crash(small()))
    assert file is not None
    assert database.programs(STREAM) == ([small()], [])
    fields = json.loads(file.read_text("utf-8"))
    assert fields == {"format": 1, "profile": STREAM, "kind": "crashed", "program": small()}


def test_a_program_is_kept_once_whatever_its_id(tmp_path: Path) -> None:
    database = Database(tmp_path)
    assert database.add(STREAM, crash(small("a"))) == database.add(STREAM, crash(small("b")))
    assert len(database.programs(STREAM)[0]) == 1
    assert [*tmp_path.rglob("*.new")] == []


def test_programs_are_kept_by_the_profile_of_their_path(tmp_path: Path) -> None:
    database = Database(tmp_path)
    generated = {**small("b"), "path": "generate"}
    database.add("ai-sdk-6", crash(small("a")))
    database.add("ai-sdk-6", crash(generated))
    assert database.programs(STREAM)[0] == [small("a")]
    assert database.programs("ai-sdk-6/generate")[0] == [generated]
    assert [program["id"] for program in database.programs("ai-sdk-6")[0]] == ["b", "a"]
    assert database.programs("ai-sdk-7")[0] == []


def test_what_the_driver_did_in_passing_is_not_kept(tmp_path: Path) -> None:
    assert Database(tmp_path).add(STREAM, crash(small(), repeated=False)) is None
    assert [*tmp_path.iterdir()] == []


def test_a_program_at_which_the_reference_raises_is_kept(tmp_path: Path) -> None:
    found = ReferenceFailure(kind=Kind("raised", "KeyError"), program=small(), original=small(), traceback="")
    Database(tmp_path).add(STREAM, found)
    assert Database(tmp_path).programs(STREAM)[0] == [small()]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"format": 2, "program": {}}',
        '{"format": 1}',
        '{"format": 1, "program": {"id": "a"}}',
        "\x00",
    ],
)
def test_a_file_that_holds_no_program_is_told_and_passed_over(text: str, tmp_path: Path) -> None:
    database = Database(tmp_path)
    database.add(STREAM, crash(small()))
    bad = tmp_path / STREAM / "bad.json"
    bad.write_text(text, "utf-8")
    programs, [problem] = database.programs(STREAM)
    assert programs == [small()]
    assert problem.startswith(f"{bad} holds no program, and is passed over: ")
    assert problem.endswith("; delete it")


def test_programs_are_kept_in_the_cache_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder().name == "found"
    assert default_folder().parent.name == "agentcore"
