from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.spec.vectors import load, replay
from cli.commands import TRACE, driver, run
from oracle.driver_commands import TESTS

RECORDED: Final = TESTS.parent / "spec" / "vectors" / "ai-sdk"
NAMES: Final = ("push-in-place", "return-replaced-last", "write-initial-content")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "vectors"
    copy.mkdir()
    for name in NAMES:
        [file] = RECORDED.rglob(f"{name}.json")
        fields = json.loads(file.read_text("utf-8"))
        fields["versions"] = {"ai-sdk-6": fields["versions"]["ai-sdk-6"]}
        (copy / file.name).write_text(json.dumps(fields), "utf-8")
    return copy


@pytest.fixture
def reference_as_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "command", lambda _: TRACE)


def change(folder: Path) -> Path:
    file = folder / "push-in-place.json"
    fields = json.loads(file.read_text("utf-8"))
    fields["versions"]["ai-sdk-6"]["traces"]["generate"]["caller"] = ["changed"]
    file.write_text(json.dumps(fields), "utf-8")
    return file


def contents(folder: Path) -> dict[str, Any]:
    return {file.name: json.loads(file.read_text("utf-8")) for file in folder.iterdir()}


def test_replaying_vectors_that_hold_counts_a_trace_for_each_path(folder: Path) -> None:
    result = run("vectors", "replay", str(folder))
    assert (result.exit_code, result.stdout) == (0, "3 vectors with 6 traces, 0 different\n")


def test_replaying_shows_what_differs_and_exits_with_1(folder: Path) -> None:
    change(folder)
    result = run("vectors", "replay", str(folder))
    assert result.exit_code == 1
    assert result.stdout.startswith("push-in-place, generate:\nfirst difference: $.caller")
    assert result.stdout.endswith("3 vectors with 6 traces, 1 different\n")


@pytest.mark.usefixtures("reference_as_target")
@pytest.mark.parametrize("command", ["replay", "record"])
def test_a_file_that_is_no_vector_is_named_and_the_exit_code_is_2(command: str, folder: Path) -> None:
    (folder / "a.json").write_text("[]", "utf-8")
    result = run("vectors", command, str(folder))
    assert result.exit_code == 2
    assert f"{folder / 'a.json'} is no vector: " in result.stderr


@pytest.mark.usefixtures("reference_as_target")
def test_recording_what_is_recorded_already_changes_nothing(folder: Path) -> None:
    before = contents(folder)
    result = run("vectors", "record", str(folder))
    assert (result.exit_code, result.stdout) == (0, "0 different\n")
    assert contents(folder) == before


@pytest.mark.usefixtures("reference_as_target")
def test_recording_shows_what_is_new_and_writes_it(folder: Path) -> None:
    before = contents(folder)
    change(folder)
    result = run("vectors", "record", str(folder))
    assert result.exit_code == 1
    assert result.stdout.startswith("push-in-place, generate:\nfirst difference: $.caller")
    assert result.stdout.endswith("\n1 different\n")
    assert contents(folder) == before
    assert all(found is None for vector in load(folder) for _, found in replay(vector))


@pytest.mark.usefixtures("reference_as_target")
def test_recording_leaves_the_vectors_of_other_versions_alone(folder: Path) -> None:
    changed = change(folder)
    fields = json.loads(changed.read_text("utf-8"))
    versions = {"ai-sdk-7": fields["versions"]["ai-sdk-6"]}
    changed.write_text(json.dumps({**fields, "versions": versions}), "utf-8")
    before = contents(folder)
    result = run("vectors", "record", str(folder))
    assert (result.exit_code, result.stdout) == (0, "0 different\n")
    assert contents(folder) == before


@pytest.mark.usefixtures("reference_as_target")
def test_checking_the_record_writes_nothing(folder: Path) -> None:
    changed = change(folder)
    before = changed.read_text("utf-8")
    assert run("vectors", "record", "--check", str(folder)).exit_code == 1
    assert changed.read_text("utf-8") == before


def test_a_target_that_does_not_answer_is_told_and_the_exit_code_is_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "command", lambda _: driver("liars.liar", "crashes_at_start"))
    result = run("vectors", "record", str(folder))
    assert result.exit_code == 2
    assert "push-in-place, stream: the driver did not answer: " in result.stderr


def test_a_target_that_cannot_be_set_up_is_told_and_the_exit_code_is_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    result = run("vectors", "record", str(folder))
    assert result.exit_code == 2
    assert "node is not on the PATH" in result.stderr


@pytest.mark.usefixtures("reference_as_target")
@pytest.mark.parametrize("command", ["replay", "record"])
def test_a_folder_without_vectors_is_told_and_the_exit_code_is_2(command: str, tmp_path: Path) -> None:
    result = run("vectors", command, str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr == f"there are no vectors below {tmp_path}\n"
