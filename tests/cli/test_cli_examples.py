from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import pytest

from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.spec.examples import examples, failure, scripts
from cli.commands import TRACE, driver, run

TARGET: Final = "ai-sdk@6.0.134"
TEXT: Final = """\
**Example** (`a.one`): it.

```json program
{"messages": [{"role": "user", "content": "hi"}], "script": [[{"type": "text", "text": "done"}]]}
```

```json trace immutable ai-sdk-6/stream
{"final.text": "done"}
```

```json trace ai-sdk-7/stream
{"final.text": "done"}
```
"""
SCRIPT: Final = """\
**Example** (`a.one`): it.

```py ai-sdk@6.0.134
import os
print(os.path.basename(os.getcwd()))
```

```text
driver
```
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "texts" / "one.md"
    place.parent.mkdir()
    place.write_text(TEXT, "utf-8")
    return place


@pytest.fixture
def reference_as_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "command", lambda _: TRACE)


def test_examples_that_hold_are_counted(file: Path) -> None:
    result = run("examples", str(file))
    assert (result.exit_code, result.stdout) == (0, "1 examples, 0 different\n")


def test_a_folder_stands_for_the_texts_below_it(file: Path) -> None:
    (file.parent / "below").mkdir()
    (file.parent / "below" / "two.md").write_text(TEXT, "utf-8")
    (file.parent / "notes.txt").write_text("**Example**\n```json trace\n", "utf-8")
    assert run("examples", str(file.parent)).stdout == "2 examples, 0 different\n"


def test_what_does_not_hold_is_told_and_the_exit_code_is_1(file: Path) -> None:
    file.write_text(TEXT.replace('"final.text": "done"', '"final.text": "gone"', 1), "utf-8")
    result = run("examples", str(file))
    assert result.exit_code == 1
    assert f"{file}, example 1 (lines 1 to 13): immutable: final.text\n" in result.stdout
    assert '  expected "gone"\n  found    "done"\n' in result.stdout
    assert result.stdout.endswith("1 examples, 2 different\n")


@pytest.mark.parametrize(
    "text",
    [
        "**Example** (`a.one`): it.\n\n```json trace immutable\n{}\n```\n",
        TEXT.replace("messages", "masseges"),
    ],
)
def test_what_cannot_be_run_is_told_and_the_exit_code_is_2(text: str, file: Path) -> None:
    file.write_text(text, "utf-8")
    result = run("examples", str(file))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{file}, example 1 (lines 1 to ")


def test_programs_are_printed_as_lines_for_a_driver(file: Path) -> None:
    file.write_text(TEXT + "\n" + SCRIPT, "utf-8")
    result = run("examples", "--print", str(file))
    assert result.exit_code == 0
    (program,) = map(json.loads, result.stdout.splitlines())
    assert (program["id"], program["path"]) == ("one.md#1", "stream")
    traced = run("trace", given=result.stdout.encode())
    assert json.loads(traced.stdout)["final"]["text"] == "done"


def test_texts_without_an_example_are_told_and_the_exit_code_is_2(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# A chapter\n", "utf-8")
    result = run("examples", str(tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"there is no example in {tmp_path}: one begins with ")


@pytest.mark.usefixtures("reference_as_target")
def test_on_a_target_only_what_is_said_of_it_is_compared(file: Path) -> None:
    file.write_text(TEXT.replace("immutable", "ai-sdk-7/generate").replace("done", "gone", 1), "utf-8")
    result = run("examples", "--target", TARGET, str(file))
    assert result.exit_code == 1
    assert "ai-sdk-6/stream: final.text" in result.stdout
    assert result.stdout.endswith("1 examples, 1 different\n")


def test_a_target_that_does_not_answer_is_told_and_the_exit_code_is_2(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "command", lambda _: driver("liars.liar", "crashes_at_start"))
    result = run("examples", "--target", TARGET, str(file))
    assert result.exit_code == 2
    assert "one.md#1: the driver did not answer: " in result.stderr


@pytest.fixture
def interpreter_as_target(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = file.parent / "driver"
    place.mkdir()
    monkeypatch.setattr(targets, "command", lambda _: (sys.executable, str(place / "driver.py")))


@pytest.mark.usefixtures("interpreter_as_target")
def test_programs_of_a_target_are_run_where_its_package_is(file: Path) -> None:
    file.write_text(SCRIPT, "utf-8")
    result = run("examples", "--target", TARGET, str(file))
    assert (result.exit_code, result.stdout) == (0, "1 examples, 0 different\n")


@pytest.mark.usefixtures("interpreter_as_target")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SCRIPT.replace("os.path.basename(os.getcwd())", "'other'"), "the program wrote\nother\n"),
        (
            SCRIPT.replace("import os", "raise SystemExit('broke')"),
            "the program wrote\nbroke\n\nand ended with exit code 1\n",
        ),
    ],
)
def test_a_program_that_writes_something_else_or_fails_is_told(text: str, says: str, file: Path) -> None:
    file.write_text(text, "utf-8")
    result = run("examples", "--target", TARGET, str(file))
    assert result.exit_code == 1
    assert f"{file}, example 1 (lines 1 to 10): {says}" in result.stdout
    assert result.stdout.endswith("where its example shows\ndriver\n\n1 examples, 1 different\n")


@pytest.mark.usefixtures("interpreter_as_target")
def test_programs_of_other_targets_are_passed_over(file: Path) -> None:
    file.write_text(SCRIPT.replace(TARGET, "ai-sdk@7.0.173").replace("import os", "broken("), "utf-8")
    assert run("examples", "--target", TARGET, str(file)).exit_code == 0
    assert run("examples", str(file)).exit_code == 0


def test_a_program_that_does_not_end_is_stopped(file: Path) -> None:
    file.write_text(SCRIPT.replace("import os", "import os, time; time.sleep(60)"), "utf-8")
    (example,) = examples(file)
    (script,) = scripts(example)
    said = failure(script, (sys.executable, str(file)), seconds=0.2)
    assert said == f"{file}, example 1 (lines 1 to 10): the program did not end within 0.2 seconds"
