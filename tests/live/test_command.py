"""The command `agentcore check-hook`: exit codes, forms of output, suppressions."""

from __future__ import annotations

import json
import os
import re
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
from click.testing import CliRunner

from agentcore.cli import main
from agentcore.live import installs
from agentcore.live.installs import Place
from agentcore.live.process import WorkerFailedError
from agentcore.live.suppressions import Suppression, SuppressionError, suppressions_in

HOOKS: Final = Path(__file__).parent / "hooks" / "toy_hooks.py"
SCHEMAS: Final = Path(installs.__file__).parent / "schemas"
TOY: Final = (
    "--in",
    "live.toy_loop:ADAPTER",
    "--at",
    "before_model",
    "--examples",
    "8",
    "--project",
    str(HOOKS.parent),
)


@pytest.fixture(autouse=True)
def _this_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root.parent}")
    monkeypatch.setenv("AGENTCORE_CACHE", str(tmp_path))
    monkeypatch.setattr("agentcore.live.check.nearest", lambda _: Place(sys.executable, sys.prefix))


def run(*args: str) -> Any:
    return CliRunner().invoke(main, ["check-hook", *args])


def schema() -> Any:
    findings = json.loads((SCHEMAS / "findings.schema.json").read_text("utf-8"))
    other = json.loads((SCHEMAS / "conversation.schema.json").read_text("utf-8"))
    findings["$defs"]["finding"]["properties"]["conversation"] = {}
    conversation = jsonschema_rs.validator_for(other)
    report = jsonschema_rs.validator_for(findings)

    def validate(value: Any) -> None:
        report.validate(value)
        for each in value["findings"]:
            if each["conversation"] is not None:
                conversation.validate(each["conversation"])

    return validate


@pytest.mark.parametrize(
    ("hook", "code", "verdict"),
    [("pollutes", 1, "fault"), ("clean", 0, "clean"), ("secret", 0, "note"), ("raises", 1, "fault")],
)
def test_the_report_is_by_the_schema_and_has_the_exit_code(hook: str, code: int, verdict: str) -> None:
    result = run(f"{HOOKS}#{hook}", *TOY, "--json")
    report = json.loads(result.output)
    schema()(report)
    assert (result.exit_code, report["exit"], report["verdict"]) == (code, code, verdict)


def test_a_note_fails_where_it_is_asked_to() -> None:
    assert run(f"{HOOKS}#secret", *TOY, "--fail-on", "note").exit_code == 1


def test_a_kind_that_is_left_out_counts_neither_for_the_verdict_nor_for_the_exit_code() -> None:
    result = run(f"{HOOKS}#pollutes", *TOY, "--kinds", "raises,accumulates", "--json")
    report = json.loads(result.output)
    assert (result.exit_code, report["verdict"]) == (0, "clean")
    assert [each["counts_for_verdict"] for each in report["findings"]] == [False]


@pytest.mark.parametrize(("hook", "code"), [("reminder", 1), ("reminder_once", 0), ("clean", 0)])
def test_a_second_application_is_judged_where_it_is_asked_for(hook: str, code: int) -> None:
    result = run(f"{HOOKS}#{hook}", *TOY, "--kinds", "not-idempotent", "--fail-on", "note", "--json")
    report = json.loads(result.output)
    assert result.exit_code == code
    assert ("not-idempotent" in [each["kind"] for each in report["findings"]]) == bool(code)
    assert "not-idempotent" not in run(f"{HOOKS}#{hook}", *TOY, "--json").output


def test_the_text_names_line_place_holders_count_and_test() -> None:
    output = run(f"{HOOKS}#pollutes", *TOY).output
    number = next(
        index
        for index, line in enumerate(HOOKS.read_text("utf-8").splitlines(), 1)
        if '["text"] = "!"' in line
    )
    assert f"toy_hooks.py:{number}  fault  write" in output
    assert "of 8 conversations" in output
    assert "caller" in output
    assert "def test_pollutes_write(check_hook):" in output
    assert output.rstrip().splitlines()[-1].startswith("fault: 1 fault, 0 notes; 8 conversations")


def test_a_write_has_the_line_of_the_assignment_and_not_of_the_function_that_it_calls() -> None:
    report = json.loads(run(f"{HOOKS}#writes_what_a_function_returns", *TOY, "--json").output)
    line = report["findings"][0]["line"]["line"]
    assert "= _short(" in HOOKS.read_text("utf-8").splitlines()[line - 1]


