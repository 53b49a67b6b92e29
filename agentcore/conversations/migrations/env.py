"""Run by alembic to bring a database to a version; the store gives the connection, in a transaction."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table="agentcore_version")
context.run_migrations()
