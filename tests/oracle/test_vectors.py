from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from agentcore.errors import AgentCoreError
from agentcore.oracle.ai_sdk.family import FAMILY
from agentcore.oracle.vectors import Vector, VectorError, load, pretty, record, replay, write
from oracle.drivers import TESTS, small

FOLDER: Final = TESTS.parent / "spec" / "vectors"
PROFILES: Final = ("ai-sdk-6", "ai-sdk-7")
VECTORS: Final = tuple(vector for profile in PROFILES for vector in load(FOLDER / profile))
PROGRAM: Final = {key: value for key, value in small().items() if key not in ("id", "path")}
REFERENCE: Final = (sys.executable, "-c", "from agentcore.cli import main; main()", "trace")


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
