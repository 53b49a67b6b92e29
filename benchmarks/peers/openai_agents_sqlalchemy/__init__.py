"""The OpenAI Agents SDK's SQLAlchemy session."""
