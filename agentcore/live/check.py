"""A whole check: workers over all conversations, then the smallest one of each finding, then the report."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import attrs

from agentcore.live import adapters
from agentcore.live.adapter import Adapter
from agentcore.live.closer import outcome_data, smallest
from agentcore.live.findings import Found, finding, verdict
from agentcore.live.installs import Place, cache_folder, installed, nearest, project_of
from agentcore.live.judge import KINDS, Judge, Key, key_of
from agentcore.live.loading import ValueSource
from agentcore.live.process import Ended, Worker, workspace
from agentcore.live.recorded import recorded, sample
from agentcore.live.suppressions import Suppression, apply_suppressions, suppressions_in

__all__ = ["Request", "check", "check_here"]

_LIMIT: Final = 10.0
_BUDGET: Final = 240.0
_SECONDS: Final = 12.0
_FEW: Final = 12
_FAILING: Final = {"fault": ("fault",), "note": ("fault", "note")}


@attrs.frozen(kw_only=True)
class Request:
    """A request for a live check: the hook, the framework, and how many conversations.

    Attributes:
        hook: `FILE#EXPORT` or `module:attribute`.
        framework: a name of `agentcore.live.adapters.MODULES`, or `module:attribute` of an adapter.
        at: the boundary.
        version: the release to install into the cache; None for the person's own installation.
        project: the person's project; None for the nearest one.
        factory: whether the export makes the hook.
        examples: how many conversations.
        seed: the seed of the first random one.
        recorded: a file of conversations that come first.
        texts: what some texts begin with.
        path: the only path of the framework to run; None for all.
        kinds: the kinds that count.
        fail_on: `fault` or `note`.
        limit: seconds without an event after which the hook is taken to hang.
        python: the interpreter; None for that of the nearest environment.
        processes: how many workers.
    """

    hook: str
    framework: str
    at: str
    version: str | None = None
    project: Path | None = None
    factory: bool = False
    examples: int = 60
    seed: int = 0
    recorded: Path | None = None
    texts: Sequence[str] = ()
    path: str | None = None
    kinds: Sequence[str] = KINDS
    fail_on: str = "fault"
    limit: float = _LIMIT
    python: str | None = None
    processes: int = attrs.field(factory=lambda: min(2, os.cpu_count() or 1))

    @property
    def idempotent(self) -> bool:
        """True if `not-idempotent` is asked for by name."""
        return "not-idempotent" in self.kinds and tuple(self.kinds) != KINDS

    @property
    def target(self) -> tuple[str, str]:
        """The file or module, and the export."""
        before, mark, after = self.hook.rpartition("#")
        if mark:
            return before, after
        module, colon, attribute = self.hook.partition(":")
        # A hook that is at hand has a name only.
        return (module, attribute) if colon else ("", module)

    @property
    def file(self) -> Path | None:
        """The hook's file, if it is named by its file."""
        target = self.target[0]
        return Path(target).resolve() if target.endswith(".py") else None

    def folder(self) -> Path:
        """Returns the person's project."""
        if self.project is not None:
            return self.project.resolve()
        return Path.cwd() if self.file is None else project_of(self.file)

    def place(self) -> Place:
        """Returns the interpreter to run under; installs a release if one is named.

        Raises:
            InstallError: if it cannot be installed.
        """
        if self.python is not None:
            return Place(self.python, sys.prefix)
        if self.version is None:
            return nearest(self.folder())
        return installed(adapters.PACKAGES[self.framework], self.version)


def check(request: Request) -> dict[str, Any]:
    """Judges a hook, and returns the report in the form of `findings.schema.json`.

    Raises:
        InstallError: if the release cannot be installed.
        SuppressionError: if a suppression in the hook's file is written wrong.
        WorkerFailedError: if the tool itself fails.
    """
    granted = _suppressions(request)
    place = request.place()
    with workspace(cache_folder()) as folder:
        campaign = _Campaign(request, place, folder)
        try:
            campaign.run()
        finally:
            campaign.close()
    return campaign.report(granted)


