"""The collapsed table of a contract, what differs between two releases, and the commands that print them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from agentcore.cli import main
from agentcore.live.contracts import text
from agentcore.live.contracts.measure import RULES
from agentcore.live.contracts.table import Row, answers_at, changes, collapsed, text_of, verdict, words
from agentcore.live.installs import InstallError
from live.contracts import THIS, measurement, row, validate

ROWS = st.builds(
    Row,
    path=st.sampled_from(["generate", "stream"]),
    boundary=st.sampled_from(["before", "after"]),
    root=st.sampled_from(["", "messages"]),
    owner=st.sampled_from(["", "caller", "run"]),
    role=st.sampled_from(["", "user"]),
    place=st.sampled_from(["list", "text"]),
    act=st.sampled_from(["push", "change"]),
)


@given(st.dictionaries(ROWS, st.integers(0, 3)))
def test_collapsing_loses_nothing_and_adds_nothing(rows: dict[Row, int]) -> None:
    groups = collapsed(rows)
    expanded = {
        Row(path, group.boundary, group.root, *cell): group.value
        for group in groups
        for path in group.paths
        for cell in group.cells
    }
    assert expanded == rows
    assert sum(len(group.paths) * len(group.cells) for group in groups) == len(rows)


def said(rows: dict[Row, Any]) -> list[str]:
    groups = collapsed(rows)
    return [words(group, groups) for group in groups]


def test_a_place_is_named_alone_if_all_that_was_done_there_has_one_answer() -> None:
    rows = {
        row("content", "push"): 1,
        row("content", "replace"): 1,
        row("text"): 1,
        row("list", "push", owner=""): 2,
    }
    assert said(rows) == ["the caller's content list, text", "list of messages (append)"]


def test_what_differs_in_act_or_role_is_said() -> None:
    rows = {row("output", "key"): 1, row("output", "replace"): 2, row("text"): 3, row("text", role="tool"): 4}
    assert said(rows) == [
        "the caller's tool output (add key)",
        "the caller's tool output (replace)",
        "the caller's text (edit of user)",
        "the caller's text (edit of tool)",
    ]


def test_owners_with_the_same_places_share_a_phrase() -> None:
    assert said({row(): 1, row(owner="run"): 1}) == ["the caller's and the run's text"]


@pytest.mark.parametrize(
    ("seen", "word"),
    [
        ((), "no effect"),
        (THIS, "this step only"),
        (("this-prompt", "later-prompts"), "rest of the run"),
        (("next-prompt", "result"), "rest of the run"),
        (("this-prompt", "later-prompts", "caller", "later-runs"), "the caller's messages, too"),
        (("later-runs", "result"), "the result"),
        (("steps",), "records only"),
    ],
)
def test_the_verdict_is_a_function_of_who_sees_the_write(seen: tuple[str, ...], word: str) -> None:
    assert verdict((("seen", seen),)) == word


def test_a_verdict_on_what_is_not_seen_says_why_not() -> None:
    assert verdict(()) == "no such place"
    assert verdict((("seen", ()),)) == "no effect"
    assert verdict((("seen", THIS), ("refused", ()))) == "depends on the place"
    assert verdict((("refused", ()),)) == RULES["results"]["refused"]


def test_before_the_first_release_of_a_place_it_has_no_answers() -> None:
    changed = {"from": {"first_this": "1.2.0"}, "answers": [{"result": "refused"}]}
    assert answers_at([changed], "1.10.0") == changed["answers"]
    assert answers_at([changed], "1.1.0") == []


def test_answers_that_are_no_holders_have_words_of_their_own() -> None:
    assert [text_of(each) for each in ((), (("breaks", ()),), (("refused", ()),), (("unknown", ()),))] == [
        "no such place",
        *(RULES["results"][name] for name in ("breaks", "refused", "unknown")),
    ]
    assert text_of((("refused", ()), ("seen", THIS))) == "the write is refused or this prompt"


def test_only_rows_that_differ_are_changes_and_boundaries_that_one_lacks_are_none() -> None:
    old = measurement({row(): THIS, row("part"): THIS, row(boundary="after"): THIS})
    lacking = [{"path": "generate", "boundary": "after", "why": "the hook is not called"}]
    new = measurement({row(): ("caller",), row("input"): THIS}, "2.0.0", lacking)
    assert changes(old, new) == {
        row(): ((("seen", THIS),), (("seen", ("caller",)),)),
        row("part"): ((("seen", THIS),), ()),
        row("input"): ((), (("seen", THIS),)),
    }
    assert "only one of them has after: the hook is not called" in text.difference(
        old, new, changes(old, new)
    )


def test_what_is_not_known_of_a_release_is_told_by_its_reason() -> None:
    gone = "the hook is not called"
    lacking = [
        {"path": "generate", "boundary": "after", "why": gone},
        {"path": "stream", "boundary": "before", "root": "messages", "why": gone},
    ]
    told = text.table(measurement({row(): THIS, row(root=""): THIS}, unmeasured=lacking))
    assert "not known: after (generate), before messages (stream): the hook is not called" in told
    assert "before, " in told


# ---------------------------------------------------------------- commands


@pytest.fixture
def _releases(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(_: str, version: str, *__: Any) -> dict[str, Any]:
        if version == "1.0.1":
            raise InstallError("no files\nof it")
        return measurement({row(): THIS if version < "1.0.3" else ("caller",)}, version)

    versions = tuple(f"1.0.{number}" for number in range(5))
    monkeypatch.setattr("agentcore.cli.contract.measure", measure)
    monkeypatch.setattr("agentcore.cli.contract.published", lambda _: versions)
    monkeypatch.setattr("agentcore.live.contracts.releases.published", lambda _: versions)


def run(*args: str) -> Any:
    return CliRunner().invoke(main, [*args])


@pytest.mark.usefixtures("_releases")
def test_contract_prints_a_release_or_what_differs_between_two() -> None:
    one, two = run("contract", "ai@1.0.0"), run("contract", "ai@1.0.0", "ai@1.0.4")
    assert (one.exit_code, two.exit_code) == (0, 1)
    assert "the caller's text" in one.output
    assert "this prompt  ->  caller" in two.output
    assert run("contract", "ai@1.0.3", "ai@1.0").exit_code == 0
    assert run("contract", "ai@1.0.1").exit_code == 3


@pytest.mark.usefixtures("_releases")
def test_bisect_names_the_release_and_what_was_skipped() -> None:
    found = run("bisect", "ai", "1.0.0", "1.0.4")
    assert found.exit_code == 0
    assert "ai 1.0.3 changed 1 row; 1.0.2 is as before" in found.output
    assert "skipped 1.0.1: no files" in found.output
    assert run("bisect", "ai", "1.0.3", "1.0.4").exit_code == 1
    assert run("bisect", "ai", "1.0.1", "1.0.4").exit_code == 3
    assert run("bisect", "ai", "1.0.4", "1.0.0").exit_code == 2


@pytest.fixture
def _profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Profiles stand for releases: `ai-sdk-6.0.134` is the first, and one of them cannot be run."""
    profiles = {"6.0.134": "ai-sdk-6", "6.0.326": "ai-sdk-6.0.326", "7.0.173": "ai-sdk-7"}
    versions = ("6.0.134", "6.0.200", "6.0.326", "7.0.173")

    def named(_: Any, version: str) -> str:
        return profiles.get(version, f"live:nobody@{version}")

    monkeypatch.setattr("agentcore.cli.contract._Found._named", named)
    monkeypatch.setattr("agentcore.cli.contract.published", lambda _: versions)
    monkeypatch.setattr("agentcore.live.contracts.releases.published", lambda _: versions)


