"""Runs programs on Parrot 3."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from parrot import serve  # type: ignore[import-not-found]

serve(3)
