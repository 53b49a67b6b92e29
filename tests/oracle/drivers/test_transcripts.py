"""The golden transcripts of the driver protocol: the reference and the skeletons answer as they say."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.cli.trace import answer_lines
from agentcore.kit.compare import differences
from agentcore.kit.families import family_of
from agentcore.kit.program import Schema
from agentcore.messages.values import canonical_json
from oracle.driver_commands import SKELETONS, TESTS, skeleton

Json = dict[str, Any]
FOLDER: Final = TESTS.parent / "spec" / "transcripts" / "driver-1"
FILES: Final = sorted(FOLDER.glob("*.json"))


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def transcript(request: pytest.FixtureRequest) -> Json:
    found: Json = json.loads(Path(request.param).read_text("utf-8"))
    return found


def sent(transcript: Json) -> list[Any]:
    return [line["send"] for line in transcript["lines"] if "send" in line]


def answered(transcript: Json) -> list[Json]:
    return [line["answer"] for line in transcript["lines"] if "answer" in line]


def given(transcript: Json) -> bytes:
    lines = (line if isinstance(line, str) else json.dumps(line) for line in sent(transcript))
    return "".join(f"{line}\n" for line in lines).encode()


def by_reference(transcript: Json) -> bytes:
    answers = io.BytesIO()
    answer_lines(io.BytesIO(given(transcript)), answers, transcript["profile"])
    return answers.getvalue()


def by_process(transcript: Json, argv: Sequence[str]) -> bytes:
    return subprocess.run(argv, input=given(transcript), capture_output=True, check=True, timeout=60).stdout


def own_words_left_out(answer: Json) -> Json:
    """The answer with what is every driver's own as a transcript has it."""
    if "implementation" in answer:
        named = {"name": "...", "version": "..."}
        return {"version": answer["version"], "implementation": named, "formats": answer["formats"]}
    if "error" in answer:
        return {**answer, "error": {**answer["error"], "message": "..."}}
    return answer


def agree(expected: Json, actual: Json, profile: str) -> bool:
    actual = own_words_left_out(actual)
    if "trace" not in expected:
        return canonical_json(actual) == canonical_json(expected)
    same = canonical_json(actual["seq"]) == canonical_json(expected["seq"])
    if "trace" not in actual:
        return same and isinstance(actual["unsupported"], str)
    return same and not differences(expected["trace"], actual["trace"], family_of(profile).comparison)


def mismatches(transcript: Json, output: bytes) -> list[tuple[Json, Json]]:
    answers = [json.loads(line) for line in output.splitlines()]
    pairs = zip(answered(transcript), answers, strict=True)
    return [pair for pair in pairs if not agree(*pair, transcript["profile"])]


def test_the_reference_answers_as_it_says(transcript: Json) -> None:
    output = by_reference(transcript)
    assert mismatches(transcript, output) == []
    traces = ["trace" in answer for answer in answered(transcript)]
    assert traces == ["trace" in json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("language", SKELETONS)
def test_a_skeleton_answers_as_it_says(transcript: Json, language: str) -> None:
    assert mismatches(transcript, by_process(transcript, skeleton(language))) == []


def test_what_it_holds_is_what_the_schemas_allow(transcript: Json) -> None:
    requests, answers = Schema("driver-request"), Schema("driver-answer")
    whole = [line for line in sent(transcript) if isinstance(line, dict)]
    refused = [line for line in whole if requests.problem(line)]
    errors = [
        answer for answer in answered(transcript) if answer.get("error", {}).get("name") == "BadRequest"
    ]
    assert len(refused) <= len(errors)
    assert [answer for answer in answered(transcript) if answers.problem(answer)] == []


def test_another_trace_is_a_mismatch() -> None:
    found = json.loads((FOLDER / "runs.json").read_text("utf-8"))
    answered(found)[1]["trace"]["caller"] = []
    assert len(mismatches(found, by_reference(found))) == 1
