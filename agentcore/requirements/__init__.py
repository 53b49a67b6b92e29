"""The names of what must hold, from which the specification's tables are made."""
