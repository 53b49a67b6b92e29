from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from agentcore.agent.agent import Agent
from agentcore.agent.models import ScriptedModel
from agentcore.conversations import sql
from agentcore.conversations.conversation import Conversation, KeptMessages, Turn
from agentcore.conversations.sql import SqlStore
from agentcore.conversations.stores import (
    ConversationStore,
    HeadConflictError,
    StoreError,
    StoreUnavailableError,
    StoreVersionError,
    TurnConflictError,
)
from agentcore.errors import InvalidConversationError, NotInConversationError
from agentcore.messages.content import GeneratedText
from agentcore.messages.messages import FilePart, UserMessage
from turns import said, turn_of

pytestmark = pytest.mark.anyio


async def appended(store: ConversationStore, name: str, *ends: tuple[str, ...]) -> Conversation:
    for number, texts in enumerate(ends):
        conversation = await store.load(name)
        turn = turn_of(conversation.head, *texts, turn_id=f"t{number}")
        await store.append(name, conversation.head, turn)
    return await store.load(name)


# ---------------------------------------------------------------- what is stored


async def test_a_conversation_that_nobody_has_written_to_is_empty(store: ConversationStore) -> None:
    assert await store.load("nobody's") == Conversation()
    await store.delete("nobody's")
    await store.move("nobody's", None, None)
    assert await store.load("nobody's") == Conversation()


async def test_what_was_appended_is_loaded(store: ConversationStore) -> None:
    conversation = Conversation()
    turns = [
        turn_of(None, "hi", "hello", turn_id="t0"),
        Turn(
            id="t1",
            parent="t0",
            messages=[said("t1", 0, UserMessage([FilePart(b"\0\xff", "application/x")]))],
            context=[
                KeptMessages(2, 1),
                said("t1", 1, UserMessage("\ud800 \0 ä"), given_by="hook", hook="h"),
            ],
            metadata={"at": "2026", "n": [1, 1.5, None, {"\0": True}]},
        ),
        Turn(id="empty", parent="t1", messages=[], context=[], run_start=3),
    ]
    turns.append(Turn(id="u", parent="t0", messages=[turns[1].messages[0], said("u", 1, UserMessage("x"))]))
    turns.append(Turn(id="v", messages=[turns[1].injected[0]]))
    for turn in turns:
        await store.append("a", conversation.head, turn)
        conversation = conversation.with_turn(turn)
        assert await store.load("a") == conversation
    assert await store.load("b") == Conversation()


@pytest.mark.parametrize("name", ["", "ä/'\"; --", "x" * 5000])
async def test_conversations_have_any_name(store: ConversationStore, name: str) -> None:
    await store.append(name, None, turn_of(None, "hi"))
    assert len(await store.load(name)) == 1
    assert len(await store.load(f"{name}x")) == 0


async def test_agents_and_stores_go_together(store: ConversationStore) -> None:
    agent = Agent(ScriptedModel([[GeneratedText(str(n))] for n in range(3)]))
    for number in range(3):
        conversation = await store.load("a")
        result = await agent.generate(f"q{number}", conversation=conversation)
        assert result.conversation.turn is not None
        await store.append("a", conversation.head, result.conversation.turn)
        assert await store.load("a") == result.conversation
    assert len(await store.load("a")) == 6


# ---------------------------------------------------------------- heads


async def test_whoever_expects_another_head_is_told_both(store: ConversationStore) -> None:
    await appended(store, "a", ("hi",), ("and?",))
    for expected in (None, "t0", "x"):
        with pytest.raises(HeadConflictError) as raised:
            await store.append("a", expected, turn_of(None, "late"))
        assert (raised.value.expected, raised.value.actual) == (expected, "t1")
        assert raised.value.conversation_id == "a"
        with pytest.raises(HeadConflictError):
            await store.move("a", expected, "t0")
    with pytest.raises(HeadConflictError) as raised:
        await store.append("b", "t0", turn_of("t0", "x"))
    assert (raised.value.expected, raised.value.actual) == ("t0", None)
    assert [turn.id for turn in (await store.load("a")).turns] == ["t0", "t1"]
    assert await store.load("b") == Conversation()


