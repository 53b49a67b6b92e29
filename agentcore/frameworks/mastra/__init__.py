"""Agents under the reference behaviour of Mastra, and who wrote what, when, and how far it spread.

from agentcore.frameworks import mastra

ran = mastra.run("mastra@1.71.0", mastra.Settings(...))
ran.pollution
"""

from __future__ import annotations

import lazy_loader

# The names are those of `__init__.pyi`. Whoever lists frameworks imports this, and no emulation.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
