"""`check_hook(hook, framework=..., at=...)` in tests: the command's check for a hook that is at hand."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from agentcore.errors import AgentCoreError
from agentcore.live import reporting
from agentcore.live.check import Request, check, check_here
from agentcore.live.installs import cache_folder, project_of
from agentcore.live.judge import KINDS
from agentcore.live.process import workspace

__all__ = ["HookNotJudgedError", "LiveFaultError", "check_live_hook"]

_NOT_JUDGED: Final = 3


class LiveFaultError(AgentCoreError, AssertionError):
    """A hook that was checked live has a finding; `report` is the report of `findings.schema.json`."""

    wire_name = "LiveFaultError"

    def __init__(self, report: dict[str, Any]) -> None:
        super().__init__(report)
        self.report = report
        self.path = report["findings"][0]["place"] or "$"

    def __str__(self) -> str:
        return reporting.text(self.report)


class HookNotJudgedError(AgentCoreError, AssertionError):
    """A hook could not be judged; a test that says nothing must not pass."""

    wire_name = "HookNotJudgedError"

    def __init__(self, report: dict[str, Any]) -> None:
        super().__init__(report)
        self.report = report

    def __str__(self) -> str:
        return reporting.text(self.report)


def check_live_hook(  # noqa: PLR0913 - the options of the command, by name
    hook: Any,
    *,
    framework: str,
    at: str,
    version: str | None = None,
    factory: bool = False,
    examples: int = 60,
    seed: int = 0,
    texts: Sequence[str] = (),
    path: str | None = None,
    kinds: Sequence[str] = KINDS,
    fail_on: str = "fault",
    conversations: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Checks a hook in the framework that is installed, and raises for what is found.

    A function or class of a module runs in a process of its own, fresh in each run. Whatever else is given
    - a closure, an object, a fixture - runs in this process: then give a `factory` if it keeps a state.

    Args:
        hook: the hook; or `FILE#EXPORT` or `module:attribute` as the command takes it.
        framework: the name that `--in` takes.
        at: the boundary.
        version: a release to install into the cache; None for the one of this environment.
        factory: whether `hook` is a function that makes the hook.
        examples: how many random conversations, beside those of `conversations`.
        seed: the seed of the first.
        texts: what some texts begin with.
        path: the only path of the framework to run.
        kinds: the kinds of findings that count.
        fail_on: `fault` or `note`.
        conversations: conversations that come first; with some and no `examples`, only they are run.

    Returns:
        The report, in the form of `findings.schema.json`.

    Raises:
        LiveFaultError: for findings at or above `fail_on`.
        HookNotJudgedError: if the hook could not be judged.
    """
    __tracebackhide__ = True
    named = hook if isinstance(hook, str) else _name_of(hook)
    count = len(conversations) if conversations else examples
    with workspace(cache_folder()) as folder:
        file = folder / "conversations.json"
        if conversations:
            file.write_text(json.dumps(list(conversations)), encoding="utf-8")
        request = Request(
            hook=named or str(getattr(hook, "__name__", type(hook).__name__)),
            framework=framework,
            at=at,
            version=version,
            python=None if version else sys.executable,
            project=None if named is None or "#" not in named else project_of(Path(named.partition("#")[0])),
            factory=factory,
            examples=count,
            seed=seed,
            texts=texts,
            path=path,
            kinds=kinds,
            fail_on=fail_on,
            recorded=file if conversations else None,
        )
        report = check(request) if named is not None else check_here(request, _maker(hook, factory=factory))
    if report["exit"] == 1:
        raise LiveFaultError(report)
    if report["exit"] == _NOT_JUDGED:
        raise HookNotJudgedError(report)
    return report


def _name_of(hook: Any) -> str | None:
    """Returns `FILE#EXPORT` of a function or class that can be found by its name in its module."""
    name = getattr(hook, "__qualname__", "<locals>")
    module = sys.modules.get(getattr(hook, "__module__", ""))
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    file = inspect.getsourcefile(module) if module is not None and found is hook else None
    return None if file is None or inspect.unwrap(hook) is not hook else f"{file}#{name}"


def _maker(hook: Any, *, factory: bool) -> Callable[[], Any]:
    return hook if factory else lambda: hook
