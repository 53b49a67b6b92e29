"""Judges all hooks of one module of this folder in one process, under the interpreter that runs this file.

Arguments: the framework, the module's file, how many conversations, what goes around each hook (`plain` for
nothing, `isolate`, `strict`, or several with commas), and names of hooks, or none for all.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import time
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parent.parent.parent.parent
_SAYS: Final = re.compile(
    r"^# (\w+): (\S+) ?(\S*)\n(?:@.*\n)?(?:async def |def |class )?(\w+)\b", re.MULTILINE
)


def expectations(file: Path) -> list[tuple[str, str, str, str]]:
    """Reads boundary, verdict, place and name of each hook from the comments before them."""
    return [found.groups() for found in _SAYS.finditer(file.read_text(encoding="utf-8"))]  # type: ignore[misc]


def is_right(verdict: str, place: str, found: dict[str, Any]) -> bool:
    """Whether the gravest kind that was found is the one wanted, at its place if one is wanted."""
    kinds = {key.partition(" ")[0] for key in found}
    if verdict == "clean":
        return not kinds
    if verdict == "harmless-write" and kinds & {"write", "raises", "accumulates"}:
        return False
    last = place.rpartition(".")[2]
    return any(key.startswith(f"{verdict} ") and last in key for key in found)


def is_mended(verdict: str, how: str, found: dict[str, Any], file: str) -> bool:
    """Whether nothing of a hook that writes reaches the framework, and `strict` has the line in its file.

    A write around the refusing object, as `object.__setattr__` is one, has its place instead of a line.
    """
    kinds = {key.partition(" ")[0] for key in found}
    stopped = [
        file if line is None and " was changed, " in said else line
        for _, _, said, line in found.values()
        if "ImmutableArgumentError" in said
    ]
    if how == "strict" and stopped:
        return verdict != "clean" and stopped == [file] * len(stopped)
    return not kinds & {"write", "harmless-write", "not-isolated"} and (
        verdict == "raises" or "raises" not in kinds
    )


def source_of(framework: str, at: str, file: str, name: str, how: str) -> Any:
    """Returns where a hook is, with `isolate` or `strict` around it if that is asked for."""
    from agentcore.live import isolate, strict
    from agentcore.live.adapters import adapter_named
    from agentcore.live.loading import HookSource

    class Mended(HookSource):
        def _exported(self, module: Any) -> Any:
            found = super()._exported(module)
            mend: Any = isolate if how == "isolate" else strict
            return mend(found() if isinstance(found, type) else found, framework=framework, at=at)

    adapter = adapter_named(framework)
    cls = HookSource if how == "plain" else Mended
    methods = adapter.boundaries[at].methods
    return cls(file, name, Path(file).parent, methods=methods, bases=adapter.bases())


def main(framework: str, file: str, count: str, ways: str, *names: str) -> None:
    """Prints one line of JSON for each hook and each way."""
    spec = importlib.util.spec_from_file_location("live_worker", _ROOT / "agentcore" / "live" / "worker.py")
    worker: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(worker)  # type: ignore[union-attr]
    worker._import_bare()
    for at, verdict, place, name in expectations(Path(file)):
        for how in ways.split(",") if not names or name in names else ():
            began = time.process_time()
            shown = judged(framework, at, file, name, how, int(count))
            found = shown.pop("found")
            right = (
                is_right(verdict, place, found) if how == "plain" else is_mended(verdict, how, found, file)
            )
            said = {"at": at, "hook": name, "how": how, "wanted": verdict, "place": place, "right": right}
            cpu = round(time.process_time() - began, 2)
            print(json.dumps({**said, "found": found, **shown, "cpu": cpu}), flush=True)


def judged(  # noqa: PLR0913, PLR0917 - what a hook is judged by
    framework: str, at: str, file: str, name: str, how: str, count: int
) -> dict[str, Any]:
    """Judges a hook over some conversations; returns what was found, by kind and place, and counts."""
    from agentcore.live.adapters import adapter_named
    from agentcore.live.conversations import conversation
    from agentcore.live.judge import Judge
    from agentcore.live.writes import general

    adapter = adapter_named(framework)
    judge = Judge(adapter, source_of(framework, at, file, name, how), at)
    found: dict[str, Any] = {}
    calls, errors, error = 0, 0, None
    for seed in range(count):
        out = judge.judge(conversation(seed), adapter.paths[seed % len(adapter.paths)], seed)
        calls += out.calls
        errors += out.error is not None
        error = out.error or error
        for each in out.shown:
            line = None if each.line is None else each.line["file"]
            at_place = found.setdefault(f"{each.kind} {general(each.place or '')}", [0, [], each.said, line])
            at_place[0] += 1
            at_place[1] = sorted({*at_place[1], *each.seen})
    return {"found": found, "calls": calls, "errors": errors, "error": error}


if __name__ == "__main__":
    main(*sys.argv[1:])
