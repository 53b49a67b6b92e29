"""Reference implementation of what an agent loop does with messages."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import lazy_loader

from agentcore import aliases

# The public names are those of `__init__.pyi`. Nothing is imported before it is asked for: whoever wants
# messages only, or one module, waits for no more.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


class _Package(ModuleType):
    """This package, whose `step` is the function, also once the module of that name is imported."""

    @property
    def step(self) -> Any:
        """The function `agentcore.machine.step.step`."""
        return import_module(f"{__name__}.machine.step").step

    @step.setter
    def step(self, module: ModuleType) -> None:
        """Pass over the module, which the import system puts here when it has imported it."""


sys.modules[__name__].__class__ = _Package
aliases.install()
