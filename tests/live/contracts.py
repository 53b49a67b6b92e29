"""Measurements of releases that nobody made, and the schema of all that contracts are written as."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema_rs

from agentcore import live
from agentcore.live.contracts.table import Row

__all__ = ["PUBLISHED", "THIS", "measurement", "row", "validate"]

PUBLISHED: Final = Path(__file__).parent.parent.parent / "spec" / "contracts"
THIS: Final = ("this-prompt",)


def row(place: str = "text", act: str = "change", **more: str) -> Row:
    """A row of a boundary, in the messages of the caller if nothing else is said."""
    known = {"path": "generate", "boundary": "before", "root": "messages", "owner": "caller", "role": "user"}
    return Row(**{**known, "place": place, "act": act, **more})


def measurement(
    rows: Mapping[Row, Sequence[str]], version: str = "1.0.0", unmeasured: Sequence[Mapping[str, str]] = ()
) -> dict[str, Any]:
    """A measurement in which each row is seen by some."""
    made = [
        {**of._asdict(), "answers": [{"result": "seen", "seen": [*seen], "places": ["messages[0]"]}]}
        for of, seen in rows.items()
    ]
    about = {"format": 1, "framework": "ai", "package": "ai", "version": version, "lock": None, "probe": "x"}
    more = {"runtime": "Python 3", "when": {"before": "before"}, "unmeasured": [*unmeasured], "runs": 1}
    return {**about, **more, "rows": made}


@cache
def _validator() -> Any:
    file = Path(live.__file__).parent / "schemas" / "contract.schema.json"
    return jsonschema_rs.validator_for(json.loads(file.read_text("utf-8")))


def validate(value: Any) -> None:
    """Raises if a value is none of those that the schema describes."""
    _validator().validate(value)
