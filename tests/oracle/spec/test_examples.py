from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agentcore.errors import AgentCoreError
from agentcore.oracle.spec.examples import Example, ExampleError, blocks, examples, mismatches, scripts

TEXT = """\
# A chapter

**Example** (`a.one`,
`a.two`): a sentence of `code`.

```json program
{"messages": [{"role": "user", "content": "hi"}], "script": [[{"type": "text", "text": "done"}]]}
```

Prose between.

```json trace immutable ai-sdk-6/stream
{"steps[0].prompt[*].role": ["user"]}
```

````markdown
**Example** (`none.of-these`)
```json program
````

**Example** (`b.one`): another.

```python
print(1)
```

```text
1
```

```py some-target
```
"""
PROGRAM = TEXT.split("```")[1].removeprefix("json program\n")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "chapter.md"


def read(file: Path, text: str) -> list[Example]:
    file.write_text(text, "utf-8")
    return list(examples(file))


def one(file: Path, *kinds_and_texts: tuple[str, str], program: str = PROGRAM) -> Example:
    fences = "".join(f"\n```{kind}\n{text}\n```\n" for kind, text in kinds_and_texts)
    (example,) = read(file, f"**Example** (`a.one`): it.\n\n```json program\n{program}```\n{fences}")
    return example


def found(example: Example) -> list[tuple[str, str]]:
    return [(each.profile, each.path) for each in mismatches(example)]


def test_examples_are_read_with_their_names_lines_and_blocks(file: Path) -> None:
    first, second = read(file, TEXT)
    assert first.cites == ("a.one", "a.two")
    assert (first.place.number, first.place.lines) == (1, (3, 19))
    assert [each.profile for each in first.expectations] == ["immutable", "ai-sdk-6/stream"]
    assert (second.cites, second.program, second.place.number) == (("b.one",), None, 2)
    assert str(second.place) == f"{file}, example 2 (lines 21 to 32)"


def test_blocks_know_their_words_text_and_line() -> None:
    found = list(blocks(TEXT))
    assert [block.words[:2] for block in found][:3] == [("json", "program"), ("json", "trace"), ("markdown",)]
    assert found[0].line == 6
    assert found[0].text == PROGRAM
    assert found[2].text == "**Example** (`none.of-these`)\n```json program\n"


def test_a_text_without_examples_has_none(file: Path) -> None:
    assert read(file, "Only prose.\n") == []


def test_what_names_no_requirement_cites_nothing(file: Path) -> None:
    (example,) = read(file, "**Example**: nothing.\n")
    assert example.cites == ()


def test_programs_of_other_languages_know_what_they_write(file: Path) -> None:
    _, example = read(file, TEXT)
    (python,) = scripts(example, ("python",))
    assert (python.source, python.output) == ("print(1)\n", "1\n")
    (other,) = scripts(example)
    assert (other.language, other.targets, other.source, other.output) == ("py", ("some-target",), "", "")


def test_a_program_is_run_on_the_path_of_its_profile_or_on_one_of_them(file: Path) -> None:
    example = one(file, ("json trace immutable", '{"path": "stream"}'))
    assert example.on("ai-sdk-6/generate")["path"] == "generate"
    assert example.on("immutable") == {"id": "chapter.md#1", "path": "stream", **(example.program or {})}


HOLDS: dict[str, Any] = {
    "id": '"chapter.md#1"',
    "steps.length": "1",
    "steps[-1].step": "0.0",
    "steps[*].prompt[*].role": '[["user"]]',
    "steps[*].prompt[*].nothing": "[[]]",
    "error": "null",
}
FAILS: dict[str, Any] = {
    "steps.length": "true",
    "steps[1].step": "0",
    "steps[-2].step": "0",
    "steps.first": "0",
    "steps[0].step.more": "0",
    "nothing": "null",
    "error": "false",
}


