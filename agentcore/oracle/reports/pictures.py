"""A picture for a report: who holds what in the run of a program, where it can be drawn."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Final

from agentcore.kit.families import family_of

__all__ = ["alias_picture", "spread_picture"]

# A picture of more is none to look at.
_CELLS: Final = 400


# Of more places a picture is none to look at, and the report lists all.
_PLACES: Final = 4


def spread_picture(finding: dict[str, Any]) -> str | None:
    """How far a difference goes, as an SVG element: who writes, who sees it, and where.

    None without the extra `pictures`, and for a finding without a difference.
    """
    if not finding.get("spread") or not _can_draw():
        return None
    from agentcore.heap.pictures import spread  # noqa: PLC0415 - takes a second, and is an extra

    shown = {
        holder: [*places[:_PLACES], *([f"{len(places) - _PLACES} more"] if len(places) > _PLACES else [])]
        for holder, places in finding["spread"].items()
    }
    svg = spread(finding["writers"][:_PLACES], shown).svg
    return svg[svg.index("<svg") :]


def _can_draw() -> bool:
    return find_spec("matplotlib") is not None and find_spec("igraph") is not None


def alias_picture(program: dict[str, Any], profile: str) -> str | None:
    """Who holds what when the model is called for the last time, as an SVG element.

    None without the extra `pictures`, for a profile whose family has no picture or that runs on no heap, for
    a run that calls no model, and for one too large to be looked at.
    """
    if not _can_draw():
        return None
    from agentcore.heap.pictures import alias_graph  # noqa: PLC0415 - takes a second, and is an extra
    from agentcore.heap.pollution import findings  # noqa: PLC0415

    family = family_of(profile)
    if family.recording is None or not family.pictured:
        return None
    recorded = family.recording(program, profile)
    if recorded.loop is None:
        return None
    recorded.loop.store.watching = True
    recorded.trace()
    moments = [one for one in recorded.loop.snapshots if one.moment == "prompt"]
    if not moments or moments[-1].heap_size > _CELLS:
        return None
    holders = [name for name in family.pictured if name in moments[-1].holders]
    written = {finding.write.address for finding in findings(recorded.loop)}
    svg = alias_graph(moments[-1], holders, written=written).svg
    return svg[svg.index("<svg") :]
