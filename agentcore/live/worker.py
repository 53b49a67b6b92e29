"""The process in which a hook runs, under the interpreter of whoever's hook it is.

Started as a script: the environment need not have this package, nor what it depends on. It reads jobs from
standard input, one JSON object a line, and writes events to the file descriptor that it is given.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import sys
import time
import types
from pathlib import Path
from typing import Any, Final

_HERE: Final = Path(__file__).resolve().parent
# What `import agentcore` needs. The person's environment has them only if agentcore is installed there.
_NEEDED: Final = ("ada_url", "anyio", "attrs", "cattrs", "immutabledict", "lazy_loader", "pyrsistent")
_MEMORY: Final = 2 << 30
_BARE: Final = {"agentcore": _HERE.parent, "agentcore.guard": _HERE.parent / "guard", "agentcore.live": _HERE}


def _import_bare() -> None:
    """Makes the live core importable where the packages that agentcore depends on are missing.

    Then the three packages come without their `__init__`; what the core imports needs the standard library
    only.
    """
    if all(importlib.util.find_spec(name) is not None for name in _NEEDED):
        search = importlib.machinery.PathFinder.find_spec("agentcore", [str(_HERE.parent.parent)])
        if search is not None and search.loader is not None:
            module = importlib.util.module_from_spec(search)
            sys.modules["agentcore"] = module
            search.loader.exec_module(module)
        return
    for name, folder in _BARE.items():
        module = types.ModuleType(name)
        module.__path__ = [str(folder)]
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)
    isolating = _BARE["agentcore.live"] / "__init__.py"
    exec(  # noqa: S102 - our own file, without the import of its package
        compile(isolating.read_text(encoding="utf-8"), str(isolating), "exec"),
        vars(sys.modules["agentcore.live"]),
    )


class _Sender:
    """Writes events; a line is whole or not there."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.pid = os.getpid()

    def __call__(self, event: str, **fields: Any) -> None:
        line = json.dumps({"event": event, "pid": os.getpid(), **fields}, default=repr) + "\n"
        data = line.encode()
        while data:
            data = data[os.write(self._descriptor, data) :]


def main() -> None:
    """Reads the job, runs it, and answers questions about single conversations until input ends."""
    send = _Sender(int(sys.argv[1]))
    jobs = os.fdopen(os.dup(0), encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    # The hook gets neither the questions nor the answers: what it reads or prints must not be taken for
    # them.
    os.dup2(null, 0)
    os.dup2(null, 1)
    # sys.path[0] is this folder, whose modules would hide others of these names.
    sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() != _HERE]
    _import_bare()
    job = json.loads(jobs.readline())
    if "rules" in job:
        _measure(job, send)
    else:
        _Work(job, send).run(jobs)
    # Threads that the hook left behind must not keep the process.
    os._exit(0)


def _measure(job: dict[str, Any], send: _Sender) -> None:
    """Measures the contract of a framework: no hook of a person's takes part."""
    from agentcore.live import adapters, probe  # noqa: PLC0415 - importable only now

    try:
        adapter = adapters.adapter_named(job["framework"])
    except (ImportError, LookupError, TypeError, AttributeError) as error:
        return send("not-judged", reason="unsupported", message=f"{type(error).__name__}: {error}")
    release = _version(adapter.package)
    measured = probe.measured(adapter, job, lambda: send("begin", index=0))
    return send("measured", version=release, **measured)


def _version(package: str) -> str | None:
    from importlib import metadata  # noqa: PLC0415 - beside its use

    if not package:
        return None
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


