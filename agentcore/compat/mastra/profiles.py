"""Profiles: how one version of Mastra treats messages, as data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import attrs


@attrs.frozen(kw_only=True)
class MastraProfile:
    """A version of Mastra's agent loop."""

    name: str
    version: str
    streams_run_tools_early: bool


MASTRA_1_71: Final = MastraProfile(name="mastra@1.71.0", version="1.71.0", streams_run_tools_early=True)

PROFILES: Final[Mapping[str, MastraProfile]] = MappingProxyType(
    {profile.name: profile for profile in (MASTRA_1_71,)}
)
"""The profiles by their names."""
