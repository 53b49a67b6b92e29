"""An adapter is short, in Python and in JavaScript: what adapters share is in the live core."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from agentcore import live
from agentcore.live.adapters import MODULES

ROOM: Final = Path(live.__file__).parent
MOST: Final = 150
PYTHON: Final = [ROOM / "adapters" / f"{name.rpartition('.')[2]}.py" for name in MODULES.values()]
ADAPTERS: Final = [
    *PYTHON,
    ROOM.parent / "skeletons" / "live_adapter.py",
    *sorted((ROOM / "js" / "adapters").glob("*.js")),
]


@pytest.mark.parametrize("file", ADAPTERS, ids=lambda file: file.name)
def test_an_adapter_has_at_most_150_lines(file: Path) -> None:
    assert len(file.read_text("utf-8").splitlines()) <= MOST


def test_each_framework_of_both_languages_is_counted() -> None:
    assert all(file.is_file() for file in ADAPTERS)
    assert {"ai.js", "skeleton.js", "live_adapter.py"} < {file.name for file in ADAPTERS}