async def test_a_turn_that_is_appended_again_is_stored_once_and_moves_no_head(
    store: ConversationStore,
) -> None:
    conversation = await appended(store, "a", ("hi",), ("and?",))
    for expected in (None, "t0", "t1", "x"):
        await store.append("a", expected, conversation.turns[0])
    assert await store.load("a") == conversation


async def test_equal_turns_of_two_ids_are_two_turns(store: ConversationStore) -> None:
    conversation = await appended(store, "a", ("hi", "hello"), ("hi", "hello"))
    assert len(conversation.turns) == 2
    assert len(conversation) == 4


@pytest.mark.parametrize(
    "other",
    [
        turn_of(None, "other", "hello", turn_id="t0"),
        turn_of(None, "hi", turn_id="t0"),
        turn_of(None, "hi", "hello", turn_id="t0", metadata={"a": 1}),
        turn_of("t0", "hi", "hello", turn_id="t0"),
        Turn(id="t0", messages=[]),
    ],
)
async def test_a_turn_is_never_rewritten(store: ConversationStore, other: Turn) -> None:
    conversation = await appended(store, "a", ("hi", "hello"))
    with pytest.raises(TurnConflictError) as raised:
        await store.append("a", "t0", other)
    assert (raised.value.conversation_id, raised.value.turn_id) == ("a", "t0")
    assert await store.load("a") == conversation


@pytest.mark.parametrize(
    ("turn", "path"),
    [
        (turn_of("x", "a", turn_id="u"), "$.parent"),
        (Turn(id="u", messages=[said("t0", 0, UserMessage("rewritten"))]), "$.messages[0]"),
        (Turn(id="u", messages=[said("t0", 7, UserMessage("hi"))]), "$.messages[0]"),
        (
            Turn(id="u", messages=[attrs.evolve(said("t0", 0, UserMessage("hi")), turn="u")]),
            "$.messages[0].id",
        ),
        (Turn(id="u", messages=[said("u", 0, UserMessage("x"))] * 2), "$.messages[1].id"),
        (Turn(id="u", parent="t0", messages=[], context=[KeptMessages(0, 3)]), "$.context[0]"),
    ],
)
async def test_a_turn_that_does_not_fit_is_refused(store: ConversationStore, turn: Turn, path: str) -> None:
    conversation = await appended(store, "a", ("hi", "hello"))
    with pytest.raises(InvalidConversationError) as raised:
        await store.append("a", "t0", turn)
    assert raised.value.path == path
    assert await store.load("a") == conversation
    first = Turn(id="first", parent="none", messages=[])
    with pytest.raises(InvalidConversationError):
        await store.append("b", None, first)
    assert await store.load("b") == Conversation()


async def test_a_head_is_moved_to_another_branch(store: ConversationStore) -> None:
    conversation = await appended(store, "a", ("hi",), ("and?",))
    await store.move("a", "t1", "t0")
    await store.append("a", "t0", turn_of("t0", "or?", turn_id="u"))
    moved = await store.load("a")
    assert moved == conversation.with_turn(turn_of("t0", "or?", turn_id="u"))
    await store.move("a", "u", None)
    assert (await store.load("a")).head is None
    await store.append("a", None, turn_of(None, "anew", turn_id="v"))
    assert len((await store.load("a")).turns) == 4
    with pytest.raises(NotInConversationError):
        await store.move("a", "v", "x")
    with pytest.raises(NotInConversationError):
        await store.move("b", None, "x")


async def test_what_was_deleted_is_gone_and_may_begin_anew(store: ConversationStore) -> None:
    await appended(store, "a", ("hi",), ("and?",))
    kept = await appended(store, "b", ("hi",))
    await store.delete("a")
    assert await store.load("a") == Conversation()
    assert await store.load("b") == kept
    assert len(await appended(store, "a", ("again",))) == 1


# ---------------------------------------------------------------- many writers


