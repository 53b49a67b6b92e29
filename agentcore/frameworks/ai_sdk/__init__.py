"""Hooks under the reference behaviour of real frameworks, and who wrote what, when, and how far it spread."""

from __future__ import annotations

from functools import partial
from typing import Final

import lazy_loader

from agentcore.kit.framework import Framework, Package

_package = partial(
    Package,
    source="agentcore.frameworks.ai_sdk",
    files=("ai_sdk.mjs",),
    shared=("lines.mjs", "ops.mjs", "writes.mjs"),
)

FRAMEWORK: Final = Framework(
    name="ai-sdk",
    title="AI SDK",
    profiles={
        "immutable": (
            "the core: hooks get frozen values; what they return holds for one step unless it is marked as "
            "lasting"
        ),
        "ai-sdk-6/stream": "`streamText` of `ai@6.0.134`",
        "ai-sdk-6/generate": "`generateText` of `ai@6.0.134`",
        "ai-sdk-6.0.326/stream": "`streamText` of `ai@6.0.326`",
        "ai-sdk-6.0.326/generate": "`generateText` of `ai@6.0.326`",
        "ai-sdk-7/stream": "`streamText` of `ai@7.0.173`",
        "ai-sdk-7/generate": "`generateText` of `ai@7.0.173`",
    },
    default="ai-sdk-6",
    family="agentcore.frameworks.ai_sdk.family:FAMILY",
    emulator="agentcore.frameworks.ai_sdk.emulator:run",
    contracts="agentcore.frameworks.ai_sdk.emulator:EMULATED",
    packages={
        "ai-sdk@6.0.134": _package(profile="ai-sdk-6", package="ai@6.0.134", folder="ai_sdk_6"),
        "ai-sdk@6.0.326": _package(profile="ai-sdk-6.0.326", package="ai@6.0.326", folder="ai_sdk_6_0_326"),
        "ai-sdk@7.0.173": _package(profile="ai-sdk-7", package="ai@7.0.173", folder="ai_sdk_7"),
    },
)

# The other names are those of `__init__.pyi`. Whoever lists frameworks imports this, and no emulation.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["FRAMEWORK"]
