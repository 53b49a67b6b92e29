"""The report as JSON."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["text"]


def text(document: dict[str, Any]) -> str:
    """The document itself, in ASCII."""
    return json.dumps(document, indent=1) + "\n"