class _Work:
    """One job: a hook, a framework, and the conversations of one shard."""

    def __init__(self, job: dict[str, Any], send: _Sender) -> None:
        self._job = job
        self._send = send

    def run(self, jobs: Any) -> None:
        judge = self._prepared()
        if judge is None:
            return
        self._judge_all(judge)
        self._send("judged")
        for line in jobs:
            self._answer(judge, json.loads(line))

    # ------------------------------------------------------------ preparing

    def _prepared(self) -> Any:
        from agentcore.live import adapters, loading, safety  # noqa: PLC0415 - importable only now
        from agentcore.live.judge import Judge  # noqa: PLC0415 - as above

        job, refuse = self._job, self._refuse
        sys.path.insert(0, job["project"])
        try:
            adapter = adapters.adapter_named(job["framework"])
        except ImportError as error:
            reason = "unsupported" if _version(job["package"]) else "no-framework"
            return refuse(reason, f"{job['framework']} could not be imported in {sys.prefix}: {error}")
        except (LookupError, TypeError, AttributeError) as error:
            return refuse("unsupported", str(error))
        if job["at"] not in adapter.boundaries:
            known = ", ".join(adapter.boundaries)
            return refuse("unsupported", f"{job['framework']} has no boundary {job['at']}; it has {known}")
        boundary = adapter.boundaries[job["at"]]
        try:
            bases = adapter.bases()
        except ImportError as error:
            return refuse("unsupported", f"this release has no such boundary: {error}")
        source = loading.HookSource(
            job["target"], job["attribute"], Path(job["project"]), job["factory"], boundary.methods, bases
        )
        version, folder = self._release(adapter)
        self._send("ready", version=version, resolved_from=folder, paths=list(adapter.paths))
        self.paths = [job["path"]] if job["path"] else list(adapter.paths)
        if job["path"] and job["path"] not in adapter.paths:
            return refuse(
                "unsupported", f"{job['framework']} has no path {job['path']}; it has {adapter.paths}"
            )
        # The project's modules are loaded anew in each run; they need not be compiled anew.
        sys.pycache_prefix, sys.dont_write_bytecode = os.environ["TMPDIR"], False
        # After the framework was imported, which may write caches and start programs: only the hook is
        # confined.
        safety.limit_memory(_MEMORY)
        safety.confine(Path(os.environ["TMPDIR"]))
        try:
            source.load()
        except loading.HookNotFoundError as error:
            cause = "not-loadable" if error.__cause__ is not None else "no-hook"
            return refuse(cause, str(error))
        return Judge(
            adapter, source, job["at"], report=lambda: self._send("call"), idempotent=job["idempotent"]
        )

    def _refuse(self, reason: str, message: str) -> None:
        self._send("not-judged", reason=reason, message=message)

    def _release(self, adapter: Any) -> tuple[str | None, str | None]:
        if not adapter.package:
            return None, None
        return _version(adapter.package), sys.prefix

    # ------------------------------------------------------------ judging

    def _conversation(self, index: int) -> Any:
        from agentcore.live.recorded import recorded, sample  # noqa: PLC0415 - as above

        if not hasattr(self, "_recorded"):
            file = self._job["recorded"]
            self._recorded = recorded(Path(file)) if file else []
        return sample(index, self._recorded, self._job["seed"], self._job["texts"])

    def _path(self, index: int) -> str:
        return self.paths[index % len(self.paths)]

    def _judge_all(self, judge: Any) -> None:
        from agentcore.live.closer import outcome_data  # noqa: PLC0415 - importable only now

        job = self._job
        end = time.monotonic() + job["budget"]
        for index in range(job["shard"], job["examples"], job["shards"]):
            if time.monotonic() > end:
                return
            of, path = self._conversation(index), self._path(index)
            self._send("begin", index=index)
            data = outcome_data(judge, of, path, index)
            # A child that the hook forked would judge the rest of the conversations a second time.
            if os.getpid() != self._send.pid:
                os._exit(70)
            self._send("outcome", **data)
            if any(each["cause"] == "out-of-memory" for each in data["shown"]):
                return  # each further one would fill the memory again

    # ------------------------------------------------------------ one conversation more closely

    def _answer(self, judge: Any, asked: dict[str, Any]) -> None:
        """Finds the smallest conversation that shows a kind, and the line of the hook that wrote."""
        from agentcore.live.closer import smallest  # noqa: PLC0415 - importable only now

        index, wanted = asked["index"], tuple(asked["wanted"])
        of, path = self._conversation(index), self._path(index)
        begin = lambda: self._send("begin", index=index)  # noqa: E731 - one line
        end = time.monotonic() + asked["seconds"]
        shown, of = smallest(judge, of, path, index, wanted, end, begin)
        self._send("smallest", kind=wanted[0], shown=shown, conversation=of)


if __name__ == "__main__":
    main()
