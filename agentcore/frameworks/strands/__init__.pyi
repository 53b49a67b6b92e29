# So imported because the lazy names are those that are imported from here.
import typing

import agentcore.kit.framework

from .emulator import (
    PROFILES as PROFILES,
    Finding as Finding,
    Hook as Hook,
    HostValueError as HostValueError,
    InvalidOutputError as InvalidOutputError,
    Middleware as Middleware,
    Model as Model,
    Said as Said,
    Settings as Settings,
    Snapshot as Snapshot,
    StrandsProfile as StrandsProfile,
    StrandsRun as StrandsRun,
    StructuredOutput as StructuredOutput,
    Tool as Tool,
    Verdict as Verdict,
    View as View,
    run as run,
)

FRAMEWORK: typing.Final[agentcore.kit.framework.Framework]