@pytest.mark.slow
@pytest.mark.sample(2)
async def test_a_hundred_writers_each_add_their_turn_once_in_one_order(store: ConversationStore) -> None:
    conflicts: Counter[str] = Counter()
    seen: list[list[str]] = []

    async def write(number: int) -> None:
        name, head = f"w{number}", None
        while True:
            try:
                await store.append("a", head, turn_of(head, "q", "a", turn_id=name))
            except HeadConflictError as conflict:
                conflicts[name] += 1
                head = conflict.actual
            else:
                return

    async def read() -> None:
        while len(seen) < 5 or len(seen[-1]) < 100:
            seen.append([turn.id for turn in (await store.load("a")).turns])
            await anyio.sleep(0.02)

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(write, number)
        group.start_soon(read)
    conversation = await store.load("a")
    order = [turn.id for turn in conversation.turns]
    assert sorted(order) == sorted(f"w{number}" for number in range(100))
    assert [turn.id for turn in conversation.path] == order
    assert len(conversation.record) == 200
    assert all(order[: len(each)] == each for each in seen)


@pytest.mark.slow
async def test_writers_of_two_stores_on_one_database_queue(url: str) -> None:
    async with SqlStore(url) as one, SqlStore(url, connections=3) as other:

        async def write(store: SqlStore, name: str) -> None:
            for number in range(10):
                head = None
                while True:
                    try:
                        await store.append("a", head, turn_of(head, "q", turn_id=f"{name}{number}"))
                        break
                    except HeadConflictError as conflict:
                        head = conflict.actual

        async with anyio.create_task_group() as group:
            for n, store in enumerate((one, other, one, other)):
                group.start_soon(write, store, "abcd"[n])
        conversation = await one.load("a")
        assert len(conversation.path) == 40
        assert conversation == await other.load("a")


async def test_the_same_turn_at_once_from_many_is_stored_once(store: ConversationStore) -> None:
    turn = turn_of(None, "hi", "hello")
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(store.append, "a", None, turn)
    assert list((await store.load("a")).turns) == [turn]


# ---------------------------------------------------------------- cancellation and failure


async def test_a_cancelled_append_has_happened_or_not_and_may_be_appended_again(
    store: ConversationStore,
) -> None:
    conversation = Conversation()
    for number in range(20):
        turn = turn_of(conversation.head, "q", turn_id=f"t{number}")
        with anyio.move_on_after(0.0005 * number):
            await store.append("a", conversation.head, turn)
        stored = await store.load("a")
        grown = conversation.with_turn(turn)
        assert stored in (conversation, grown)
        await store.append("a", conversation.head, turn)
        assert await store.load("a") == grown
        conversation = grown


async def test_a_cancelled_task_leaves_a_whole_turn_or_none(url: str) -> None:
    async with SqlStore(url) as store:
        await store.migrate()
        turn = turn_of(None, "q", "a")
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(store.append, "a", None, turn)
            await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        stored = (await store.load("a")).turns
        assert list(stored) in ([], [turn])


@pytest.mark.slow
async def test_a_database_that_is_away_is_told_and_the_turn_may_be_appended_again(
    server: Any, url_of: Any
) -> None:
    async with SqlStore(url_of("postgresql")) as store:
        first = turn_of(None, "q", turn_id="t0")
        await store.append("a", None, first)
        server.kill()
        second = turn_of("t0", "more", turn_id="t1")
        with pytest.raises(StoreUnavailableError) as raised:
            await store.append("a", "t0", second)
        assert isinstance(raised.value.__cause__, sa.exc.DBAPIError)
        with pytest.raises(StoreUnavailableError):
            await store.load("a")
        server.start()
        await store.append("a", "t0", second)
        assert [turn.id for turn in (await store.load("a")).turns] == ["t0", "t1"]


async def test_a_database_that_waits_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "_SECONDS", 0.05)
    path = tmp_path / "a.db"
    async with SqlStore(f"sqlite:///{path}") as store:
        await store.migrate()
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailableError, match="database is locked"):
                await store.append("a", None, turn_of(None, "q"))
            assert await store.load("a") == Conversation()
            other.execute("COMMIT")
        await store.append("a", None, turn_of(None, "q"))


