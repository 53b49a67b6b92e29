"""What is reported of a run, found by walking over all that each holder reaches at each moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.heap.boundary_log import Alias, HandOut
from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import Heap, Ref, Value
from agentcore.heap.pollution import LATER_PROMPTS, Finding, Verdict, Watched, written_path
from agentcore.heap.views import Write


def carriers(run: Watched, write: Write) -> frozenset[int]:
    derived: dict[int, list[tuple[int, Any]]] = defaultdict(list)
    for made, sources in run.store.origins.items():
        for source, fields in sources:
            derived[source].append((made, fields))
    found, queue = {write.address}, [write.address]
    for source in queue:
        for made, fields in derived.get(source, ()):
            copied = fields is None or not isinstance(write.key, str) or write.key in fields
            if made >= write.size and copied and made not in found:
                found.add(made)
                queue.append(made)
    return frozenset(found)


def findings(run: Watched) -> tuple[Finding, ...]:
    return tuple(_finding(run, write) for write in run.desk.journal)


def _finding(run: Watched, write: Write) -> Finding:
    carried = carriers(run, write)
    prompts = [
        one.step
        for one in run.snapshots
        if one.moment == "prompt" and one.heap_size >= write.size
        if not carried.isdisjoint(one.heap.reached(one.holders.get("prompt")))
    ]
    later = [step for step in prompts if step > write.step]
    paths: dict[str, str] = {}
    seen = set(later)
    for one in run.snapshots:
        if not (one.step > write.step or one.moment == "end"):
            continue
        for holder, name in run.holders.items():
            reached = one.heap.reached(one.holders.get(holder))
            shown = carried.intersection(reached)
            if shown:
                address = min(shown, key=lambda address: (len(reached[address]), address))
                paths[name] = written_path(name, reached[address], write.key)
                seen |= {one.step} if one.step > write.step else set()
    reach = (*paths, *([LATER_PROMPTS] if later else []))
    return Finding(
        write=write,
        verdict=Verdict.POLLUTING if reach else Verdict.EPHEMERAL,
        reach=reach,
        paths=paths,
        prompts=tuple(prompts),
        first_seen=min(seen, default=None),
    )


def shown(carried: frozenset[int], write: Write, handed: list[HandOut]) -> Iterator[tuple[int, str]]:
    for one in handed:
        if one.writes > write.number and not carried.isdisjoint(one.snapshot.heap.reached(one.slot)):
            yield one.step, one.boundary


def objects(write: Write, now: Snapshot) -> tuple[str, ...]:
    reached = ((name, now.heap.reached(slot)) for name, slot in now.holders.items())
    return tuple(
        written_path(name, paths[write.address], None) for name, paths in reached if write.address in paths
    )


def aliases(heap: Heap, holders: Mapping[str, Value]) -> tuple[Alias, ...]:
    named: dict[int, list[Any]] = {}
    for holder, root in holders.items():
        queue: list[Any] = [(root, ())]
        for at, keys in queue:
            if not isinstance(at, Ref):
                continue
            if at.address not in named:
                named[at.address] = []
                queue.extend((child, (*keys, key)) for key, child in heap.children(at))
            named[at.address].append((holder, keys))
    return tuple(Alias(tuple(places)) for places in named.values() if len(places) > 1)


def own_aliases(one: HandOut) -> tuple[Alias, ...]:
    known = aliases(one.snapshot.heap, one.snapshot.holders)
    return tuple(alias for alias in known if one.boundary in alias.holders and len(alias.holders) > 1)
