"""Aliasing as data: values in cells, references between them, copies of a depth, and who wrote what."""
