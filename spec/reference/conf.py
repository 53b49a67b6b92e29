"""How the API reference is built: `sphinx-build -W spec/reference FOLDER` (the extra `reference`)."""

from __future__ import annotations

import logging
from importlib.metadata import version as installed
from typing import Any

import attrs

from agentcore.kit.framework import fields_of

# It tells of its plugins when it is imported, which is no warning of the build.
logging.getLogger("alembic").setLevel(logging.WARNING)

project = "agentcore"
version = release = installed("agentcore-reference")
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
# Docstrings put code between single backticks.
default_role = "literal"
autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": True}
autodoc_typehints = "signature"
autodoc_type_aliases = {name: name for name in ("JsonValue", "JsonObject", "Message", "Need", "Outcome")}
add_module_names = False
# A type such as `object` in a signature is also the name of fields, which is no ambiguity to a reader.
suppress_warnings = ["ref.python"]


# Fields of profiles have their sentence in the metadata of attrs, where autodoc does not look.


def _add_statements(_: Any, what: str, __: str, kind: Any, ___: Any, lines: list[str]) -> None:
    """Lists the fields of a profile class, or of a part of one, with what each decides."""
    fields = fields_of(kind) if what == "class" and isinstance(kind, type) and attrs.has(kind) else ()
    stated = [f"    {field.name}: {field.statement}" for field in fields if field.statement]
    if stated:
        lines += ["Attributes:", *stated, ""]


def setup(app: Any) -> None:
    """Has the sentences read before napoleon reads what docstrings list."""
    app.connect("autodoc-process-docstring", _add_statements, priority=400)
