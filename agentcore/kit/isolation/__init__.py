"""Checking a loop that promises copies to its hooks: no profile, each program against itself by value."""
