"""Built-ins that the check relies on and a hook may replace; they are put back after each call.

Runs under the interpreter of whoever's hook is checked: standard library only.
"""

from __future__ import annotations

import builtins
import copy
import functools
import inspect
import json
import operator
import time
import types
from typing import Any, Final

__all__ = ["Originals"]

# Not `random`, `os`, `time.time` and `time.sleep`: these the run itself replaces (seeded.py, late.py).
_MODULES: Final = (builtins, copy, functools, inspect, json, operator, types)
_CLOCKS: Final = ("monotonic", "perf_counter")


class Originals:
    """The functions and classes of a few modules, as they were when the hook had been loaded."""

    def __init__(self) -> None:
        """Reads them."""
        self._known: list[tuple[dict[str, Any], str, Any, str]] = [
            (vars(module), name, value, module.__name__)
            for module in _MODULES
            for name, value in vars(module).items()
            if callable(value)
        ]
        self._known += [(vars(time), name, getattr(time, name), "time") for name in _CLOCKS]

    def restore(self) -> str | None:
        """Puts back what was replaced since, and returns the name of the first one."""
        replaced = None
        for names, name, value, module in self._known:
            if names.get(name) is not value:
                names[name] = value
                replaced = replaced or f"{module}.{name}"
        return replaced
