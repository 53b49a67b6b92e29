"""The order of releases, and the search for those that changed something: on releases that nobody made."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore.live.contracts import releases
from agentcore.live.contracts.bisect import Undecided, bisect, transitions
from agentcore.live.contracts.releases import (
    Package,
    between,
    newest,
    ordered,
    package_of,
    published,
    resolved,
)
from agentcore.live.installs import InstallError
from live.contracts import measurement, row


def test_prereleases_of_all_tags_share_a_counter_if_no_number_is_there_twice() -> None:
    wanted = [
        "7.0.0-beta.60",
        "7.0.0-beta.116",
        "7.0.0-canary.130",
        "7.0.0-canary.176",
        "7.0.0-beta.178",
        "7.0.0",
    ]
    assert ordered(reversed(wanted)) == wanted


def test_tags_with_counters_of_their_own_are_ordered_as_package_managers_do() -> None:
    wanted = ["5.0.0-alpha.3", "5.0.0-alpha.12", "5.0.0-beta.1", "5.0.0-beta.3", "5.0.0", "5.0.1"]
    assert ordered(reversed(wanted)) == wanted


def test_releases_of_python_are_ordered_too() -> None:
    wanted = [
        "1.0.0a1",
        "1.0.0a2",
        "1.0.0rc1",
        "1.0.0",
        "1.0.0.post1",
        "1.2.0",
        "1.10.0",
        "2.0.0.dev1",
        "2.0.0b1",
    ]
    assert ordered(reversed(wanted)) == wanted


def test_trials_are_searched_only_on_the_way_to_another_major_or_from_one() -> None:
    releases = ordered(
        ["1.0.0", "1.1.0", "1.2.0-beta.1", "1.2.0", "2.0.0-beta.1", "2.0.0", "2.1.0-beta.1", "2.1.0"]
    )
    assert between(releases, "1.0.0", "1.2.0") == ["1.0.0", "1.1.0", "1.2.0"]
    assert between(releases, "1.2.0", "2.0.0") == ["1.2.0", "2.0.0-beta.1", "2.0.0"]
    assert between(releases, "1.2.0-beta.1", "1.2.0") == ["1.2.0-beta.1", "1.2.0"]
    with pytest.raises(LookupError, match="does not come before"):
        between(releases, "2.0.0", "1.0.0")
    with pytest.raises(LookupError, match=r"3\.0\.0 is not among the releases"):
        between(releases, "1.0.0", "3.0.0")


def test_the_newest_release_is_no_trial_if_there_is_another() -> None:
    assert newest(["1.0.0", "1.1.0-beta.1"]) == "1.0.0"
    assert newest(["1.0.0-beta.1", "1.0.0-beta.2"]) == "1.0.0-beta.2"


class _Releases:
    """Releases by number: what two rows are in each, or None if it cannot be installed."""

    def __init__(self, states: list[tuple[str, str] | None]) -> None:
        self.states = states
        self.names = [f"1.0.{number}" for number in range(len(states))]
        self.measured: list[str] = []

    def measure(self, version: str) -> dict[str, object]:
        self.measured.append(version)
        state = self.states[self.names.index(version)]
        if state is None:
            raise InstallError(f"{version} has no files")
        return measurement({row("text"): [state[0]], row("part"): [state[1]]}, version)


OLD, NEW = "caller", "result"


def test_each_row_has_its_own_edge_and_each_release_is_measured_once() -> None:
    of = _Releases([(OLD if number < 70 else NEW, OLD if number < 12 else NEW) for number in range(100)])
    found = bisect(of.names, of.measure, samples=2)
    assert [(each.last_old, each.first_new, [*each.rows]) for each in found.edges] == [
        ("1.0.11", "1.0.12", [row("part")]),
        ("1.0.69", "1.0.70", [row("text")]),
    ]
    assert len(of.measured) == len(set(of.measured)) < 20
    assert found.edges[0].rows[row("part")] == ((("seen", (OLD,)),), (("seen", (NEW,)),))


def test_a_change_that_was_taken_back_is_found_by_samples_between_equal_ends() -> None:
    of = _Releases([(NEW if 40 <= number < 60 else OLD, OLD) for number in range(100)])
    assert bisect(of.names, of.measure, samples=0).edges == []
    found = bisect(of.names, of.measure, samples=4)
    assert [each.first_new for each in transitions(found)[row("text")]] == ["1.0.40", "1.0.60"]


def test_releases_that_cannot_be_measured_are_stepped_around_and_named() -> None:
    of = _Releases([None if number in (5, 6) else (OLD if number < 6 else NEW, OLD) for number in range(12)])
    (edge,) = bisect(of.names, of.measure).edges
    assert (edge.last_old, edge.first_new) == ("1.0.4", "1.0.7")
    assert edge.unknown == {"1.0.5": "1.0.5 has no files", "1.0.6": "1.0.6 has no files"}


def test_an_end_that_cannot_be_measured_leaves_the_search_undecided() -> None:
    of = _Releases([(OLD, OLD), (OLD, OLD), None])
    with pytest.raises(Undecided, match=r"1\.0\.2 cannot be measured: 1\.0\.2 has no files"):
        bisect(of.names, of.measure)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([(OLD, OLD), (NEW, OLD), (NEW, NEW), None]), max_size=20), st.integers(0, 4))
def test_an_edge_contains_a_true_change_of_each_of_its_rows(
    inside: list[tuple[str, str] | None], samples: int
) -> None:
    of = _Releases([(OLD, OLD), *inside, (NEW, NEW)])
    found = bisect(of.names, of.measure, samples=samples)
    assert len(of.measured) == len(set(of.measured))
    assert {each for edge in found.edges for each in edge.rows} == {row("text"), row("part")}
    for edge in found.edges:
        low, high = of.names.index(edge.last_old), of.names.index(edge.first_new)
        assert {*of.names[low + 1 : high]} == {*edge.unknown}
        assert all(of.states[index] is None for index in range(low + 1, high))
        for changed in edge.rows:
            side = 0 if changed.place == "text" else 1
            before, after = of.states[low], of.states[high]
            assert before is not None
            assert after is not None
            assert before[side] != after[side]


def test_an_environment_without_pip_says_how_to_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentcore.live.contracts.releases.find_spec", lambda _: None)
    with pytest.raises(InstallError, match=r"^pip, which lists releases .* -m ensurepip$"):
        published(Package("nothing-of-that-name", "pip"))


# ---------------------------------------------------------------- what package managers say

MANAGER: Final = """#!/usr/bin/env bash
case "$*" in
  *absent*) echo "no such package" >&2; exit 1 ;;
  *--eval*) echo from-node ;;
  *"view one "*) echo '"1.0.0"' ;;
  *view*) echo '["1.10.0", "1.9.0", "2.0.0-beta.1"]' ;;
  *"versions none "*) echo "nothing" ;;
  *index*) printf 'thing (1.10)\\nAvailable versions: 1.10, 1.9, 1.9rc1\\n' ;;