@pytest.mark.usefixtures("_profiles")
def test_bisect_by_programs_names_the_programs_that_changed() -> None:
    found = run("bisect", "ai", "6.0.134", "7.0.173", "--by", "programs", "-n", "12")
    assert found.exit_code == 0
    assert "ai 7.0.173: " in found.output
    assert " of 12 programs differ from 6.0.326" in found.output
    assert "skipped 6.0.200: no target is named" in found.output
    assert "agentcore compare ai-sdk-6.0.326 ai-sdk-7 --programs 12 --seed 0" in found.output


@pytest.mark.usefixtures("_profiles")
def test_bisect_by_programs_is_by_the_schema_and_repeats_itself() -> None:
    command = ["bisect", "ai", "6.0.326", "7.0.173", "--by", "programs", "-n", "12", "--json"]
    one, other = (json.loads(CliRunner().invoke(main, command).stdout) for _ in range(2))
    validate(one)
    assert one["edges"] == other["edges"]
    (edge,) = one["edges"]
    assert all(each["features"] and each["seed"] in range(12) for each in edge["programs"])


@pytest.mark.usefixtures("_profiles")
def test_an_end_whose_programs_cannot_be_run_leaves_nothing_to_search() -> None:
    assert run("bisect", "ai", "6.0.200", "7.0.173", "--by", "programs", "-n", "2").exit_code == 3


