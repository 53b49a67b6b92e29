# So imported because the lazy names are those that are imported from here.
import typing

import agentcore.kit.framework

from .emulator import (
    PROFILES as PROFILES,
    Arguments as Arguments,
    CallerError as CallerError,
    Finding as Finding,
    Hook as Hook,
    HostValueError as HostValueError,
    ListHandle as ListHandle,
    MastraProfile as MastraProfile,
    MastraRun as MastraRun,
    Model as Model,
    NotEmulatedError as NotEmulatedError,
    Processor as Processor,
    RequestContext as RequestContext,
    Settings as Settings,
    Snapshot as Snapshot,
    Tool as Tool,
    Tripwire as Tripwire,
    Verdict as Verdict,
    View as View,
    run as run,
)

FRAMEWORK: typing.Final[agentcore.kit.framework.Framework]
