"""How the API reference is built: `sphinx-build -W spec/reference FOLDER` (the extra `reference`)."""

from __future__ import annotations

from importlib.metadata import version as installed

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