def check_here(request: Request, make: Callable[[], Any]) -> dict[str, Any]:
    """Judges a hook that is at hand, in this process, and returns the report.

    Args:
        request: what is asked.
        make: returns the hook, once for each run.
    """
    adapter = adapters.adapter_named(request.framework)
    boundary = adapter.boundaries[request.at]
    source = ValueSource(
        make, boundary.methods, adapter.bases(), request.folder(), request.target[1] or request.hook
    )
    here = _Here(Judge(adapter, source, request.at, idempotent=request.idempotent), request, adapter)
    campaign = _Campaign(request, Place(sys.executable, sys.prefix), Path())
    version = metadata.version(adapter.package) if adapter.package else None
    campaign.ready = {"version": version, "resolved_from": sys.prefix if adapter.package else None}
    here.run(campaign)
    return campaign.report([])


class _Here:
    """Judges in this process what workers judge elsewhere."""

    def __init__(self, judge: Judge, request: Request, adapter: Adapter) -> None:
        self._judge = judge
        self._request = request
        self._paths = [request.path] if request.path else list(adapter.paths)

    def run(self, campaign: _Campaign) -> None:
        """Judges all conversations and shrinks one for each finding."""
        for index in range(self._request.examples):
            of, path = campaign.conversation(index), self._path(index)
            campaign.outcomes.append(outcome_data(self._judge, of, path, index))
        campaign.group()
        for key, found in campaign.found.items():
            end = time.monotonic() + _SECONDS / len(campaign.found)
            of, path = campaign.conversation(found.first), self._path(found.first)
            shown, of = smallest(self._judge, of, path, found.first, key, end)
            found.smallest = None if shown is None else (shown, of)
        campaign.join()

    def _path(self, index: int) -> str:
        return self._paths[index % len(self._paths)]


def _suppressions(request: Request) -> list[Suppression]:
    file = request.file
    return suppressions_in(file, *request.target) if file is not None and file.is_file() else []