async def test_ids_that_no_database_keeps_are_refused(url: str) -> None:
    async with SqlStore(url) as store:
        for text in ("a\0", "\ud800"):
            with pytest.raises(StoreError, match="an id is text"):
                await store.append(text, None, turn_of(None, "q"))
            with pytest.raises(StoreError, match="an id is text"):
                await store.append("a", None, turn_of(None, "q", turn_id=text))
            with pytest.raises(StoreError, match="an id is text"):
                await store.load(text)


@pytest.mark.parametrize("url", ["mysql://localhost/x", "sqlite://", "sqlite:///:memory:"])
async def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(StoreError):
        SqlStore(url)


# ---------------------------------------------------------------- tables


async def test_the_tables_are_those_that_the_store_reads(url: str) -> None:
    async with SqlStore(url) as store:
        await store.migrate()
        with store._engine.connect() as connection:
            context = MigrationContext.configure(
                connection,
                opts={
                    "version_table": "agentcore_version",
                    "compare_type": True,
                    "include_name": lambda name, kind, _: (
                        kind != "table" or str(name).startswith("agentcore_")
                    ),
                },
            )
            assert compare_metadata(context, sql._META) == []


async def test_stores_that_begin_at_once_make_the_tables_once(url: str) -> None:
    stores = [SqlStore(url) for _ in range(6)]
    async with anyio.create_task_group() as group:
        for store in stores:
            group.start_soon(store.migrate)
    for number, store in enumerate(stores):
        await store.append(str(number), None, turn_of(None, "hi"))
        await store.aclose()


async def test_a_store_that_does_not_migrate_says_what_to_do(url: str) -> None:
    async with SqlStore(url, migrate=False) as store:
        with pytest.raises(StoreVersionError, match=r"has no tables, not 1; call migrate\(\)") as raised:
            await store.load("a")
        assert raised.value.found is None
        await store.migrate()
        await store.migrate()
        assert await store.load("a") == Conversation()


async def test_tables_of_a_newer_version_are_left_alone(url: str) -> None:
    async with SqlStore(url) as store:
        await store.migrate()
        with store._engine.begin() as connection:
            connection.exec_driver_sql("UPDATE agentcore_version SET version_num = '99'")
    async with SqlStore(url) as newer:
        with pytest.raises(StoreVersionError) as raised:
            await newer.append("a", None, turn_of(None, "x"))
        assert raised.value.found == "99"


async def test_rows_that_something_else_changed_are_told_with_their_place(url: str) -> None:
    async with SqlStore(url) as store:
        await appended(store, "a", ("hi",), ("and?",))
        messages, turns = sql._MESSAGES, sql._TURNS
        for table, body, path in (
            (messages, "{", "$.turns[1]"),
            (messages, "{}", "$.turns[1].id"),
            (turns, '{"messages": [5]}', "$.turns[1].messages[0]"),
            (turns, '{"messages": ["x"]}', "$.turns[1].messages[0]"),
            (turns, "[]", "$.turns[1]"),
        ):
            column, number = table.c.body, messages.c.turn if table is messages else turns.c.number
            with store._engine.begin() as connection:
                kept = connection.execute(sa.select(column).where(number == 1)).scalar_one()
                connection.execute(table.update().where(number == 1).values(body=body))
            with pytest.raises(InvalidConversationError) as raised:
                await store.load("a")
            assert raised.value.path == path
            with store._engine.begin() as connection:
                connection.execute(table.update().where(number == 1).values(body=kept))


def test_a_store_is_used_from_many_threads_and_event_loops(url: str) -> None:
    store = SqlStore(url)
    failures: list[BaseException] = []

    def work(backend: str, name: str) -> None:
        async def write() -> None:
            head = None
            for number in range(5):
                turn = turn_of(head, "q", turn_id=f"{name}{number}")
                await store.append(name, head, turn)
                head = turn.id

        try:
            anyio.run(write, backend=backend)
        except BaseException as error:  # noqa: BLE001 - shown below
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(backend, f"{backend}{n}"))
        for backend in ("asyncio", "trio")
        for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []

    async def check() -> None:
        async with store:
            assert [len(await store.load(f"trio{n}")) for n in range(3)] == [5, 5, 5]

    anyio.run(check)
