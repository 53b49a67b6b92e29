"""Messages and their parts, values, content, usage, and the prompt made of them."""

from __future__ import annotations

import lazy_loader

# The names are those of `__init__.pyi`; nothing is imported before it is asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
