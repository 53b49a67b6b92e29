from __future__ import annotations

import re
from typing import Final

import pytest

from spec import claims
from spec.claims import Claim, ids_in, ids_of_source, parts, ranges_in
from spec.requirements import SPEC
from test_links import anchors

CLAIMS: Final = claims.claims()


def test_every_id_that_is_cited_is_a_claim() -> None:
    assert sorted(claims.cited() - {*CLAIMS}) == []
    assert sorted(claims.in_ranges() - {*CLAIMS}) == []


def test_every_claim_is_cited_or_background() -> None:
    background = {name for name, claim in CLAIMS.items() if claim.background}
    assert sorted({*CLAIMS} - claims.cited()) == sorted(background)


def test_an_id_is_one_claim() -> None:
    assert len(CLAIMS) == sum(len(part.claims) for part in parts())


def test_every_claim_has_an_anchor_of_its_own() -> None:
    wanted = [claims.place(name) for name in CLAIMS]
    assert len({*wanted}) == len(wanted)
    folder = SPEC / "generated/claims"
    there = {
        f"{file.name}#{each}" for file in folder.glob("*.md") for each in anchors(file.read_text("utf-8"))
    }
    assert {*wanted} <= there


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_a_claim_says_what_was_run_and_what_came_of_it(claim: Claim) -> None:
    assert claims.ID.fullmatch(claim.id)
    assert claim.claim.endswith((".", "?"))
    assert claim.ran.endswith(".")
    assert {*claim.verdict.values()} <= {*claims.VERDICTS}


def test_the_packages_of_a_part_are_pinned() -> None:
    for part in parts():
        assert all(re.search(r"(@|==)\d+(\.\d+)+$", name) for name in part.package.split(", ")), part.title


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("claims C5, X14", ["C5", "X14"]),
        ("claims C43 to C81 and X6", ["X6"]),
        ('"""C53: null counts as absent."""', ["C53"]),
        ("# noqa: S603 - a program of ours", []),
        ("p('a%C3%A4')  # type: ignore[C1]", []),
        ("claim Z9 is of no known letter", ["Z9"]),
        ("Z9 is not either, as C0 and C1234", []),
    ],
)
def test_ids_are_found_where_they_are_cited(text: str, ids: list[str]) -> None:
    assert [*dict.fromkeys(ids_in(text, "CX"))] == ids


def test_a_range_stands_for_all_that_lie_in_it() -> None:
    assert [*ranges_in("claims C2 to C4, M1 to M9; S8 to 10", "CS")] == ["C2", "C3", "C4", "S8", "S9", "S10"]


def test_the_source_of_a_requirement_is_a_claim_a_release_or_the_core() -> None:
    assert [*ids_of_source("C7, ai@6.0.134, aliasing/kept.array, core")] == ["C7", "aliasing/kept.array"]
    with pytest.raises(ValueError, match="'somewhere' is no claim"):
        list(ids_of_source("C7, somewhere"))
