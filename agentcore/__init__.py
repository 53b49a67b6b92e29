"""Reference implementation of what an agent loop does with messages."""

from __future__ import annotations

import lazy_loader

# The public names are those of `__init__.pyi`. Nothing is imported before it is asked for: whoever wants
# messages only, or one module, waits for no more.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
