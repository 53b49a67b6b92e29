"""Agents under the reference behaviour of Strands Agents, and who wrote what, when, and how far it spread.

from agentcore.frameworks import strands

ran = strands.run("strands-ts@1.5.0", strands.Settings(...))
ran.pollution
"""

from __future__ import annotations

from functools import partial
from typing import Final

import lazy_loader

from agentcore.kit.framework import Framework, Package

_SOURCE: Final = "agentcore.frameworks.strands"
_in_typescript = partial(
    Package,
    source=_SOURCE,
    files=(
        "strands_ts.mjs",
        *(f"strands_ts_{part}.mjs" for part in ("events", "handlers", "holders", "places", "scripted")),
    ),
    shared=("lines.mjs", "writes.mjs"),
)

FRAMEWORK: Final = Framework(
    name="strands",
    title="Strands Agents",
    profiles={
        "strands-ts@1.5.0": (
            "the middleware of `@strands-agents/sdk` before its contexts were copies, in [its own "
            "format](spec/program-format-middleware.md)"
        ),
        "strands-ts@1.19.0": "the same with copies",
        "strands-py@1.62.0": "the middleware of `strands-agents` in Python",
    },
    family="agentcore.frameworks.strands.family:FAMILY",
    emulator="agentcore.frameworks.strands.emulator:run",
    contracts="agentcore.frameworks.strands.emulator:EMULATED",
    packages={
        "strands-ts@1.5.0": _in_typescript(
            profile="strands-ts@1.5.0", package="@strands-agents/sdk@1.5.0", folder="strands_ts_1_5"
        ),
        "strands-ts@1.18.0": _in_typescript(
            profile="strands-ts@1.19.0", package="@strands-agents/sdk@1.18.0", folder="strands_ts_1_18"
        ),
        "strands-ts@1.19.0": _in_typescript(
            profile="strands-ts@1.19.0", package="@strands-agents/sdk@1.19.0", folder="strands_ts_1_19"
        ),
        "strands-py@1.62.0": Package(
            profile="strands-py@1.62.0",
            package="strands-agents==1.62.0",
            source=_SOURCE,
            folder="strands_py",
            files=tuple(
                f"strands_py/{module}.py" for module in ("clock", "live", "places", "run", "scripted")
            ),
            installer="pip",
        ),
    },
)

# The other names are those of `__init__.pyi`. Whoever lists frameworks imports this, and no emulation.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["FRAMEWORK"]
