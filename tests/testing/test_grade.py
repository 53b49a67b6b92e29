"""Tests of isolation are graded by the copy depths that they can tell from isolation."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
from click.testing import CliRunner

import agentcore
from agentcore.cli import main
from agentcore.cli.check_hook import lines
from agentcore.testing.grading import DEPTHS, HandOut, not_judged, shared
from agentcore.testing.grading import grades as grades_of
from agentcore.testing.plugin import GRADE
from testing.test_plugin import OPTIONS

MESSAGES: Final[list[Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c", "input": {"q": [1]}}]},
]
HEAD: Final = f"import copy\nimport pytest\n\nMESSAGES = {MESSAGES!r}\n\n"
SCHEMA: Final = Path(agentcore.__file__).parent / "schemas" / "grade.schema.json"


class Message:
    """A message that is no dict."""

    def __init__(self, content: Any) -> None:
        self.role, self.content = "user", content


def run(folder: Path, source: str, *options: str) -> Any:
    file = folder / "test_isolation.py"
    file.write_text(HEAD + source, encoding="utf-8")
    return CliRunner().invoke(main, ["grade", str(file), "-p", "no:cacheprovider", *options])


def graded(folder: Path, source: str) -> tuple[list[dict[str, Any]], int]:
    done = run(folder, source, "--json")
    found = json.loads(done.stdout)
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text("utf-8"))).validate(found)
    return found["tests"], done.exit_code


# ---------------------------------------------------------------- depths


@pytest.mark.parametrize(
    ("depth", "places"),
    [
        ("share", [""]),
        ("list", ["[0]", "[1]"]),
        ("message", ['[0]["content"]', '[1]["content"]']),
        ("content", ['[0]["content"][0]', '[1]["content"][0]']),
        ("part", ['[1]["content"][0]["input"]']),
        ("deep", []),
    ],
)
def test_each_depth_shares_what_it_says_and_the_copy_is_equal(depth: Any, places: list[str]) -> None:
    messages = copy.deepcopy(MESSAGES)
    given = HandOut(depth)(messages)
    assert given == messages == MESSAGES
    assert [each.place for each in shared(messages, given)] == places


def test_objects_are_copied_as_dicts_are() -> None:
    messages = [Message([{"type": "text", "text": "hi"}])]
    found = {depth: [each.place for each in shared(messages, HandOut(depth)(messages))] for depth in DEPTHS}
    assert found == {
        "share": [""],
        "list": ["[0]"],
        "message": ["[0].content"],
        "content": ["[0].content[0]"],
        "part": [],
        "deep": [],
    }


def test_a_write_that_is_suggested_reaches_the_original_at_its_depth_only() -> None:
    for index, depth in enumerate(DEPTHS[:-1]):
        messages = copy.deepcopy(MESSAGES)
        (found, *_) = shared(messages, HandOut(depth)(messages))
        for other in DEPTHS[index + 1 :]:
            mine = copy.deepcopy(MESSAGES)
            given = HandOut(other)(mine)
            exec(found.write.format("given"), {"given": given})  # noqa: S102 - code that is suggested
            assert mine == MESSAGES, (depth, other)
        given = HandOut(depth)(messages)
        exec(found.write.format("given"), {"given": given})  # noqa: S102 - as above
        assert messages != MESSAGES, depth


# ---------------------------------------------------------------- grades

SOURCE: Final = """
def test_weak(handed_out):
    messages = copy.deepcopy(MESSAGES)
    assert handed_out(messages) is not messages

def test_nested(handed_out):
    messages = copy.deepcopy(MESSAGES)
    given = handed_out(messages)
    given[1]["content"][0]["input"]["q"].append(2)
    assert messages == MESSAGES

def test_texts(handed_out):
    messages = [{"role": "user", "content": "hi"}]
    handed_out(messages)[0]["content"] = "no"
    assert messages == [{"role": "user", "content": "hi"}]

@pytest.mark.parametrize("text", ["share", "b"])
def test_with_parameters(handed_out, text):
    handed_out([{"text": text}])

def test_without_a_call(handed_out):
    pass

def test_skips(handed_out):
    handed_out([])
    pytest.skip("no")

@pytest.mark.skip(reason="a test that is skipped cannot be graded")
def test_skipped(handed_out):
    pass

def test_fails(handed_out):
    handed_out([])
    assert 0

def test_other():
    assert 0
