# So imported because the lazy names are those that are imported from here.
import typing

import agentcore.kit.framework

from .emulator import (
    PROFILES as PROFILES,
    Finding as Finding,
    Loss as Loss,
    Settings as Settings,
    Snapshot as Snapshot,
    StoreProfile as StoreProfile,
    StoreRun as StoreRun,
    Turn as Turn,
    Verdict as Verdict,
    run as run,
)

FRAMEWORK: typing.Final[agentcore.kit.framework.Framework]
