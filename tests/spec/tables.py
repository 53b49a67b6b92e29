"""Tables of a family's page that are measured: by running each of its profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs


@attrs.frozen
class Table:
    """A table with a column for each profile; `measured` gives one, by rows."""

    title: str
    rows: str
    text: str
    measured: Callable[[str], Mapping[str, str]]
