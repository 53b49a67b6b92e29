# So imported because the lazy names are those that are imported from here.
import typing

import agentcore.kit.framework

from .emulator import (
    PROFILES as PROFILES,
    CompatRun as CompatRun,
    Finding as Finding,
    Hooks as Hooks,
    HostValueError as HostValueError,
    Model as Model,
    Settings as Settings,
    Snapshot as Snapshot,
    Tool as Tool,
    Verdict as Verdict,
    View as View,
    run as run,
)

FRAMEWORK: typing.Final[agentcore.kit.framework.Framework]
