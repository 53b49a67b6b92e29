"""The runtime on anyio: it asks the machine what is needed, does it, and gives back the outcome."""

from __future__ import annotations

import lazy_loader

# The names are those of `__init__.pyi`; nothing is imported before it is asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
