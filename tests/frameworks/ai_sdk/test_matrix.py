"""The compat mode sees in-place writes exactly where ai@6.0.134 was measured to see them, row by row."""

from __future__ import annotations

import pytest

from frameworks.ai_sdk.matrix import ROWS, Row, measure


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_write_is_seen_exactly_where_the_real_package_sees_it(row: Row) -> None:
    assert measure(row) == (row.visible_at, row.not_visible_at)


def test_the_file_has_559_rows() -> None:
    assert len({row.id for row in ROWS}) == 559
