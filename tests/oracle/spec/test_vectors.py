from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from agentcore.errors import AgentCoreError
from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.oracle.spec.vectors import Vector, VectorError, load, pretty, record, replay, write
from oracle.driver_commands import small
from spec.recorded import of

PROFILES: Final = ("ai-sdk-6", "ai-sdk-7")
VECTORS: Final = tuple(vector for profile in PROFILES for vector in of(profile))
PROGRAM: Final = {key: value for key, value in small().items() if key not in ("id", "path")}
VERSIONS: Final = {"ai-sdk-7": {"claims": ["C1"]}, "ai-sdk-6": {"claims": ["C1"]}}
REFERENCE: Final = (sys.executable, "-c", "from agentcore.cli import main; main()", "trace")


def new_vector(folder: Path) -> Vector:
    return Vector(
        file=folder / "new.json", title="t", claims=("C1",), program=PROGRAM, traces={}, profile="ai-sdk-6"
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
        profile=vector.profile,
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
        ('{"title": "t", "program": {}}', "'versions'"),
        ('{"title": "t", "program": {}, "versions": []}', "no attribute 'items'"),
        ('{"title": "t", "versions": {"ai-sdk-6": {"claims": ["C1"]}}}', "'program'"),
        ('{"title": "t", "program": {}, "versions": {"ai-sdk-6": {"claims": 7}}}', "not iterable"),
        ('{"title": "t", "program": {}, "versions": {"ai-sdk-5": {"claims": []}}}', "ai-sdk-5"),
        (
            '{"title": "t", "program": {"messages": []}, "versions": {"ai-sdk-6": {"claims": []}}}',
            "has no field",
        ),
        ('{"title": "t", "program": [], "versions": {"ai-sdk-6": {"claims": []}}}', "not a mapping"),
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
        file.write_text(json.dumps({"title": "t", "program": PROGRAM, "versions": VERSIONS}), "utf-8")
    (tmp_path / "notes.txt").write_text("no vector", "utf-8")
    found = [(vector.name, vector.profile) for vector in load(tmp_path)]
    assert found == [(name, profile) for name in ("z", "b", "c") for profile in VERSIONS]
    assert [vector.name for vector in load(tmp_path, "ai-sdk-6")] == ["z", "b", "c"]


def test_versions_of_a_program_stand_in_one_file_and_are_written_one_by_one(tmp_path: Path) -> None:
    first = new_vector(tmp_path)
    later = attrs.evolve(first, profile="ai-sdk-7", title="other", claims=("C2",))
    write(first)
    write(later)
    assert [*load(tmp_path)] == [first, later]
    changed = attrs.evolve(first, claims=("C3",))
    write(changed)
    assert [*load(tmp_path)] == [changed, later]


def test_another_program_does_not_take_the_place_of_one_that_other_versions_have(tmp_path: Path) -> None:
    first = new_vector(tmp_path)
    other = attrs.evolve(first, program={**PROGRAM, "system": "s"})
    write(first)
    write(other)
    assert [*load(tmp_path)] == [other]
    with pytest.raises(VectorError, match="has another program"):
        write(attrs.evolve(first, profile="ai-sdk-7"))
    assert [*load(tmp_path)] == [other]


def test_a_new_vector_is_recorded_on_both_paths_and_then_holds(tmp_path: Path) -> None:
    vector = new_vector(tmp_path)
    [recorded] = record([vector], REFERENCE, FAMILY)
    assert [path for path, _ in recorded.differences] == ["stream", "generate"]
    write(recorded.vector)
    [read] = load(tmp_path)
    assert read == recorded.vector
    assert dict(replay(read)) == {"stream": None, "generate": None}


def test_a_driver_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    vector = new_vector(tmp_path)
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
