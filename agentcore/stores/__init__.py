"""Stores of conversations: in memory, in SQLite and in PostgreSQL."""
