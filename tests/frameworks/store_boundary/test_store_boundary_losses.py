"""What stores lose: nothing under an expected head, and each kind of loss where one field is otherwise."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore.frameworks import store_boundary
from agentcore.frameworks.store_boundary.family import FAMILY, Recording, trace_under
from agentcore.frameworks.store_boundary.profiles import (
    AGENTCORE,
    PROFILES,
    Ids,
    New,
    Saving,
    StoreProfile,
)
from agentcore.heap.copying import CopyDepth
from agentcore.kit.choices import count_features
from agentcore.kit.shrink import shrink
from agentcore.oracle.campaign.strategies import programs
from cli.commands import run

Json = dict[str, Any]
KINDS: Final = ("doubled", "dropped", "interleaved", "rewritten")
LOSSLESS: Final = st.builds(
    lambda handed, returned_kept, stored, reloaded, ids: attrs.evolve(
        AGENTCORE,
        handed=handed,
        returned_kept=returned_kept,
        stored=stored,
        reloaded=reloaded,
        ids=ids,
    ),
    st.sampled_from(CopyDepth),
    st.booleans(),
    st.sampled_from(CopyDepth),
    st.booleans(),
    st.sampled_from(Ids),
)
"""Copies of what is loaded, given and said; new by identity, an expected head; all else is free."""


def kinds(profile: StoreProfile, program: Json) -> set[str]:
    return {loss["kind"] for loss in trace_under(profile, program)["losses"]}


def smallest(profile: StoreProfile, kind: str, seeds: int = 1_000) -> Json:
    """The smallest program found in which something is lost in a way."""
    found = (
        program for program in FAMILY.programs(range(seeds), profile.name) if kind in kinds(profile, program)
    )
    return shrink(next(found), lambda program: kind in kinds(profile, program), FAMILY)


# ---------------------------------------------------------------- nothing is lost


@settings(max_examples=150)
@given(LOSSLESS, programs("store/agentcore"))
def test_nothing_is_lost_where_copies_are_loaded_identity_is_new_and_a_head_is_expected(
    profile: StoreProfile, program: Json
) -> None:
    trace = trace_under(profile, program)
    assert trace["losses"] == []
    bare = [
        {key: value for key, value in message.items() if key != "id" or not str(value).startswith("new-")}
        for message in trace["final"]["stored"]
    ]
    assert bare == trace["final"]["intended"]


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("given", CopyDepth.SHARE, "rewritten"),
        ("loaded", CopyDepth.SHARE, "doubled"),
        ("loaded", CopyDepth.LIST, "rewritten"),
        ("loaded", CopyDepth.PART, "rewritten"),
        ("recorded", CopyDepth.SHARE, "rewritten"),
        ("recorded", CopyDepth.PART, "rewritten"),
        ("head_expected", False, "interleaved"),
        ("saving", Saving.REPLACE, "dropped"),
        ("saving", Saving.MERGE, "dropped"),
        ("new", New.ALL, "doubled"),
        ("new", New.POSITION, "dropped"),
        ("new", New.COUNT, "dropped"),
        ("new", New.EQUALITY, "dropped"),
        ("new", New.OBJECT, "doubled"),
        ("new", New.FLAG, "doubled"),
    ],
)
def test_each_field_is_needed_for_that(field: str, value: Any, kind: str) -> None:
    # Hooks get the list itself: what the other fields keep apart is theirs to mix.
    live = attrs.evolve(AGENTCORE, handed=CopyDepth.SHARE, returned_kept=True)
    program = smallest(attrs.evolve(live, **{field: value}), kind)
    assert kinds(live, program) == set()


# ---------------------------------------------------------------- each kind, at its smallest


def said(role: str, text: str) -> Json:
    return {"role": role, "content": text}


@pytest.mark.parametrize(
    ("profile", "kind", "turns", "events"),
    [
        ("store/live", "interleaved", 2, 4),
        ("store/live", "dropped", 1, 3),
        ("store/live", "rewritten", 1, 3),
        ("store/reload-append", "interleaved", 2, 5),
        ("store/replace-all", "dropped", 2, 4),
        ("store/merge-by-id", "dropped", 1, 2),
    ],
)
def test_a_loss_has_a_small_program(profile: str, kind: str, turns: int, events: int) -> None:
    found = smallest(PROFILES[profile], kind)
    assert len(found["turns"]) <= turns
    assert len(FAMILY.trace(found, profile)["loads"]) <= turns
    assert len(found.get("order", range(events))) <= events


def test_a_loss_is_blamed_on_the_turn_and_the_agent_that_brought_it_about() -> None:
    turns = [
        {"agent": "A", "input": [said("user", "a?")], "script": [[said("assistant", "a!")]]},
        {"agent": "B", "input": [said("user", "b?")], "script": [[said("assistant", "b!")]]},
    ]
    order = [{"load": 0}, {"load": 1}, {"step": 0}, {"step": 1}, {"save": 0}, {"save": 1}]
    program = {"id": "a", "turns": turns, "order": order}
    by = {"event": 5, "does": "save", "turn": 1, "agent": "B"}
    trace = FAMILY.trace(program, "store/replace-all")
    assert trace["losses"] == [
        {"kind": "dropped", "turn": 0, "message": number, "at": [], "by": by} for number in (0, 1)
    ]
    assert next(iter(FAMILY.notes(trace))) == (
        "Message 0 of turn 0 is dropped, since event 5, the save of turn 1 by agent B."
    )


def test_an_explanation_ends_with_what_is_lost_and_can_be_played(tmp_path: Path) -> None:
    hooks = [[{"op": "set", "path": [0, "content"], "value": "edited"}]]
    turn = {
        "agent": "A",
        "input": [said("user", "a?")],
        "script": [[said("assistant", "a!")]],
        "hooks": hooks,
    }
    program = {"id": "a", "stored": [said("user", "old?")], "turns": [turn]}
    (tmp_path / "a.json").write_text(json.dumps(program), "utf-8")
    page = tmp_path / "a.html"
    told = run("explain", str(tmp_path / "a.json"), "--profile", "store/live", "--html", str(page))
    assert told.exit_code == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")
    told = run("explain", str(tmp_path / "a.json"), "--profile", "store/live")
    assert (
        "Message 0 stored before is rewritten, at 0 in the store, since event 1, the step of" in told.stdout
    )
    (finding,) = store_boundary.run(
        "store/live", Recording(PROFILES["store/live"], program).settings
    ).pollution
    assert finding.verdict is store_boundary.Verdict.POLLUTING
    assert finding.paths["store"] == "store[0].content"


def test_a_loss_that_is_gone_at_the_end_is_none() -> None:
    hooks = [[{"op": "push", "value": said("user", "x")}], [{"op": "delete", "path": [-2]}]]
    script = [[said("assistant", "one")], [said("assistant", "two")]]
    turn = {"agent": "A", "input": [said("user", "a?")], "script": script, "hooks": hooks}
    trace = FAMILY.trace({"id": "a", "turns": [turn]}, "store/live")
    assert [message["content"] for message in trace["prompts"][0]["messages"]] == ["a?", "x"]
    assert trace["losses"] == []


# ---------------------------------------------------------------- what random programs reach


def test_every_feature_is_drawn_and_most_ops_lead_somewhere() -> None:
    drawn = [*FAMILY.programs(range(400), "store/live")]
    counts = count_features(drawn, FAMILY.features, FAMILY.feature_names)
    assert min(counts.values()) >= 8, counts
    ops = sum(1 for program in drawn for _ in FAMILY.writes(program))
    errors = sum(len(FAMILY.trace(program, "store/live")["opErrors"]) for program in drawn)
    assert errors < ops * 0.3


@pytest.mark.slow
def test_every_kind_of_loss_is_reached_under_most_profiles() -> None:
    found: Counter[tuple[str, str]] = Counter()
    for program, name in itertools.product(FAMILY.programs(range(250), "store/live"), PROFILES):
        found.update((name, kind) for kind in kinds(PROFILES[name], program))
    for name in set(PROFILES) - {"store/agentcore"}:
        assert len({kind for profile, kind in found if profile == name}) >= 2, name
    assert {kind for _, kind in found} == {*KINDS}
    assert not [name for name, _ in found if name == "store/agentcore"]


# ---------------------------------------------------------------- what no program is


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ([{"step": 0}], r"\$\.order\[0\]: turn 0 has not loaded yet"),
        ([{"load": 0}, {"load": 0}], r"\$\.order\[1\]: turn 0 has loaded before"),
        ([{"load": 0}, {"step": 0}, {"step": 0}], r"\$\.order\[2\]: the script of turn 0 has 1 answers"),
        ([{"load": 1}], r"\$\.order\[0\]: there is no turn 1; the last one is 0"),
        ([{"wait": 0}], r"\$\.order\[0\]"),
    ],
)
def test_an_order_that_cannot_be_is_no_program(order: list[Json], reason: str) -> None:
    turn = {"agent": "A", "input": [], "script": [[said("assistant", "a!")]]}
    with pytest.raises(ValueError, match=reason):
        FAMILY.require({"id": "a", "turns": [turn], "order": order})