def test_a_factory_that_is_taken_for_the_hook_is_told_of_the_option() -> None:
    output = run(f"{HOOKS}#factory", *TOY).output
    assert "say --factory" in output


def test_the_case_to_paste_fails_as_the_command_does(pytester: Any) -> None:
    report = json.loads(run(f"{HOOKS}#pollutes", *TOY, "--json").output)
    pytester.makepyfile(report["findings"][0]["test"])
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*pollutes writes messages*"])


def test_the_page_of_the_report_is_written_beside_what_is_printed(tmp_path: Path) -> None:
    page = tmp_path / "hook.html"
    result = run(f"{HOOKS}#pollutes", *TOY, "--html", str(page))
    assert (result.exit_code, page.as_uri() in result.stdout) == (1, True)
    assert "1 fault" in result.stdout
    (data,) = re.findall(r'id="document">(.*?)</script>', page.read_text("utf-8"))
    (scene,) = json.loads(data)["scenes"]
    assert [len(each["prompts"]) > 0 for each in scene["runs"]] == [True, True]


def test_the_page_has_a_name_of_its_own_and_leaves_json_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(f"{HOOKS}#clean", *TOY, "--json", "--html")
    assert json.loads(result.stdout)["verdict"] == "clean"
    assert "agentcore-hook.html" in result.stderr
    assert "No difference was found" in (tmp_path / "agentcore-hook.html").read_text("utf-8")


def test_a_page_in_a_folder_that_is_not_there_is_refused_before_the_check(tmp_path: Path) -> None:
    result = run(f"{HOOKS}#pollutes", *TOY, "--html", str(tmp_path / "none" / "hook.html"))
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr


def test_junit_and_sarif_hold_the_finding() -> None:
    suite = ET.fromstring(run(f"{HOOKS}#pollutes", *TOY, "--junit").output)  # noqa: S314 - our own output
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "write"
    sarif = json.loads(run(f"{HOOKS}#pollutes", *TOY, "--sarif").output)
    (found,) = sarif["runs"][0]["results"]
    assert (found["ruleId"], found["level"]) == ("write", "error")
    assert found["locations"][0]["physicalLocation"]["region"]["startLine"] > 1
    error = ET.fromstring(run(f"{HOOKS}#absent", *TOY, "--junit").output).find("testcase/error")  # noqa: S314 - as above
    assert error is not None


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ("hooks.py", "--in", "langchain", "--at", "before_model"),
            "neither FILE#EXPORT nor module:attribute",
        ),
        (("h.py#x", "--in", "langchian", "--at", "before_model"), "no framework is named langchian"),
        (("h.py#x", "--in", "langchain", "--at", "before"), "langchain has no boundary before"),
        (
            ("h.py#x", "--in", "langchain", "--at", "before_model", "--path", "x"),
            "the paths generate, stream",
        ),
        (("h.py#x", "--in", "langchain", "--at", "before_model", "--kinds", "x"), "there are write"),
        (("h.py#x", "--in", "my:a@1", "--at", "before_model"), "no release to install"),
    ],
)
def test_wrong_usage_is_2_and_says_what_there_is(args: tuple[str, ...], said: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert said in result.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("hook", "framework", "reason"),
    [
        (f"{HOOKS}#absent", "live.toy_loop:ADAPTER", "no-hook"),
        (f"{HOOKS.with_name('none.py')}#x", "live.toy_loop:ADAPTER", "no-hook"),
        (f"{HOOKS}#clean", "live.nothing:ADAPTER", "no-framework"),
        (f"{HOOKS}#clean", "live.packages:HOOKS", "unsupported"),
        ("live.absent:hook", "live.toy_loop:ADAPTER", "not-loadable"),
    ],
)
def test_what_cannot_be_judged_is_3_with_the_reason(hook: str, framework: str, reason: str) -> None:
    result = run(hook, "--in", framework, "--at", "before_model", "--project", str(HOOKS.parent), "--json")
    report = json.loads(result.output)
    schema()(report)
    assert (result.exit_code, report["verdict"], report["not_judged"]["reason"]) == (3, None, reason)


def test_a_hook_may_be_named_by_its_module() -> None:
    result = run("live.hooks.toy_hooks:pollutes", *TOY)
    assert result.exit_code == 1


