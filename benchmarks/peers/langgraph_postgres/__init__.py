"""LangGraph's PostgreSQL checkpointer."""
