"""Writes found in code that is not ours: what a hook of any framework changes of what it is given.

`with guard(messages) as report:` goes around any code. What is given is only read: it is not written or
wrapped, not copied or compared by methods of its own, and its properties are not evaluated.
"""

from __future__ import annotations

from agentcore.guard.report import Change, GuardedWriteError, Instance, Opaque, Report, Unshown, guard

__all__ = ["Change", "GuardedWriteError", "Instance", "Opaque", "Report", "Unshown", "guard"]