def test_recorded_conversations_come_first(tmp_path: Path) -> None:
    report = json.loads(run(f"{HOOKS}#pollutes", *TOY, "--json").output)
    file = tmp_path / "recorded.json"
    file.write_text(json.dumps(report["findings"][0]["conversation"]), encoding="utf-8")
    again = json.loads(
        run(f"{HOOKS}#pollutes", *TOY, "--json", "--from", str(file), "--examples", "1").output
    )
    assert again["findings"][0]["counts"]["text"] == "1 of 1"
    file.write_text('{"format": 2}', encoding="utf-8")
    assert run(f"{HOOKS}#pollutes", *TOY, "--from", str(file)).exit_code == 2


def test_texts_reach_the_hook(tmp_path: Path) -> None:
    hook = tmp_path / "looking.py"
    hook.write_text(
        "def hook(messages):\n"
        "    for m in messages:\n"
        "        if 'SECRET' in str(m['content']):\n"
        "            m['content'] = 'cut'\n",
        encoding="utf-8",
    )
    args = (f"{hook}#hook", *TOY[:6], "--project", str(tmp_path))
    assert run(*args).exit_code == 0
    assert run(*args, "--texts", "a SECRET of mine", "--texts", "other").exit_code == 1


def test_a_suppression_holds_for_its_releases_and_an_unused_one_is_reported(tmp_path: Path) -> None:
    hook = tmp_path / "suppressed.py"

    def written(comment: str) -> Any:
        hook.write_text(
            f"def hook(messages):\n    messages[0]['note'] = 'x'  # {comment}\n", encoding="utf-8"
        )
        return run(f"{hook}#hook", *TOY[:6], "--project", str(tmp_path), "--json")

    granted = written("agentcore: allow write for=live.toy_loop:ADAPTER -- the loop copies soon")
    report = json.loads(granted.output)
    assert granted.exit_code == 0, report["findings"]
    assert report["findings"][0]["suppressed"]["reason"] == "the loop copies soon"
    outside = written("agentcore: allow write for=live.toy_loop:ADAPTER<2 -- it has no release")
    assert (outside.exit_code, len(json.loads(outside.output)["suppressions"]["unused"])) == (1, 1)
    told = run(f"{hook}#hook", *TOY[:6], "--project", str(tmp_path)).output
    assert "for live.toy_loop:ADAPTER<2, does not hold here, in live.toy_loop:ADAPTER (no release)" in told
    assert written("agentcore: allow write for=live.toy_loop:ADAPTER").exit_code == 2
    assert written("agentcore: allow raises for=live.toy_loop:ADAPTER -- never").exit_code == 2
    assert written("agentcore: allow nothing -- x").exit_code == 2


def test_the_list_has_every_framework_boundary_and_release() -> None:
    output = run("--list").output
    assert "langchain (python; tried with 1.5.2)" in output
    assert "prepareStep" in output
    assert "session_input_callback" in output


def test_a_suppression_above_a_hook_holds_for_all_of_it_and_for_no_other(tmp_path: Path) -> None:
    hooks = tmp_path / "two.py"
    writes = "    messages[0]['content'] = 'x'\n    return messages\n"
    hooks.write_text(
        "# agentcore: allow write for=live.toy_loop:ADAPTER -- the caller throws its messages away\n"
        f"def allowed(messages):\n    assert messages\n{writes}\n\ndef other(messages):\n{writes}",
        encoding="utf-8",
    )
    mine, other = (
        run(f"{hooks}#{name}", *TOY[:-1], str(tmp_path), "--json") for name in ("allowed", "other")
    )
    assert mine.exit_code == 0, mine.output
    report = json.loads(mine.output)
    assert (report["verdict"], report["suppressions"]["unused"]) == ("clean", [])
    assert report["findings"][0]["suppressed"]["line"] == 1
    # It is no unused one of the other hook.
    report = json.loads(other.output)
    assert (other.exit_code, report["suppressions"]["unused"]) == (1, [])


def test_a_hook_that_hangs_is_told_of_the_time_limit() -> None:
    result = run(f"{HOOKS.with_name('liars.py')}#hangs", *TOY[:-2], "--time-limit", "1")
    assert result.exit_code == 1
    assert "--time-limit" in result.output


