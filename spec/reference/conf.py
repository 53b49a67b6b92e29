"""How Sphinx builds the site, with the API reference: `python -m tools.site FOLDER` (the extra `site`)."""

from __future__ import annotations

import inspect
import logging
from importlib.metadata import version as installed
from typing import Any, cast

import attrs
from pygments.lexers import TextLexer

from agentcore.kit.framework import fields_of

# It tells of its plugins when it is imported, which is no warning of the build.
logging.getLogger("alembic").setLevel(logging.WARNING)

project = "agentcore"
version = release = installed("agentcore-reference")
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb"]
html_theme = "furo"
html_title = "agentcore"
html_show_sourcelink = False
# Docstrings put code between single backticks.
default_role = "literal"
autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": True}
autodoc_typehints = "signature"
autodoc_type_aliases = {
    name: name for name in ("JsonValue", "JsonObject", "Message", "Need", "Outcome", "Prompt")
}
python_maximum_signature_line_length = 90
add_module_names = False
# A type such as `object` in a signature is also the name of fields, which is no ambiguity to a reader.
suppress_warnings = ["ref.python"]

# Pages in Markdown have the anchors that GitHub gives their headings; notebooks are shown with their stored
# outputs, which a test holds to those of a run.
myst_heading_anchors = 4
nb_execution_mode = "off"
# Tables of an output are tables; the cell that runs an answer is folded.
nb_render_markdown_format = "myst"
nb_code_prompt_show = "The answer, run"


# Fields of profiles have their sentence in the metadata of attrs, where autodoc does not look.


def _add_statements(_: Any, what: str, __: str, kind: Any, ___: Any, lines: list[str]) -> None:
    """Lists the fields of a profile class, or of a part of one, with what each decides."""
    fields = fields_of(kind) if what == "class" and isinstance(kind, type) and attrs.has(kind) else ()
    stated = [f"    {field.name}: {field.statement}" for field in fields if field.statement]
    if stated:
        lines += ["Attributes:", *stated, ""]


# Signatures have types as they stand in the source, and defaults as a person writes them.


class _AsWritten:
    """A type or a default in a signature, which is printed as this text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


_LONGEST_DEFAULT = 40


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty or isinstance(value, _AsWritten):
        return value
    text = repr(value)
    return _AsWritten(text if len(text) <= _LONGEST_DEFAULT and not text.startswith("<") else "...")


def _annotation(value: Any) -> Any:
    return _AsWritten(value) if isinstance(value, str) else value


def _of_values(kind: type) -> inspect.Signature:
    """The signature of an attrs class: its fields, with their types and defaults."""
    parameters = []
    for field in attrs.fields(cast("type[attrs.AttrsInstance]", kind)):
        if not field.init:
            continue
        default: Any = inspect.Parameter.empty if field.default is attrs.NOTHING else field.default
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
            default = _AsWritten(f"{getattr(default.factory, '__name__', '...')}()")
        place = inspect.Parameter.KEYWORD_ONLY if field.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        name = field.alias or field.name
        parameters.append(inspect.Parameter(name, place, default=default, annotation=field.type))
    return inspect.Signature(sorted(parameters, key=lambda each: each.kind))


def _sign(_: Any, what: str, __: str, made: Any, ___: Any, signature: str | None, ____: Any) -> Any:
    if signature is None or what not in {"class", "exception", "function", "method"}:
        return None
    try:
        if what == "class" and attrs.has(made):
            found = _of_values(made)
        elif what in {"class", "exception"}:
            found = _without_first(inspect.signature(made.__init__))
        else:
            found = inspect.signature(made)
            is_bound = inspect.ismethod(made) or isinstance(made, staticmethod)
            found = _without_first(found) if what == "method" and not is_bound else found
    except (TypeError, ValueError):
        return None
    parameters = [
        each.replace(annotation=_annotation(each.annotation), default=_default(each.default))
        for each in found.parameters.values()
    ]
    returned = found.return_annotation
    text = str(found.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    has_result = what in {"function", "method"} and isinstance(returned, str)
    return text, returned if has_result else None


def _without_first(signature: inspect.Signature) -> inspect.Signature:
    parameters = [*signature.parameters.values()]
    is_first = bool(parameters) and parameters[0].name in {"self", "cls"}
    return signature.replace(parameters=parameters[1:] if is_first else parameters)


def setup(app: Any) -> None:
    """Has the sentences read before napoleon reads what docstrings list, and names what is shown as text."""
    for name in ("txt", "mermaid"):
        app.add_lexer(name, TextLexer)
    app.connect("autodoc-process-signature", _sign)
    app.connect("autodoc-process-docstring", _add_statements, priority=400)