@attrs.define
class _Campaign:
    """One check under way."""

    request: Request
    place: Place
    folder: Path
    workers: list[Worker] = attrs.field(factory=list)
    ready: dict[str, Any] | None = None
    refused: dict[str, str] | None = None
    outcomes: list[dict[str, Any]] = attrs.field(factory=list)
    found: dict[Key, Found] = attrs.field(factory=dict)
    ended: list[Ended] = attrs.field(factory=list)

    def run(self) -> None:
        """Judges all conversations, then looks more closely at one of each finding."""
        if self.request.file is None or self.request.file.is_file():
            # Each worker imports the framework first: for a few conversations a second one costs more than
            # it saves.
            count = 1 if self.request.examples < _FEW else self.request.processes
            self.workers = [self._worker(shard, count) for shard in range(count)]
            for event in _merged(self.workers):
                self._take(event)
            self.group()
            if self.refused is None and not self.ended:
                self._look_closer()
            return
        self.refused = {"reason": "no-hook", "message": f"there is no file {self.request.target[0]}"}

    def _worker(self, shard: int, shards: int) -> Worker:
        request = self.request
        target, attribute = request.target
        job = {
            "framework": request.framework,
            "package": adapters.PACKAGES.get(request.framework, ""),
            "at": request.at,
            "target": str(request.file) if request.file is not None else target,
            "attribute": attribute,
            "project": str(request.folder()),
            "factory": request.factory,
            "examples": request.examples,
            "seed": request.seed,
            "texts": list(request.texts),
            "recorded": None if request.recorded is None else str(request.recorded.resolve()),
            "path": request.path,
            "idempotent": request.idempotent,
            "shard": shard,
            "shards": shards,
            "budget": _BUDGET,
        }
        return Worker(self.place.python, job, self.folder, request.limit)

    def _take(self, event: dict[str, Any] | Ended) -> None:
        if isinstance(event, Ended):
            self.ended.append(event)
        elif event["event"] == "ready":
            self.ready = event
        elif event["event"] == "not-judged":
            self.refused = {"reason": event["reason"], "message": event["message"]}
        elif event["event"] == "outcome":
            self.outcomes.append(event)

    def group(self) -> None:
        """Gathers what the conversations show into findings."""
        self.outcomes.sort(key=lambda each: each["index"])
        for outcome in self.outcomes:
            for shown in outcome["shown"]:
                self.found.setdefault(key_of(shown), Found(shown["kind"], shown["cause"])).add(outcome, shown)
        for worker in self.workers:
            if worker.forked is not None and not self.ended:
                self.ended.append(worker.forked)
        loud = {place for found in self.found.values() if found.kind == "write" for place in found.places}
        for key, found in [*self.found.items()]:
            # The same write may have an effect in one conversation and none in another: it is one finding,
            # the graver one.
            if found.kind == "harmless-write" and found.places <= loud:
                del self.found[key]

    def _look_closer(self) -> None:
        worker = self.workers[0]
        for key, found in self.found.items():
            seconds = _SECONDS / len(self.found)
            ask = {"wanted": key, "index": found.first, "seconds": seconds}
            worker.say(ask)
            for event in worker.events("smallest"):
                if isinstance(event, Ended):
                    self.ended.append(event)
                    return
                if event["event"] == "smallest" and event["shown"] is not None:
                    found.smallest = (event["shown"], event["conversation"])
        self.join()
        for found in self.found.values():
            shown = found.shown if found.smallest is None else found.smallest[0]
            line = shown["line"]
            if line is not None and Path(line["file"]).is_relative_to(Path.cwd()):
                shown["line"] = {**line, "file": str(Path(line["file"]).relative_to(Path.cwd()))}

    def join(self) -> None:
        """Makes one finding of the writes that one line makes, whatever their places."""
        lines: dict[tuple[str, str, int], Found] = {}
        for key, found in [*self.found.items()]:
            line = None if found.smallest is None else found.smallest[0]["line"]
            if line is None or key[2] is None:
                continue
            first = lines.setdefault((found.kind, line["file"], line["line"]), found)
            if first is not found:
                first.merge(found)
                del self.found[key]

    def close(self) -> None:
        """Ends the workers."""
        for worker in self.workers:
            worker.close()

    # ------------------------------------------------------------ the report

    def report(self, granted: list[Suppression]) -> dict[str, Any]:
        """Makes the report of what was found."""
        request = self.request
        target, attribute = request.target
        version = None if self.ready is None else self.ready["version"]
        for ended in self.ended:
            self._add_ended(ended)
        judged = sum(each["judged"] for each in self.outcomes)
        run = len({each["index"] for each in self.outcomes} | {each.index for each in self.ended})
        findings = [self._finding(found, run) for found in self.found.values()]
        findings.sort(key=lambda each: KINDS.index(each["kind"]))
        unused = apply_suppressions(findings, granted, request.framework, version)
        not_judged = self.refused or self._reason()
        paths = sorted({each["path"] for each in self.outcomes})
        measures = self._measures(attribute)
        found = verdict(findings, is_judged=not_judged is None)
        return {
            "format": 1,
            "verdict": found,
            "exit": 1 if found in _FAILING[request.fail_on] else 3 if not_judged is not None else 0,
            "not_judged": not_judged,
            "tool": {"name": "agentcore", "version": _version(), "language": "python"},
            "framework": {
                "name": request.framework,
                "version": version,
                "resolved_from": None if self.ready is None else self.ready["resolved_from"],
                "paths": paths,
            },
            "hook": {
                "name": attribute,
                "file": None if request.file is None else target,
                "at": request.at,
            },
            "seed": request.seed,
            "conversations": {
                "run": run,
                "judged": judged,
                "errors": run - judged,
                "calls": sum(each["calls"] for each in self.outcomes),
            },
            "measures": {"prefix": measures},
            "findings": findings,
            "suppressions": {"unused": [each.as_json() for each in unused]},
        }

    def _add_ended(self, ended: Ended) -> None:
        found = self.found.setdefault(("raises", ended.cause, None), Found("raises", ended.cause))
        index = 0 if ended.index is None else ended.index
        found.add_end(index, ended.said, self.conversation(index))

    def conversation(self, index: int) -> dict[str, Any]:
        """Returns a conversation of the check: the recorded ones come first."""
        known = [] if self.request.recorded is None else recorded(self.request.recorded)
        return sample(index, known, self.request.seed, self.request.texts)

    def _finding(self, found: Found, run: int) -> dict[str, Any]:
        request = self.request
        return finding(
            found,
            run,
            framework=request.framework,
            at=request.at,
            hook=request.hook,
            factory=request.factory,
            counts=found.kind in request.kinds,
            attribute=request.target[1],
        )

    def _reason(self) -> dict[str, str] | None:
        """Says why nothing was judged, if so (rule live.not-judged)."""
        outcomes = self.outcomes
        own = sum(any(shown["kind"] == "raises" for shown in each["shown"]) for each in outcomes)
        failed = [each for each in outcomes if each["error"] is not None]
        if not outcomes:
            return None if self.ended else _reason("no-call", "no conversation was run")
        # Most, not some (rule live.not-judged): a few random conversations may meet a limit of the
        # framework's own.
        if 2 * len(failed) > len(outcomes):
            errors = Counter(each["error"] for each in failed)
            most, _ = errors.most_common(1)[0]
            if 2 * sum(each["outside"] for each in failed) > len(failed):
                return _reason("needs-outside", f"the hook needs what a check does not give: {most}")
            count = f"{len(failed)} of {len(outcomes)}"
            said = f"{count} conversations ended in errors that are not the hook's: {most}"
            return _reason("errors", said)
        if not any(each["prompts"] for each in outcomes) and not own:
            return _reason(
                "no-prompt", "no model call recorded a prompt; the adapter does not fit this release"
            )
        if not any(each["calls"] for each in outcomes):
            said = f"the framework never called the hook at {self.request.at}"
            return _reason("no-call", f"{said}; a generator is called if it is asked for a value")
        return None

    def _measures(self, attribute: str) -> dict[str, Any] | None:
        measured = [each for each in self.outcomes if each["prefix"] is not None]
        total = sum(each["prefix"][1] for each in measured)
        plain = sum(each["prefix"][3] for each in measured)
        if not total or not plain:
            return None
        broken = [each for each in measured if each["prefix"][4] is not None and each["prefix"][5] is None]
        return {
            "with_hook": round(sum(each["prefix"][0] for each in measured) / total, 4),
            "without_hook": round(sum(each["prefix"][2] for each in measured) / plain, 4),
            "broken_by": f"{attribute}: {broken[0]['prefix'][4]}" if broken else None,
            "conversation": broken[0]["name"] if broken else None,
        }


def _reason(reason: str, message: str) -> dict[str, str]:
    return {"reason": reason, "message": message}


def _version() -> str:
    try:
        return metadata.version("agentcore-reference")
    except metadata.PackageNotFoundError:
        return "0"


def _merged(workers: Sequence[Worker]) -> Iterator[dict[str, Any] | Ended]:
    """Yields the events of all workers as they come; the first that ends a process stops the others."""
    queue: SimpleQueue[Any] = SimpleQueue()

    def read(worker: Worker) -> None:
        try:
            for event in worker.events("judged"):
                queue.put(event)
        except Exception as error:  # noqa: BLE001 - raised where the events are taken
            queue.put(error)
        queue.put(None)

    for worker in workers:
        threading.Thread(target=read, args=(worker,), daemon=True).start()
    left = len(workers)
    while left:
        event = queue.get()
        if event is None:
            left -= 1
        elif isinstance(event, Exception):
            raise event
        else:
            yield event
            if isinstance(event, Ended):
                return