# ---------------------------------------------------------------- what the tool itself comes to


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (installs.InstallError("no release 9"), 3, "no release 9"),
        (
            WorkerFailedError("out of sockets"),
            4,
            "the check failed, and not by the hook; please report this:",
        ),
        (SuppressionError("hooks.py:1: this is no valid suppression"), 2, "no valid suppression"),
    ],
)
def test_a_check_that_fails_by_itself_has_a_code_of_its_own(
    error: Exception, code: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Any) -> Any:
        raise error

    monkeypatch.setattr("agentcore.cli.check_hook.check", fails)
    result = run(f"{HOOKS}#clean", *TOY)
    assert (result.exit_code, says in result.output) == (code, True)


# Stands for Node.js: notes its arguments, and has the report of the environment where one is asked for.
NODE: Final = """#!/usr/bin/env bash
printf '%s\\n' "$@" > "$NOTED"
while [ $# -gt 0 ]; do
  [ "$1" = --report ] && cp "$REPORT" "$2"
  shift
done
exit 1
"""


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the script that stands for Node.js notes what it is given, one argument on each line."""
    script = tmp_path / "bin" / "node"
    script.parent.mkdir()
    script.write_text(NODE, "utf-8")
    script.chmod(0o700)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("NOTED", str(tmp_path / "noted"))
    return tmp_path / "noted"


def test_a_hook_of_javascript_is_judged_by_the_core_in_javascript_with_the_same_options(
    node: Path, tmp_path: Path
) -> None:
    options = ("--path", "stream", "--examples", "9", "--seed", "4", "--fail-on", "note", "--factory")
    texts = ("--texts", "one", "--texts", "two", "--kinds", "write,raises", "--project", str(tmp_path))
    result = run("hooks.ts#mine", "--in", "ai", "--at", "prepareStep", *options, *texts, "--json")
    assert result.exit_code == 1
    _, command, *given = node.read_text("utf-8").splitlines()
    assert [command, *given[:5]] == ["check-hook", "hooks.ts#mine", "--in", "ai", "--at", "prepareStep"]
    told = {name: value for name, value in pairwise(given) if name.startswith("--")}
    wanted = {"--path": "stream", "--examples": "9", "--seed": "4", "--fail-on": "note"}
    wanted |= {"--kinds": "write,raises", "--project": str(tmp_path), "--texts": "two"}
    assert told.items() >= wanted.items()
    assert given.count("--texts") == 2
    assert {"--factory", "--json"} < {*given}
    assert "--report" not in given


@pytest.mark.usefixtures("node")
def test_the_report_of_the_core_in_javascript_has_a_page_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = run(f"{HOOKS}#raises", *TOY[:4], "--examples", "1", *TOY[6:], "--json").output
    (tmp_path / "report.json").write_text(report, "utf-8")
    monkeypatch.setenv("REPORT", str(tmp_path / "report.json"))
    page = tmp_path / "page.html"
    result = run("hooks.ts#mine", "--in", "ai", "--at", "prepareStep", "--html", str(page))
    assert result.exit_code == 1
    assert "no rule for this" in page.read_text("utf-8")


def test_without_node_a_hook_of_javascript_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    result = run("hooks.ts#mine", "--in", "ai", "--at", "prepareStep")
    assert result.exit_code == 3
    assert "--in ai needs Node.js: install 20 or newer" in result.output.replace("\n", " ")


# ---------------------------------------------------------------- suppressions


@pytest.mark.parametrize(
    ("allowed", "version", "holds"),
    [
        ("ai", None, True),
        ("ai", "6.0.1", True),
        ("mastra", "6.0.1", False),
        ("ai<7", None, False),
        ("ai<7", "6.9", True),
        ("ai<7", "7.0.0", False),
        ("ai>=6,<7", "6.0.0-beta.2", True),
        ("ai>=6,<7", "7.1", False),
        ("ai==6", "6.0.0", True),
        ("ai=6.1", "6.0.0", False),
        ("ai!=6.1", "6.1.0", False),
        ("ai<=6.1", "6.1", True),
        ("ai>6.1", "6.1", False),
        ("ai~6", "6.0", False),
    ],
)
def test_a_suppression_holds_for_the_releases_that_it_names(
    allowed: str, version: str | None, *, holds: bool
) -> None:
    granted = Suppression("write", allowed, "a reason", "hooks.py", 1, whole=False)
    assert granted.holds_for("ai", version) == holds


def test_a_file_that_is_no_python_has_suppressions_of_no_definition(tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text("# agentcore: allow write for=ai -- a reason\ndef hook(:\n", "utf-8")
    [granted] = suppressions_in(hook, "hook.py", "hook")
    assert (granted.line, granted.whole) == (1, False)
