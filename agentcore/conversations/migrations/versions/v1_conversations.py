"""Make the tables of conversations, turns and messages.

What stands here is what was released: a change of the tables is another file beside this one.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "agentcore_conversations",
        sa.Column("key", _KEY, primary_key=True, autoincrement=True),
        sa.Column("id", sa.Text(), nullable=False, unique=True),
        sa.Column("head", sa.Text()),
        sa.Column("turns", sa.Integer(), nullable=False),
    )
    op.create_table(
        "agentcore_turns",
        sa.Column("conversation", _KEY, sa.ForeignKey("agentcore_conversations.key"), primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("parent", sa.Text()),
        sa.Column("context_length", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.UniqueConstraint("conversation", "id"),
    )
    op.create_table(
        "agentcore_messages",
        sa.Column("conversation", _KEY, primary_key=True),
        sa.Column("turn", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("place", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.UniqueConstraint("conversation", "id"),
        sa.ForeignKeyConstraint(
            ["conversation", "turn"], ["agentcore_turns.conversation", "agentcore_turns.number"]
        ),
    )


def downgrade() -> None:
    """Drop the tables."""
    for name in ("agentcore_messages", "agentcore_turns", "agentcore_conversations"):
        op.drop_table(name)