@pytest.mark.parametrize(("path", "value"), HOLDS.items())
def test_what_is_at_a_path_is_compared_as_json(path: str, value: str, file: Path) -> None:
    block = f'{{"{path}": {value}}}'
    assert found(one(file, ("json trace ai-sdk-6/stream", block))) == []
    assert found(one(file, ("json claimed ai-sdk-6/stream", block))) == [("ai-sdk-6/stream", path)]


@pytest.mark.parametrize(("path", "value"), FAILS.items())
def test_what_is_not_there_or_other_is_a_mismatch(path: str, value: str, file: Path) -> None:
    block = f'{{"{path}": {value}}}'
    assert found(one(file, ("json trace ai-sdk-6/stream", block))) == [("ai-sdk-6/stream", path)]
    assert found(one(file, ("json claimed ai-sdk-6/stream", block))) == []


def test_only_the_profiles_that_are_asked_for_are_run(file: Path) -> None:
    example = one(file, ("json trace immutable ai-sdk-6/stream", '{"nothing": 1}'))
    ran = [each.profile for each in mismatches(example, profiles="ai-sdk-6")]
    assert ran == ["ai-sdk-6/stream"]


def test_a_mismatch_is_told_with_the_number_the_lines_and_both_values(file: Path) -> None:
    (mismatch,) = mismatches(one(file, ("json trace immutable", '{"steps[0].model": "other"}')))
    assert str(mismatch) == (
        f'{file}, example 1 (lines 1 to 9): immutable: steps[0].model\n  expected "other"\n  found    "model"'
    )
    (lost,) = mismatches(one(file, ("json trace immutable", '{"nothing": 1}')))
    assert str(lost).endswith("  found    nothing")
    (claim,) = mismatches(one(file, ("json claimed immutable", '{"steps[0].model": "model"}')))
    assert str(claim).endswith(': immutable: steps[0].model is what was claimed, "model"')


HEAD = "**Example** (`a.one`): it.\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\n```json program\n{}\n```\n", "one program if it has a trace, and none without"),
        ("\n```json trace immutable\n{}\n```\n", "one program if it has a trace, and none without"),
        (
            "\n```json program\n{}\n```\n\n```json program\n{}\n```\n\n```json trace immutable\n{}\n```\n",
            "one program if it has a trace",
        ),
        ("\n```json program\n{\n```\n\n```json trace immutable\n{}\n```\n", "line 3 is no JSON: Expecting"),
        ("\n```json program\n[]\n```\n\n```json trace immutable\n{}\n```\n", "line 3 is no object"),
        ('\n```json program\n{}\n```\n\n```json trace\n{"a": 1}\n```\n', "line 7 names no profile"),
        ("\n```json program\n{}\n```\n\n```json trace immutable\n{}\n```\n", "or its block no path"),
    ],
)
def test_an_example_that_cannot_be_read_is_an_error_with_its_lines(
    text: str, reason: str, file: Path
) -> None:
    with pytest.raises(ExampleError, match=re.escape(reason)) as caught:
        read(file, HEAD + text)
    assert isinstance(caught.value, AgentCoreError)
    assert str(caught.value).startswith(f"{file}, example 1 (lines 1 to ")


@pytest.mark.parametrize(
    ("program", "path", "reason"),
    [
        ('{"script": []}\n', "steps", "has no field messages"),
        (PROGRAM, "steps[x]", "steps[x] is no path"),
        (PROGRAM, "$.steps", "$.steps is no path"),
    ],
)
def test_an_example_that_cannot_be_run_is_an_error_with_its_lines(
    program: str, path: str, reason: str, file: Path
) -> None:
    example = one(file, ("json trace immutable", f'{{"{path}": 1}}'), program=program)
    with pytest.raises(ExampleError, match=re.escape(reason)) as caught:
        list(mismatches(example))
    assert str(caught.value).startswith(f"{file}, example 1 (lines 1 to ")
