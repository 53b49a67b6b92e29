"""What `agentcore check` is given to run: programs that were saved, and which format a driver speaks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click

from agentcore.cli.terminal import printable
from agentcore.kit.families import DEFAULT_PROFILE, family_of
from agentcore.kit.program import BadProgram
from agentcore.kit.registry import FRAMEWORKS
from agentcore.oracle.drivers.driver import Driver

__all__ = ["profile_for_driver", "replayed"]

Json: TypeAlias = dict[str, Any]


def profile_for_driver(argv: Sequence[str], time_limit: float) -> str:
    """The profile for which programs of the driver's first known format are made.

    A driver that does not say what it runs gets programs of the default profile's format.
    """
    with Driver(argv, time_limit=time_limit) as driver:
        driver.start()
        said = driver.implementation
    formats = [] if said is None else [name for name in said.formats if name in FRAMEWORKS]
    # The check itself refuses a driver that speaks none of them.
    return FRAMEWORKS[formats[0]].default if formats else DEFAULT_PROFILE


def replayed(files: Sequence[Path], profile: str) -> list[Json]:
    """The programs of some files.

    Raises:
        click.UsageError: for a file that holds no program of the profile's format.
    """
    family = family_of(profile)
    try:
        return [family.parse(file.read_bytes()) for file in files]
    except BadProgram as error:
        raise click.UsageError(f"--replay: {printable(str(error))}") from None
