"""Turns of several agents on one store, under the reference behaviour of stores; what becomes of the record.

from agentcore.frameworks import store_boundary

ran = store_boundary.run("store/replace-all", store_boundary.Settings(...))
ran.losses
"""

from __future__ import annotations

from typing import Final

import lazy_loader

from agentcore.kit.framework import Framework

FRAMEWORK: Final = Framework(
    name="store-boundary",
    title="The store boundary",
    profiles={
        "store/live": (
            "conversations in a store, in [a format of their own](spec/program-format-store-boundary.md): "
            "the list itself is what is stored"
        ),
        "store/live-append": "live messages in another list; what is beyond the stored ones is appended",
        "store/kept-list": "a list for each agent; what a turn brought in is written to its places there",
        "store/reload-append": "a copy for each turn; what is beyond the loaded ones is appended",
        "store/replace-all": "a copy for each turn; the whole list is stored in the place of what is there",
        "store/merge-by-id": "a copy for each turn; the whole list is merged by the ids of its messages",
        "store/agentcore": "the stores of agentcore: what a turn brought in is appended to an expected head",
    },
    family="agentcore.frameworks.store_boundary.family:FAMILY",
    emulator="agentcore.frameworks.store_boundary.emulator:run",
    default="store/agentcore",
    has_path=False,
)

# The other names are those of `__init__.pyi`. Whoever lists frameworks imports this, and no emulation.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["FRAMEWORK"]
