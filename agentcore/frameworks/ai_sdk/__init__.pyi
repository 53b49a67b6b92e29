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
