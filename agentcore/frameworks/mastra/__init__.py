"""Agents under the reference behaviour of Mastra, and who wrote what, when, and how far it spread.

from agentcore.frameworks import mastra

ran = mastra.run("mastra@1.71.0", mastra.Settings(...))
ran.pollution
"""

from __future__ import annotations

from functools import partial
from typing import Final

import lazy_loader

from agentcore.kit.framework import Framework, Package

_package = partial(
    Package,
    source="agentcore.frameworks.mastra",
    files=("mastra.mjs", "mastra_models.mjs", "mastra_ops.mjs", "mastra_show.mjs", "mastra_world.mjs"),
    shared=("lines.mjs", "writes.mjs"),
)

FRAMEWORK: Final = Framework(
    name="mastra",
    title="Mastra",
    profiles={
        "mastra@1.71.0": (
            "the processors of `@mastra/core`, in [a format of their own](spec/program-format-processors.md)"
        ),
        "mastra@1.0.4": "the same in its first release",
    },
    family="agentcore.frameworks.mastra.family:FAMILY",
    emulator="agentcore.frameworks.mastra.emulator:run",
    contracts="agentcore.frameworks.mastra.emulator:EMULATED",
    packages={
        "mastra@1.71.0": _package(
            profile="mastra@1.71.0", package="@mastra/core@1.71.0", folder="mastra_1_71"
        ),
        "mastra@1.0.4": _package(profile="mastra@1.0.4", package="@mastra/core@1.0.4", folder="mastra_1_0"),
    },
)

# The other names are those of `__init__.pyi`. Whoever lists frameworks imports this, and no emulation.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["FRAMEWORK"]
