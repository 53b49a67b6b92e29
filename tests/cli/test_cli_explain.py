from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.commands import run

Json = dict[str, Any]

PROGRAM: Json = {
    "id": "a",
    "path": "generate",
    "messages": [{"role": "user", "content": "hi"}],
    "script": [
        [{"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {}}],
        [{"type": "text", "text": "done"}],
    ],
    "tools": {"look": {"output": 1}},
    "hooks": {"prepareStep": [[{"append": ["messages", 0, "content"], "with": "!"}]]},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path, PROGRAM)


def written(folder: Path, program: Json) -> Path:
    file = folder / "program.json"
    file.write_text(json.dumps(program), "utf-8")
    return file


def test_the_run_is_told_step_by_step(file: Path) -> None:
    result = run("explain", str(file))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "step 0"
    assert "  prepareStep gets" in lines
    assert '    messages: [{"role": "user", "content": "hi"}]' in lines
    assert "    one object: caller[0] = prepareStep.messages[0]" in lines
    assert '>>> write 1: prepareStep writes prepareStep.messages[0].content (set): "hi" -> "hi!"' in lines
    assert "  model gets, and sees write 1" in lines
    assert "    the object is caller[0] = initial chain[0] = prepareStep.messages[0]" in lines
    assert "    shown to model, execute, prepareStep in step 1, model in step 1" in lines
    assert (
        "    lasts: permanent, first seen again in step 1; "
        "at the end in caller[0].content, initial chain[0].content"
    ) in lines
    assert "  names of one object at the end of the step" in lines
    assert "    caller = initial chain" in lines
    assert "\x1b" not in result.stdout


def test_a_write_that_lasts_its_step_is_told_so(tmp_path: Path) -> None:
    pushing = PROGRAM | {"hooks": {"prepareStep": [[{"append": ["messages"], "with": {"role": "user"}}]]}}
    lines = run("explain", str(written(tmp_path, pushing))).stdout.splitlines()
    assert "    lasts: this step" in lines


def test_the_immutable_core_refuses_and_the_run_fails(file: Path) -> None:
    told = run("explain", str(file), "--profile", "immutable").stdout
    assert "refused: step 0, prepareStep, op 0: $.messages[0].content: " in told
    assert 'the run failed: {"name": "ImmutableWriteError"' in told
    assert "Nothing was written in place." in told
    assert "Values are frozen" in told


def test_json_has_all_of_it(file: Path) -> None:
    told = json.loads(run("explain", str(file), "--json").stdout)
    assert told["profile"] == "ai-sdk-6/generate"
    (write,) = (event for event in told["steps"][0]["events"] if "write" in event)
    assert (write["by"], write["before"], write["after"]) == ("prepareStep", "hi", "hi!")
    assert write["shown"][-1] == {"step": 1, "boundary": "model"}
    assert ["caller", "initial chain"] in told["steps"][0]["aliases"]


def test_what_would_steer_a_terminal_is_escaped_and_what_is_long_is_cut(tmp_path: Path) -> None:
    sly = PROGRAM | {
        "messages": [{"role": "user", "content": "[red]\x1b[31m" + "x" * 5_000, "\x1bkey": 1}] * 30,
        "hooks": {"prepareStep": [[{"set": ["messages", 0, "\x1bfield\n"], "to": "\x1b]0;title\x07"}]]},
    }
    told = run("explain", str(written(tmp_path, sly))).stdout
    assert "\x1b" not in told
    assert "\\u001bfield\\n" in told
    assert "[red]" in told
    assert max(map(len, told.splitlines())) < 400
    assert "more (--json has all)" in told


def test_the_picture_is_saved(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.svg"
    assert run("explain", str(file), "--svg", str(target)).exit_code == 0
    assert target.read_text("utf-8").lstrip().startswith("<?xml")


def test_a_missing_extra_is_named_and_the_exit_code_is_2(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "agentcore.heap.pictures", None)
    result = run("explain", str(file), "--svg", str(tmp_path / "run.svg"))
    assert result.exit_code == 2
    assert "pip install 'agentcore-reference[pictures]'" in result.stderr


def test_what_is_no_program_is_told_with_its_place_and_the_exit_code_is_2(tmp_path: Path) -> None:
    result = run("explain", str(written(tmp_path, PROGRAM | {"path": "sideways"})))
    assert result.exit_code == 2
    assert "$.path" in result.stderr


# ---------------------------------------------------------------- the player


def test_the_player_is_written_to_a_file_of_its_own_name_or_of_a_given_one(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("explain", str(file), "--html")
    assert result.exit_code == 0
    assert (tmp_path / "agentcore-run.html").as_uri() in result.stdout
    assert (tmp_path / "agentcore-run.html").read_text("utf-8").startswith("<!doctype html>")
    assert run("explain", "--html", "other.html", str(file)).exit_code == 0
    assert (tmp_path / "other.html").exists()


@pytest.mark.parametrize("against", ["immutable", "ai-sdk-7/stream"])
def test_a_second_profile_stands_beside_the_first(file: Path, tmp_path: Path, against: str) -> None:
    page = tmp_path / "page.html"
    assert run("explain", str(file), "--html", str(page), "--against", against).exit_code == 0
    (data,) = re.findall(r'id="document">(.*?)</script>', page.read_text("utf-8"))
    (scene,) = json.loads(data)["scenes"]
    assert [each["name"] for each in scene["runs"]] == ["ai-sdk-6/generate", against]


def test_a_second_profile_needs_the_player_and_the_program_s_family(file: Path, tmp_path: Path) -> None:
    alone = run("explain", str(file), "--against", "immutable")
    assert (alone.exit_code, "--against needs --html" in alone.stderr) == (2, True)
    page = tmp_path / "page.html"
    other = run("explain", str(file), "--html", str(page), "--against", "mastra@1.71.0")
    assert (other.exit_code, page.exists()) == (2, False)
