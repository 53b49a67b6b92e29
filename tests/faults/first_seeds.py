"""At which seed, from 0, random programs first show each planted fault: `python -m faults.first_seeds`.

To be run in the folder `tests`; it takes a few minutes, and keeps what it found in `first_seeds.json`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import attrs

from agentcore.kit.compare import differences
from agentcore.kit.families import family_of
from agentcore.kit.program import Answer
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Driver
from faults import mastra_faults, strands_faults
from faults.js_faults import JS_FAULTS, JsFault, copied_driver
from faults.profile_faults import PROFILE_FAULTS
from faults.strands_driver import FaultyDriver

__all__ = ["DATA", "MOST", "Planted", "first_seed", "planted", "records"]

DATA: Final = Path(__file__).with_name("first_seeds.json")
MOST: Final = 2_000
"""How many programs may pass before a fault is met."""

_MASTRA: Final = "mastra@1.71.0"


@attrs.frozen(kw_only=True)
class Planted:
    """A fault in what runs programs of a profile: `place` is "emulation" or "package"."""

    fault: str
    profile: str
    place: str
    drivers: Callable[[Path], Driver]


def planted() -> Iterator[Planted]:
    """Yields all planted faults, of all frameworks."""
    for name, profile_fault in PROFILE_FAULTS.items():
        profile = f"ai-sdk-6/{profile_fault.path}"
        yield Planted(
            fault=name,
            profile=profile,
            place="emulation",
            drivers=partial(_process, "faults.profile_driver", name, profile),
        )
    yield from _in_package(JS_FAULTS, lambda fault: f"ai-sdk-6/{fault.path}", lambda _: "ai-sdk@6.0.134")
    for name in mastra_faults.FAULTS:
        drivers = partial(_process, "faults.mastra_driver", name, _MASTRA)
        yield Planted(fault=name, profile=_MASTRA, place="emulation", drivers=drivers)
    yield from _in_package(mastra_faults.IN_DRIVER, lambda _: _MASTRA, lambda _: _MASTRA)
    for name, strands_fault in strands_faults.IN_PROFILE.items():
        drivers = partial(_without_process, name)
        yield Planted(fault=name, profile=strands_fault.of, place="emulation", drivers=drivers)
    yield from _in_package(strands_faults.IN_DRIVER, lambda fault: fault.path, lambda fault: fault.path)


def _in_package(
    faults: Mapping[str, JsFault], profile_of: Callable[[JsFault], str], target_of: Callable[[JsFault], str]
) -> Iterator[Planted]:
    for name, fault in faults.items():
        drivers = partial(_changed, fault, target_of(fault), profile_of(fault))
        yield Planted(fault=name, profile=profile_of(fault), place="package", drivers=drivers)


def _process(module: str, fault: str, profile: str, _: Path) -> Driver:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    fields = family_of(profile).trace_fields
    return Driver([sys.executable, "-m", module, fault], env=env, trace_fields=fields)


def _without_process(fault: str, _: Path) -> Driver:
    return FaultyDriver(fault)


def _changed(fault: JsFault, target: str, profile: str, folder: Path) -> Driver:
    node, driver = targets.command(target)
    argv = [node, str(copied_driver(Path(driver), folder, fault))]
    return Driver(argv, trace_fields=family_of(profile).trace_fields)


def first_seed(fault: Planted, seeds: range) -> int | None:
    """The first of these seeds whose program shows the fault; None where none of them does.

    Raises:
        TypeError: if the driver does not answer, which would show any fault.
    """
    family = family_of(fault.profile)
    with TemporaryDirectory() as folder:
        driver = fault.drivers(Path(folder))
        try:
            for seed, program in zip(seeds, family.programs(seeds, fault.profile), strict=True):
                outcome = driver.run(program)
                expected = family.trace(program, fault.profile)
                if not isinstance(outcome, Answer):
                    raise TypeError(f"{fault.fault}: the driver did not answer the program of seed {seed}")
                if differences(expected, outcome.trace, family.comparison):
                    return seed
        finally:
            driver.close()
    return None


def records() -> list[dict[str, Any]]:
    """What was found, by profile, place and fault."""
    found: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    rows = []
    for each in planted():
        seed = first_seed(each, range(MOST))
        rows.append({"profile": each.profile, "place": each.place, "fault": each.fault, "seed": seed})
    DATA.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