esac
"""


@pytest.fixture
def managers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """One script stands for node, npm and Python with pip."""
    for name in ("node", "npm", "python"):
        (tmp_path / name).write_text(MANAGER, "utf-8")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    published.cache_clear()
    package_of.cache_clear()
    yield
    published.cache_clear()
    package_of.cache_clear()


@pytest.mark.usefixtures("managers")
def test_releases_are_those_that_the_package_manager_lists_oldest_first() -> None:
    assert published(Package("many", "npm")) == ("1.9.0", "1.10.0", "2.0.0-beta.1")
    assert published(Package("one", "npm")) == ("1.0.0",)
    assert published(Package("thing", "pip")) == ("1.9rc1", "1.9", "1.10")
    assert published(Package("none", "pip")) == ()


@pytest.mark.usefixtures("managers")
def test_the_releases_of_a_framework_are_those_of_its_package() -> None:
    assert package_of("langchain") == Package("langchain", "pip")
    assert package_of("ai") == Package("from-node", "npm")


@pytest.mark.usefixtures("managers")
def test_a_release_may_be_meant_by_its_line_or_as_the_latest() -> None:
    many = Package("many", "npm")
    wanted = ("1.9.0", "1", "1.9", "latest")
    assert [resolved(many, each) for each in wanted] == ["1.9.0", "1.10.0", "1.9.0", "1.10.0"]
    with pytest.raises(InstallError, match=r"^many has no release 3; the newest is 1\.10\.0$"):
        resolved(many, "3")


@pytest.mark.usefixtures("managers")
def test_a_package_manager_that_fails_says_why() -> None:
    for manager in ("npm", "pip"):
        with pytest.raises(InstallError, match=r" failed: no such package$"):
            published(Package("absent", manager))


def test_a_package_manager_that_is_missing_or_hangs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "_SECONDS", 0.1)
    with pytest.raises(InstallError, match=r"sleep 60 gave no answer within 0\.1 seconds"):
        releases.output_of(["sleep", "60"])
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InstallError, match=r"npm is not on the PATH: install Node\.js 20 or newer"):
        published(Package("never asked for", "npm"))
