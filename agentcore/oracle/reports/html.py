"""The report as a page of HTML that needs nothing besides itself, and runs nothing."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, TypeAlias

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from agentcore.oracle.reports.pictures import alias_picture
from agentcore.oracle.vectors import pretty
from agentcore.oracle.visible import visible

__all__ = ["text"]

Json: TypeAlias = dict[str, Any]


def text(document: Json) -> str:
    """The page. It has a picture of who holds what for programs of the AI SDK, with the extra `pictures`."""
    # Every text is data: made visible first, then escaped. Only our own pictures are markup.
    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_visible, trim_blocks=True)
    source = files(__package__).joinpath("report.html.jinja").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        report=document, pretty=pretty, diff_lines=_diff_lines, picture=_picture
    )


def _visible(value: Any) -> Any:
    return value if isinstance(value, Markup) else visible(str(value))


def _picture(finding: Json) -> Markup | None:
    svg = alias_picture(finding["program"], finding["profile"])
    return None if svg is None else Markup(visible(svg))  # noqa: S704 - drawn here, with its texts escaped


def _diff_lines(diff: str) -> list[tuple[str, str]]:
    """The lines, each with the class that it is shown in."""
    kinds = {"+": "added", "-": "gone", "@": "place"}
    return [(kinds.get(line[:1], "same"), line) for line in diff.splitlines()]
