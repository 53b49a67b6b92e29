"""Reports of hooks of the toy loop, for tests of their pages."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from agentcore.live.check import Request, check_here
from live.hooks import toy_hooks

__all__ = ["HOSTILE", "hostile", "marks_late", "report_of"]

Json = dict[str, Any]

# Markup, an end of a script, and what turns the direction of a line round.
HOSTILE: Final = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>\u202eabc"


def report_of(hook: str | Callable[..., Any], at: str = "before_model", **options: Any) -> Json:
    """The report of a hook in this process."""
    name = hook if isinstance(hook, str) else hook.__name__
    request = Request(
        hook=name, framework="live.toy_loop:ADAPTER", at=at, **{"examples": 8, "path": "generate", **options}
    )
    return check_here(request, lambda: getattr(toy_hooks, hook) if isinstance(hook, str) else hook)


def marks_late(messages: Any) -> None:
    """Writes when a tool has returned: the prompt of the second step shows it."""
    if messages[-1]["role"] == "tool":
        messages[0]["content"][0]["text"] += "!"


def hostile(report: Json) -> Json:
    """The report with markup in all texts that are no names of the format."""
    report = copy.deepcopy(report)
    report["hook"] |= {"name": HOSTILE, "at": HOSTILE}
    report["framework"]["name"] = HOSTILE
    for finding in report["findings"]:
        finding.update(dict.fromkeys(("message", "before", "after", "hook", "remedy"), HOSTILE))
        finding["test"] = f"{HOSTILE}\n{HOSTILE}"
        for run in ("live", "value"):
            for moment in finding["runs"][run]["moments"]:
                moment["value"] = _hostile(moment["value"])
                for write in moment.get("writes", ()):
                    write.update(before=HOSTILE, after=HOSTILE)
            finding["runs"][run]["error"] = HOSTILE
    return report


def _hostile(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _hostile(each) for key, each in value.items()} | {HOSTILE: HOSTILE}
    return [*map(_hostile, value), HOSTILE] if isinstance(value, list) else HOSTILE
