from __future__ import annotations

from itertools import pairwise

import pytest

from agentcore.heap.layered import Box, Edge, Laid, laid_out


def graph(*pairs: str, first: str = "ab") -> Laid:
    names = dict.fromkeys("".join(pairs))
    boxes = [Box(name=name, text=f"box {name}", first=name in first) for name in names]
    return laid_out(boxes, [Edge(source=pair[0], target=pair[1]) for pair in pairs])


def runs_behind(laid: Laid) -> list[tuple[str, str]]:
    """The edges of which a corner or a level piece lies in a box that is none of their ends."""
    found = []
    for edge, points in laid.ways:
        for (x, y), (to_x, to_y) in pairwise(points):
            for name, (middle, row) in laid.boxes.items():
                left, right = middle - laid.widths[name] / 2, middle + laid.widths[name] / 2
                is_beside = max(x, to_x) <= left + 1e-6 or min(x, to_x) >= right - 1e-6
                if (
                    not is_beside
                    and y == to_y
                    and abs(y - row) < 0.1
                    and name not in (edge.source, edge.target)
                ):
                    found.append((edge.source + edge.target, name))
    return found


def test_what_comes_first_is_in_the_first_column_and_the_rest_after_what_leads_there() -> None:
    laid = graph("ac", "cd", "bd", "de")
    x = {name: place[0] for name, place in laid.boxes.items()}
    assert x["a"] == pytest.approx(x["b"])
    assert x["a"] < x["c"] < x["d"] < x["e"]


def test_no_edge_runs_behind_a_box() -> None:
    laid = graph("ac", "bc", "cd", "de", "ae", "be", "bd", "cf", "fg", "ag", "eg")
    assert runs_behind(laid) == []


def test_an_edge_over_several_columns_has_a_place_of_its_own_in_each() -> None:
    laid = graph("ac", "cd", "ad")
    points = next(points for edge, points in laid.ways if edge.target == "d" and edge.source == "a")
    assert len(points) == 4
    assert points[1][1] == points[2][1] != laid.boxes["c"][1]


def test_a_circle_is_drawn_and_boxes_do_not_overlap() -> None:
    laid = graph("ac", "cd", "dc", "de", "ec")
    places = sorted(laid.boxes.values())
    assert len({(round(x, 3), round(y, 3)) for x, y in places}) == len(places)
    assert all(0 <= y <= laid.height for _, y in places)


def test_a_graph_of_nothing_is_empty() -> None:
    assert laid_out([], []).width == 0
