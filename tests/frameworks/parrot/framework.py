"""Parrot as a framework: its names, and its packages."""

from __future__ import annotations

from typing import Final

from agentcore.kit.framework import Framework, Package

FRAMEWORK: Final = Framework(
    name="parrot",
    title="Parrot",
    profiles={
        "parrot@1": "agents that say after the user",
        "parrot@2": "the same with copies",
        "parrot@3": "the same, which keeps what a hook returns",
    },
    family="frameworks.parrot.family:FAMILY",
    emulator="frameworks.parrot.emulator:run",
    packages={
        name: Package(
            profile=name,
            package=name.replace("@", "=="),
            source="frameworks.parrot",
            folder=name.replace("@", "_"),
            files=("parrot.py",),
            installer="pip",
        )
        for name in ("parrot@1", "parrot@2", "parrot@3")
    },
)
ENTRY: Final = {"parrot": "frameworks.parrot.framework:FRAMEWORK"}
