"""The loops that are measured, each a small program of its own that answers lines (see serving.py)."""
