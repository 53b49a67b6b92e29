"""A framework as one value: all that the rest of the package knows of it.

The value is read wherever names are listed, so it holds names and small data. What takes long to import (the
format, the emulation) is named by its place and imported when it is used first.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import attrs

__all__ = ["Framework", "Package"]


@attrs.frozen(kw_only=True)
class Package:
    """A real package that can be driven, and how.

    `profile` is what it is expected to do (`name-6` for both paths of that), `package` its name and version.
    The driver lies in the folder `package` of the Python package `source`. `folder`, below that, holds what
    starts the driver and what pins the package for `installer`: for npm `driver.mjs`, `package.json`,
    `package-lock.json` and `.npmrc`; for pip `driver.py` and `requirements.txt`. Both pin all there is to
    install, by the hashes of its files and by no address. `files` are more files of the driver, beside
    `folder`, and `shared` are files of `agentcore/kit/drivers`; other packages may have both kinds too. Where
    the package is installed, all of them lie as they are named here, beside each other.
    """

    profile: str
    package: str
    source: str
    folder: str
    files: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    installer: Literal["npm", "pip"] = "npm"


# One for each: the plugin of mypy knows no converter that is generic.
def _read_only_texts(given: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType({**given})


def _read_only_packages(given: Mapping[str, Package]) -> Mapping[str, Package]:
    return MappingProxyType({**given})


@attrs.frozen(kw_only=True)
class Framework:
    """A framework that the oracle knows.

    `name` is that of its program format, in the driver protocol and in the entry point; `title` is its name
    for people. `profiles` has its profiles by name, each with what it is, in Markdown. `default` is the
    profile that its programs are run under if none is named (the first, unless it is given; for a profile
    with paths, the part before the path). `family` is the place of its `Family`, as `module:name`, and
    `emulator` that of the function `run(profile, settings)`; None if there is none. `packages` are the real
    packages, by the names that `agentcore check --target` takes.
    """

    name: str
    title: str
    profiles: Mapping[str, str] = attrs.field(converter=_read_only_texts)
    family: str
    emulator: str | None = None
    packages: Mapping[str, Package] = attrs.field(factory=dict, converter=_read_only_packages)
    default: str = attrs.field()

    @default.default
    def _first(self) -> str:
        return next(iter(self.profiles))
