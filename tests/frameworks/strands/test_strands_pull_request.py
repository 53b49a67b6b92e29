"""The commits of the pull request as profiles: what they copy, and that each change is what shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import attrs
import pytest

from agentcore.frameworks.strands.emulation.agent import contract
from agentcore.frameworks.strands.emulation.pull_request import COMMITS, Commit
from agentcore.frameworks.strands.profiles import STRANDS_TS_1_5, STRANDS_TS_1_19, StrandsProfile
from agentcore.frameworks.strands.reference import trace_under
from agentcore.heap.copying import CopyDepth
from frameworks.strands.strands_scene import put, wrap
from spec.crossings_strands import contexts
from spec.pull_request import EDITS, changed, program, seen

# The rows that the commits change, as measured: before, then each commit.
MEASURED: Final = {
    "model messages": ("share", *("shallow",) * 5, "deep"),
    "model system, a list": ("share", *("deep",) * 6),
    "model system, guarded content": ("share", *("shallow",) * 6),
    "model toolSpecs": ("shallow", *("deep",) * 6),
    "model toolChoice": ("share", *("deep",) * 6),
    "model modelState": ("share", *("absent",) * 6),
    "model invocationState": ("share", *("shallow",) * 3, *("share",) * 3),
    "tool toolUse": (*("shallow",) * 3, *("deep",) * 4),
    "stream args, messages": (*("share",) * 3, "shallow", "shallow", "share", "share"),
    "stream args, blocks": (*("share",) * 3, "shallow", "shallow", "share", "share"),
}
NUMBERED: Final = tuple(enumerate(COMMITS))
AFTER: Final = tuple(pairwise(COMMITS))


def named(value: Any) -> str:
    return value.name if isinstance(value, Commit) else str(value)


@pytest.mark.slow
@pytest.mark.parametrize(("column", "commit"), NUMBERED, ids=named)
def test_the_contexts_of_a_commit_are_as_measured(column: int, commit: Commit) -> None:
    rows = {row: words[column] for row, words in MEASURED.items()}
    assert {row: contexts(commit.profile)[row] for row in MEASURED} == rows
    assert {row: contract(commit.profile)[row] for row in MEASURED} == rows


def test_the_first_is_the_version_before_and_the_last_copies_as_the_one_after() -> None:
    assert COMMITS[0].profile is STRANDS_TS_1_5
    last = COMMITS[-1].profile
    for field in ("model_copies", "state_copied", "tool_use_copied", "args_copied", "model_state"):
        assert getattr(last, field) == getattr(STRANDS_TS_1_19, field), field
    assert seen(COMMITS[-1]) == seen(Commit(name="now", does="", profile=STRANDS_TS_1_19))


@pytest.mark.parametrize("commit", COMMITS, ids=named)
def test_every_row_of_the_page_is_a_program_that_runs(commit: Commit) -> None:
    for row in EDITS:
        trace = trace_under(commit.profile, program(row))
        assert "driverError" not in trace, row
        assert not trace["pathErrors"], row
        assert len(trace["calls"]) == 2, row


def _decisions(before: StrandsProfile, after: StrandsProfile) -> Iterator[tuple[str, StrandsProfile]]:
    """Each thing that a commit decides otherwise, with the profile that decides it as before."""
    for field in attrs.fields(StrandsProfile):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old == new or field.name in ("name", "contexts"):
            continue
        if not attrs.has(type(new)):
            yield field.name, attrs.evolve(after, **{field.name: old})
            continue
        for part in attrs.fields(type(new)):
            if getattr(old, part.name) != getattr(new, part.name):
                mixed = attrs.evolve(new, **{part.name: getattr(old, part.name)})
                yield f"{field.name}.{part.name}", attrs.evolve(after, **{field.name: mixed})


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), AFTER, ids=named)
def test_each_decision_of_a_commit_shows_when_it_is_flipped(before: Commit, after: Commit) -> None:
    mine = (seen(after), contexts(after.profile))
    for name, profile in _decisions(before.profile, after.profile):
        flipped = Commit(name="flipped", does="", profile=profile)
        assert (seen(flipped), contexts(profile)) != mine, name


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), AFTER, ids=named)
def test_a_commit_changes_who_sees_a_write_unless_it_decides_nothing(before: Commit, after: Commit) -> None:
    decided = [*_decisions(before.profile, after.profile)]
    assert (list(changed([seen(before), seen(after)])) == ["nothing"]) is (not decided)


@pytest.mark.parametrize(
    ("depth", "key", "inside"),
    [(CopyDepth.SHARE, True, True), (CopyDepth.PART, False, True), (CopyDepth.DEEP, False, False)],
)
def test_a_state_is_shared_new_or_new_altogether(depth: CopyDepth, key: bool, inside: bool) -> None:
    profile = attrs.evolve(STRANDS_TS_1_19, state_copied=depth)
    edits = [put("invocationState", "k", value=1), put("invocationState", "mine", "a", value="written")]
    run = {"id": "a", "invocationState": {"mine": {"a": 1}}, "middleware": [wrap("model", *edits)]}
    state = trace_under(profile, run)["invocationState"]
    assert ("k" in state, state["mine"]["a"] == "written") == (key, inside)
