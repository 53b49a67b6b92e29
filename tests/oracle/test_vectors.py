from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from agentcore.compat.ai_sdk import profiles
from agentcore.errors import AgentCoreError
from agentcore.oracle.ai_sdk.family import FAMILY
from agentcore.oracle.ai_sdk.program import PATHS
from agentcore.oracle.ai_sdk.reference import trace
from agentcore.oracle.compare import differences
from agentcore.oracle.vectors import Vector, VectorError, load, pretty, record, replay, write
from oracle.drivers import TESTS, small

FOLDER: Final = TESTS.parent / "spec" / "vectors"
PROFILES: Final = ("ai-sdk-6", "ai-sdk-7")
VECTORS: Final = tuple(vector for profile in PROFILES for vector in load(FOLDER / profile))
CASES: Final = [(vector, path) for vector in VECTORS for path in vector.traces]
PROGRAM: Final = {key: value for key, value in small().items() if key not in ("id", "path")}
REFERENCE: Final = (sys.executable, "-c", "from agentcore.cli import main; main()", "trace")


@pytest.mark.parametrize(
    ("vector", "path"), CASES, ids=[f"{vector.profile}-{vector.name}-{path}" for vector, path in CASES]
)
def test_the_reference_gives_the_trace_that_was_recorded(vector: Vector, path: str) -> None:
    assert dict(replay(vector))[path] is None


@pytest.mark.parametrize("vector", VECTORS, ids=[f"{vector.profile}-{vector.name}" for vector in VECTORS])
def test_a_vector_has_a_title_cites_claims_and_was_recorded_on_both_paths(vector: Vector) -> None:
    assert vector.title
    assert vector.claims
    assert all(re.fullmatch(r"[CX][1-9]\d*", claim) for claim in vector.claims)
    assert {*vector.traces} == {*PATHS}


def test_vectors_are_many_and_no_two_of_a_profile_are_the_same_program() -> None:
    programs = {(vector.profile, json.dumps(vector.program, sort_keys=True)) for vector in VECTORS}
    assert len(programs) == len(VECTORS) > 150


def test_a_vector_is_of_the_profile_that_its_folder_is_named_after_and_of_its_package() -> None:
    assert {vector.profile for vector in VECTORS} == {*PROFILES}
    for vector in VECTORS:
        assert vector.file.parent.name == vector.profile
        for path, recorded in vector.traces.items():
            assert recorded["package"] == profiles.PROFILES[f"{vector.profile}/{path}"].package


def test_every_program_recorded_of_a_later_version_gives_another_trace_than_the_first() -> None:
    later = [vector for vector in VECTORS if vector.profile != PROFILES[0]]
    for vector in later:
        first = {path: trace(vector.on(path), f"{PROFILES[0]}/{path}") for path in PATHS}
        assert any(
            differences(vector.traces[path], json.loads(json.dumps(first[path])), FAMILY.comparison)
            for path in PATHS
        )


@pytest.mark.parametrize("profile", PROFILES)
def test_a_vector_is_written_and_read_with_its_profile(profile: str, tmp_path: Path) -> None:
    vector = Vector(
        file=tmp_path / "a.json", title="t", claims=("C1",), program=PROGRAM, traces={}, profile=profile
    )
    vector = attrs.evolve(vector, requirements=("step.input", "ai-sdk.base"))
    write(vector)
    assert list(load(tmp_path)) == [vector]


def test_a_vector_that_does_not_hold_is_told_with_its_path() -> None:
    vector = VECTORS[0]
    wrong = {**vector.traces["stream"], "caller": ["wrong"]}
    changed = Vector(
        file=vector.file,
        title=vector.title,
        claims=vector.claims,
        program=vector.program,
        traces={"stream": wrong, "generate": vector.traces["generate"]},
    )
    found = dict(replay(changed))
    assert found["generate"] is None
    assert found["stream"] is not None
    assert found["stream"].observation == "$.caller"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Expecting property name"),
        ("[]", "list indices"),
        ("7", "not subscriptable"),
        ('{"title": "t", "claims": ["C1"]}', "'program'"),
        ('{"title": "t", "claims": 7, "program": {}}', "not iterable"),
        ('{"title": "t", "claims": ["C1"], "program": {"messages": []}}', "has no field script"),
        ('{"title": "t", "claims": ["C1"], "program": []}', "not a mapping"),
    ],
)
def test_a_file_that_is_no_vector_is_an_error_with_its_name_and_reason(
    text: str, reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text, "utf-8")
    with pytest.raises(VectorError, match=re.escape(reason)) as caught:
        list(load(tmp_path))
    assert isinstance(caught.value, AgentCoreError)
    assert str(file) in str(caught.value)


def test_a_file_that_is_not_utf_8_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(b'"\xff"')
    with pytest.raises(VectorError):
        list(load(tmp_path))


def test_vectors_are_loaded_in_the_order_of_their_names_from_all_folders_below(tmp_path: Path) -> None:
    for name in ("b/b.json", "a/z.json", "c.json"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"title": "t", "claims": ["C1"], "program": PROGRAM}), "utf-8")
    (tmp_path / "notes.txt").write_text("no vector", "utf-8")
    assert [vector.name for vector in load(tmp_path)] == ["z", "b", "c"]


def test_a_new_vector_is_recorded_on_both_paths_and_then_holds(tmp_path: Path) -> None:
    vector = Vector(file=tmp_path / "new.json", title="t", claims=("C1",), program=PROGRAM, traces={})
    [recorded] = record([vector], REFERENCE, FAMILY)
    assert [path for path, _ in recorded.differences] == ["stream", "generate"]
    write(recorded.vector)
    [read] = load(tmp_path)
    assert read == recorded.vector
    assert dict(replay(read)) == {"stream": None, "generate": None}


def test_a_driver_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    vector = Vector(file=tmp_path / "new.json", title="t", claims=("C1",), program=PROGRAM, traces={})
    with pytest.raises(VectorError, match="new, stream: the driver did not answer"):
        list(record([vector], (sys.executable, "-c", ""), FAMILY))


@pytest.mark.parametrize(
    "value",
    [
        *({}, [], 0, None, "\ud800", {"a": {}}, [[]]),
        [{"key": ["word " * 20, {"more": "word " * 20}]}],
        {"long": ["x" * 200], "empty": []},
        ["word"] * 100,
    ],
)
def test_pretty_json_is_the_same_json_on_lines_that_fit(value: Any) -> None:
    text = pretty(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert all(len(line) <= 120 or line.strip(' ",').isalpha() for line in text.splitlines())


def test_pretty_json_breaks_only_what_does_not_fit() -> None:
    long = "x" * 100
    assert pretty({"a": [1, 2], "b": [long, {"c": 3}]}) == (
        f'{{\n "a": [1, 2],\n "b": ["{long}", {{"c": 3}}]\n}}'
    )
