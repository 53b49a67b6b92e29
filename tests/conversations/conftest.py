from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import sqlalchemy as sa

from agentcore.conversations.sql import SqlStore
from agentcore.conversations.stores import ConversationStore, MemoryStore
from conversations import postgres

SQL: Final = ("sqlite", "postgresql")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Server]:
    reason = postgres.missing()
    if reason is not None:
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    one = postgres.Server()
    yield one
    one.stop()


UrlOf = Callable[[str], str]


@pytest.fixture
def url_of(request: pytest.FixtureRequest, tmp_path: Path) -> UrlOf:
    """Makes an empty database of a kind, and returns its URL."""

    def make(kind: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/conversations.db"
        one: postgres.Server = request.getfixturevalue("server")
        name = re.sub(r"\W+", "_", request.node.name.lower())[:40] + f"_{os.urandom(4).hex()}"
        engine = sa.create_engine(
            one.url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
        engine.dispose()
        return one.url_of(name)

    return make


@pytest.fixture(params=SQL)
def url(request: pytest.FixtureRequest, url_of: UrlOf) -> str:
    """The URL of an empty database of each kind."""
    return url_of(request.param)


@pytest.fixture(params=["memory", *SQL])
def store(request: pytest.FixtureRequest, url_of: UrlOf) -> Iterator[ConversationStore]:
    """An empty store of each kind."""
    if request.param == "memory":
        yield MemoryStore()
        return
    one = SqlStore(url_of(request.param))
    yield one
    engine: Any = one._engine
    engine.dispose()