"""


@pytest.fixture(scope="module")
def grades(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    found, code = graded(tmp_path_factory.mktemp("graded"), SOURCE)
    assert code == 1
    return {each["test"].rpartition("::")[2]: each for each in found}


def told(grade: dict[str, Any]) -> list[str]:
    return [each["depth"] for each in grade["depths"] if each["told"]]


def test_a_test_that_compares_identities_tells_only_the_list(grades: dict[str, dict[str, Any]]) -> None:
    assert told(grades["test_weak"]) == ["share"]
    assert told(grades["test_texts"]) == ["share", "list"]


def test_a_test_that_writes_deep_inside_tells_all(grades: dict[str, dict[str, Any]]) -> None:
    assert told(grades["test_nested"]) == [*DEPTHS[:-1]]


def test_messages_in_which_nothing_is_shared_at_a_depth_are_said_to_be_so(
    grades: dict[str, dict[str, Any]],
) -> None:
    why = {each["depth"]: each.get("why", "") for each in grades["test_texts"]["depths"]}
    assert "a list of parts as content" in why["message"]
    assert "such as the input of a tool call" in why["part"]


def test_what_says_nothing_of_isolation_is_not_judged(grades: dict[str, dict[str, Any]]) -> None:
    assert {name: each["not_judged"] for name, each in grades.items() if each["not_judged"]} == {
        "test_without_a_call": "it does not call handed_out",
        "test_skips": "it was skipped",
        "test_skipped": "it was skipped",
        "test_fails": "it fails even if nothing is shared",
    }


def test_parameters_of_a_test_are_graded_one_by_one_and_other_tests_are_left_out(
    grades: dict[str, dict[str, Any]],
) -> None:
    assert {"test_with_parameters[share]", "test_with_parameters[b]"} < {*grades}
    assert "test_other" not in grades


def test_the_assertions_that_are_printed_tell_the_depths_for_which_they_are(
    grades: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    lacking = [each for each in grades["test_weak"]["depths"] if not each["told"]]
    source = ""
    for each in lacking:
        body = "".join(f"    {line}\n" for line in each["assertion"].splitlines())
        source += f"def test_{each['depth']}(handed_out):\n    messages = copy.deepcopy(MESSAGES)\n{body}\n"
    mended, _ = graded(tmp_path, source)
    assert [each["depth"] in told(one) for each, one in zip(lacking, mended, strict=True)] == [True] * 4


def test_the_text_has_the_assertion_and_a_file_without_such_tests_is_not_judged(tmp_path: Path) -> None:
    grade = {
        "test": "test_it",
        "not_judged": None,
        "depths": [
            {"depth": "share", "told": True},
            {"depth": "list", "told": False, "assertion": "one\ntwo"},
            {"depth": "part", "told": False, "why": "nothing is shared"},
        ],
    }
    assert [*lines([grade])] == [
        "test_it: tells share from isolation",
        "  cannot tell list; this would:",
        "    one\n    two",
        "  cannot tell part: nothing is shared",
    ]
    done = run(tmp_path, "def test_other():\n    pass\n")
    assert "no test that asks for handed_out was run" in done.output
    assert done.exit_code == 3


GRADED: Final = """
    import copy

    import pytest

    MESSAGES = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]

    def test_identity(handed_out):
        messages = copy.deepcopy(MESSAGES)
        assert handed_out(messages) is not messages

    @pytest.mark.parametrize("text", ["share", "b"])
    def test_with_parameters(handed_out, text):
        messages = copy.deepcopy(MESSAGES)
        handed_out(messages)[0]["content"][0]["text"] = text
        assert messages == MESSAGES

    def test_skips(handed_out):
        pytest.skip("no")

    def test_other():
        assert 0
"""


def test_each_test_runs_once_for_each_depth_and_what_it_is_handed_is_noted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(GRADED)
    file = pytester.path / "outcomes.json"
    pytester.runpytest(*OPTIONS, "-p", "no:cacheprovider", GRADE, str(file)).assert_outcomes(
        passed=5 + 2 * 2, failed=1 + 2 * 4, skipped=6, deselected=1
    )
    found = {
        each["test"].rpartition("::")[2]: each for each in grades_of(json.loads(file.read_text("utf-8")))
    }
    assert [*found] == [
        "test_identity",
        "test_with_parameters[share]",
        "test_with_parameters[b]",
        "test_skips",
    ]
    assert told(found["test_identity"]) == ["share"]
    assert told(found["test_with_parameters[b]"]) == ["share", "list", "message", "content"]
    assert [each["test"].rpartition("::")[2] for each in not_judged([*found.values()])] == ["test_skips"]


def test_the_command_prints_what_each_test_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    depths = {depth: {"outcome": "failed", "calls": 1, "shared": []} for depth in DEPTHS[:-1]}
    outcomes = {
        "test_all": {**depths, DEPTHS[-1]: {"outcome": "passed", "calls": 1, "shared": []}},
        "test_skips": {depth: {"outcome": "skipped", "calls": 0, "shared": []} for depth in DEPTHS},
    }

    def pytest_ran(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        Path(command[command.index(GRADE) + 1]).write_text(json.dumps(outcomes), "utf-8")
        # No option comes after a test: one of a person's own that takes a value or none would take that.
        assert command[-1] == "tests"
        return subprocess.CompletedProcess(command, 1, "", "")

    monkeypatch.setattr("agentcore.cli.check_hook.subprocess.run", pytest_ran)
    done = CliRunner().invoke(main, ["grade", "tests"])
    assert done.exit_code == 3
    assert done.stdout == (
        "test_all: tells share, list, message, content, part from isolation\n"
        "test_skips: not judged: it was skipped\n"
    )


def test_what_only_one_of_two_values_has_is_not_shared() -> None:
    inside = [1]
    one, other = Message(inside), Message(inside)
    del other.content
    assert shared(one, other) == []
    assert shared({"a": inside}, {"b": inside}) == []
    assert [each.place for each in shared({"a": inside}, {"a": inside})] == ['["a"]']
    assert shared([object()], [object()]) == []


def test_wrong_options_are_wrong_usage(tmp_path: Path) -> None:
    assert run(tmp_path, SOURCE, "--no-such-option").exit_code == 2
    assert CliRunner().invoke(main, ["grade"]).exit_code == 2


def test_without_the_command_nothing_is_shared(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(handed_out):
            messages = [{"content": [{"input": {}}]}]
            handed_out(messages)[0]["content"][0]["input"]["x"] = 1
            assert messages == [{"content": [{"input": {}}]}]
        """
    )
    pytester.runpytest(*OPTIONS, "-p", "no:cacheprovider").assert_outcomes(passed=1)
