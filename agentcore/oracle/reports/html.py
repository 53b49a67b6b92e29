"""The report as a page of HTML that needs nothing besides itself, and runs nothing."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final, TypeAlias

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from agentcore.kit.safe_text import visible
from agentcore.oracle.reports.beside import beside
from agentcore.oracle.reports.pictures import alias_picture, spread_picture
from agentcore.oracle.spec.vectors import pretty

__all__ = ["text"]

Json: TypeAlias = dict[str, Any]

_SIDES: Final = ("expected", "the driver")
_RUNS: Final = ("without the write", "with the write")
_OF_RULES: Final = {
    "isolated.call-order": ("tools in no time", "tools with times"),
    "isolated.accumulates": ("returned for the last step only", "returned for each step"),
    "isolated.caller-kept": ("before the run", "after the run"),
    "isolated.reports-kept": ("as it was given", "after the run"),
}


def text(document: Json) -> str:
    """The page. With the extra `pictures` each wrong trace has a picture of how far the difference goes.

    Programs that have a profile have another one, of who holds what as it is expected, where their family
    says what a picture has.
    """
    # Every text is data: made visible first, then escaped. Only our own pictures are markup.
    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_visible, trim_blocks=True)
    source = files(__package__).joinpath("report.html.jinja").read_text(encoding="utf-8")
    isolated = document["isolated"]
    return environment.from_string(source).render(
        report=document,
        title="hooks get copies" if isolated else document["profile"],
        pretty=pretty,
        beside=beside,
        headline=_headline,
        sides=_sides,
        spread=lambda finding: _markup(spread_picture(finding)),
        picture=lambda finding: (
            None if isolated else _markup(alias_picture(finding["program"], finding["profile"]))
        ),
    )


def _visible(value: Any) -> Any:
    return value if isinstance(value, Markup) else visible(str(value))


def _markup(svg: str | None) -> Markup | None:
    return None if svg is None else Markup(visible(svg))  # noqa: S704 - drawn here, with its texts escaped


def _headline(finding: Json) -> str:
    """What a finding is, on one line."""
    match finding:
        case {"breach": {"kind": kind, "hook": hook, "op": op, "place": place}}:
            return f"{kind}: {hook}, {op} {place}"
    cause = f", by {finding['op']} in {finding['hook']}" if finding["op"] else ""
    return (
        f"{finding['outcome']} at {finding['where']}{cause}" if finding["where"] else str(finding["outcome"])
    )


def _sides(finding: Json) -> tuple[str, str]:
    """What the two sides are."""
    if "breach" not in finding:
        return _SIDES
    return _OF_RULES.get(finding["breach"]["requirement"], _RUNS)
