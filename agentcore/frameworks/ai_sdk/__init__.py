"""Hooks under the reference behaviour of real frameworks, and who wrote what, when, and how far it spread."""

from __future__ import annotations

import lazy_loader

# The names are those of `__init__.pyi`. Whoever lists frameworks imports this, and no emulation.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
