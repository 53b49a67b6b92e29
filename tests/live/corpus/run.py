"""Judges all hooks of one module of this folder in one process, under the interpreter that runs this file.

Arguments: the framework, the module's file, how many conversations, and names of hooks, or none for all.
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


def main(framework: str, file: str, count: str, *names: str) -> None:
    """Prints one line of JSON for each hook."""
    spec = importlib.util.spec_from_file_location("live_worker", _ROOT / "agentcore" / "live" / "worker.py")
    worker: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(worker)  # type: ignore[union-attr]
    worker._import_bare()
    from agentcore.live.adapters import adapter_named
    from agentcore.live.conversations import conversation
    from agentcore.live.judge import Judge
    from agentcore.live.loading import HookSource
    from agentcore.live.writes import general

    adapter = adapter_named(framework)
    for at, verdict, place, name in expectations(Path(file)):
        if names and name not in names:
            continue
        began = time.process_time()
        boundary = adapter.boundaries[at]
        source = HookSource(file, name, Path(file).parent, methods=boundary.methods, bases=adapter.bases())
        judge = Judge(adapter, source, at)
        paths, found = adapter.paths, {}
        calls, errors, error = 0, 0, None
        for seed in range(int(count)):
            out = judge.judge(conversation(seed), paths[seed % len(paths)], seed)
            calls += out.calls
            errors += out.error is not None
            error = out.error or error
            for each in out.shown:
                key = f"{each.kind} {general(each.place or '')}"
                at_place = found.setdefault(key, [0, set(), each.said])
                at_place[0] += 1
                at_place[1] |= {*each.seen}
        shown = {key: [n, sorted(seen), said] for key, (n, seen, said) in found.items()}
        right = is_right(verdict, place, shown)
        seconds = round(time.process_time() - began, 2)
        print(
            json.dumps(
                {
                    "at": at,
                    "hook": name,
                    "wanted": verdict,
                    "place": place,
                    "right": right,
                    "found": shown,
                    "calls": calls,
                    "errors": errors,
                    "error": error,
                    "cpu": seconds,
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
