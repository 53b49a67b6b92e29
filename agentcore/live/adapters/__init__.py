"""Adapters of the frameworks that live checks know, by the name that `--in` takes."""

from __future__ import annotations

import importlib
from typing import Any, Final

from agentcore.live.adapter import Adapter

__all__ = ["MODULES", "PACKAGES", "adapter_named"]

MODULES: Final = {
    "agent-framework": "agentcore.live.adapters.agent_framework",
    "google-adk": "agentcore.live.adapters.google_adk",
    "langchain": "agentcore.live.adapters.langchain",
    "openai-agents": "agentcore.live.adapters.openai_agents",
    "pydantic-ai": "agentcore.live.adapters.pydantic_ai",
    "strands-py": "agentcore.live.adapters.strands_py",
}
PACKAGES: Final = {
    "agent-framework": "agent-framework-core",
    "google-adk": "google-adk",
    "langchain": "langchain",
    "openai-agents": "openai-agents",
    "pydantic-ai": "pydantic-ai-slim",
    "strands-py": "strands-agents",
}
"""The distribution of each framework; it is what the tool installs for `--in NAME@VERSION`."""


_MEMBERS: Final = ("name", "package", "boundaries", "paths", "drop", "run", "entries", "bases", "control")


def adapter_named(name: str) -> Adapter:
    """Returns the adapter of a framework, or of a loop of one's own as `module:attribute`.

    Raises:
        ImportError: if the framework, or the module, cannot be imported.
        LookupError: for a name that there is not.
        TypeError: for something that is no adapter.
    """
    if name in MODULES:
        return importlib.import_module(MODULES[name]).ADAPTER  # type: ignore[no-any-return]
    module, colon, attribute = name.partition(":")
    if not colon:
        raise LookupError(
            f"no framework is named {name}; there are {', '.join(MODULES)} and module:attribute"
        )
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    if isinstance(found, type):
        found = found()
    missing = [each for each in _MEMBERS if not hasattr(found, each)]
    if missing:
        raise TypeError(f"{name} is no adapter: it has no {', '.join(missing)}")
    return found  # type: ignore[no-any-return]
