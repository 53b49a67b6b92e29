"""Reference implementation of what an agent loop does with messages."""

from __future__ import annotations
