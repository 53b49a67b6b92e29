"""Every store has, of random trees of turns and forks, what a plain model has."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import anyio
import pytest
from hypothesis import HealthCheck, given, settings

from agentcore.conversations.conversation import Conversation
from agentcore.conversations.sql import SqlStore
from agentcore.conversations.stores import ConversationStore, HeadConflictError, MemoryStore
from conversations import postgres
from strategies import messages
from turns import Planned, plans


@pytest.fixture(scope="session")
def stores(
    server: postgres.Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[ConversationStore]]:
    folder = tmp_path_factory.mktemp("stores")
    sql = [SqlStore(f"sqlite:///{folder}/a.db"), SqlStore(server.url)]
    yield [MemoryStore(), *sql]
    for store in sql:
        store._engine.dispose()


async def _check(store: ConversationStore, planned: list[Planned]) -> None:
    name = uuid.uuid4().hex
    conversation = Conversation()
    for one in planned:
        with pytest.raises(HeadConflictError):
            await store.append(name, "no turn", one.turn)
        await store.append(name, conversation.head, one.turn)
        conversation = conversation.with_turn(one.turn)
    loaded = await store.load(name)
    assert loaded == conversation
    for one in planned:
        await store.append(name, None, one.turn)  # again
        here = loaded.at(one.turn.id)
        assert [each.id for each in here.record] == one.record
        assert [each.id for each in here.context] == one.context
    assert await store.load(name) == conversation


@pytest.mark.slow
@settings(
    max_examples=25,  # each of them in three stores, two of which write to the disk
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(plans(most=6, message=messages))
def test_every_store_has_what_a_plain_model_has(
    stores: list[ConversationStore], planned: list[Planned]
) -> None:
    async def check() -> None:
        for store in stores:
            await _check(store, planned)

    anyio.run(check)