@pytest.mark.usefixtures("_releases")
@pytest.mark.parametrize(
    "command",
    [("contract", "ai@1.0.0"), ("contract", "ai@1.0.0", "ai@1.0.4"), ("bisect", "ai", "1.0.0", "1.0.4")],
)
def test_json_is_by_the_schema(command: tuple[str, ...]) -> None:
    found = CliRunner().invoke(main, [*command, "--json"])
    validate(json.loads(found.stdout))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("contract",), "name one framework"),
        (("contract", "parrot"), "no framework is named parrot"),
        (("contract", "ai", "--at", "beforeModel"), "ai has no boundary beforeModel"),
        (("bisect", "ai", "1", "2", "--path", "sideways"), "ai has the paths generate, stream"),
        (("bisect", "ai", "1", "2", "--by", "chance"), "'chance' is not one of"),
        (
            ("bisect", "ai", "1.0.0", "1.0.4", "--by", "programs", "--path", "stream"),
            "--at and --path choose rows of a contract",
        ),
    ],
)
@pytest.mark.usefixtures("_releases")
def test_wrong_usage_is_explained(args: tuple[str, ...], said: str) -> None:
    found = run(*args)
    assert found.exit_code == 2
    assert said in re.sub(r"\W*\n\W*", " ", found.output)


@pytest.mark.usefixtures("_releases")
def test_releases_of_two_frameworks_have_no_rows_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(framework: str, version: str, *_: Any) -> dict[str, Any]:
        return {**measurement({row(): THIS}, version), "framework": framework}

    monkeypatch.setattr("agentcore.cli.contract.measure", measured)
    found = run("contract", "ai@1.0.0", "mastra@1.0.0")
    assert (found.exit_code, "ai and mastra have no rows in common" in found.output) == (2, True)


@pytest.mark.usefixtures("_releases")
def test_without_a_version_the_release_of_the_project_is_measured_or_else_the_newest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def of_project(*_: Any) -> dict[str, Any]:
        return measurement({row(): THIS}, "0.9.9")

    def of_none(*_: Any) -> Any:
        raise InstallError("not installed")

    for measured, version in ((of_project, "0.9.9"), (of_none, "1.0.4")):
        monkeypatch.setattr("agentcore.cli.contract.measure_project", measured)
        assert json.loads(run("contract", "ai", "--json").stdout)["version"] == version


def test_what_is_published_is_told_line_by_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []

    def published(folder: Path, frameworks: Any, **options: Any) -> Any:
        asked.append((folder, frameworks, options["at"], options["quick"]))
        yield from ("ai: 5 releases", "strands: 2 releases")

    monkeypatch.setattr("agentcore.cli.contract.publish.publish", published)
    found = run("contract", "ai", "--publish", "--quick", "--published", str(tmp_path))
    assert (found.exit_code, found.output) == (0, "ai: 5 releases\nstrands: 2 releases\n")
    assert asked == [(tmp_path, ("ai",), None, True)]


@pytest.mark.usefixtures("_releases")
def test_programs_of_releases_that_no_target_drives_cannot_be_searched() -> None:
    found = run("bisect", "ai", "1.0.0", "1.0.4", "--by", "programs", "-n", "1")
    assert found.exit_code == 3
    assert "no target is named 'ai-sdk@1.0.0'" in found.output


@pytest.mark.usefixtures("_profiles")
def test_that_no_program_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentcore.cli.contract._Found._named", lambda *_: "ai-sdk-6")
    found = run("bisect", "ai", "6.0.134", "7.0.173", "--by", "programs", "-n", "1")
    assert found.exit_code == 1
    assert "ai: no program differs between the releases in which they were run" in found.output


@pytest.mark.usefixtures("_releases")
def test_changed_compares_the_newest_release_with_the_published_one(tmp_path: Path) -> None:
    statements = [{"from": None, "answers": [{"result": "seen", "seen": [*THIS]}]}]
    group = {"paths": ["generate"], "rows": ["caller.user.text.change"], "statements": statements}
    of = {
        "package": "ai",
        "manager": "npm",
        "probe": "x",
        "runtime": "Node.js",
        "releases": [{"version": "1.0.2", "lock": None}],
        "skipped": {},
        "when": {},
        "contracts": [{"boundary": "before", "root": "messages", "groups": [group]}],
        "unmeasured": [],
    }
    contracts = {"format": 1, "frameworks": {"ai": of}}
    validate(contracts)
    (tmp_path / "contracts.json").write_text(json.dumps(contracts))
    found = run("contract", "--changed", "--published", str(tmp_path))
    assert found.exit_code == 1
    assert "ai 1.0.2 and 1.0.4: 1 row of 1 differ" in found.output
    of["releases"] = [{"version": "1.0.4", "lock": None}]
    (tmp_path / "contracts.json").write_text(json.dumps(contracts))
    assert run("contract", "--changed", "--published", str(tmp_path)).exit_code == 0
    other = run("contract", "--changed", "strands", "--published", str(tmp_path))
    assert (other.exit_code, "has no contract of strands" in other.output) == (2, True)
