"""Conversations as values: turns with provenance, branches, a head; and as JSON."""
