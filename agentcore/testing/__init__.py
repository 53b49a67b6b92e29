"""Checks for tests of your own: `check_hook` runs a hook over random conversations."""

from __future__ import annotations

import lazy_loader

# Imported when it is asked for: pytest imports this package for everybody's tests.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
