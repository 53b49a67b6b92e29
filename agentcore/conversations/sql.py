"""Conversations in SQLite or PostgreSQL: a row for each turn and for each message, none ever written again.

An append is one transaction that holds the conversation's row (SQLite: the database's write lock) from the
moment it reads the head: so writers queue, and whoever comes second sees the head of the first. A process
that dies leaves what was there before, or the whole turn.

The database is worked on in threads. A cancelled call waits for the thread, so that it has either happened or
not when the cancellation goes on.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib.resources import files
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeVar, cast

import anyio
import sqlalchemy as sa
import tenacity
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from anyio.lowlevel import RunVar
from sqlalchemy import exc
from sqlalchemy.dialects import postgresql, sqlite

from agentcore.conversations.conversation import (
    Conversation,
    Turn,
    TurnMessage,
    check_messages,
    context_length,
)
from agentcore.conversations.saved import message_fields, read_message_fields, read_turn_fields, turn_fields
from agentcore.conversations.stores import (
    StoreError,
    StoreUnavailableError,
    StoreVersionError,
    TurnConflictError,
    check_head,
)
from agentcore.errors import InvalidConversationError, InvalidJsonError, NotInConversationError
from agentcore.messages.values import JsonValue, dump_json, json_path, parse_json

__all__ = ["SqlStore"]

_T = TypeVar("_T")

# ---------------------------------------------------------------- tables, as the migrations make them

_META: Final = sa.MetaData()
_KEY: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_CONVERSATIONS: Final = sa.Table(
    "agentcore_conversations",
    _META,
    sa.Column("key", _KEY, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text(), nullable=False, unique=True),
    sa.Column("head", sa.Text()),
    sa.Column("turns", sa.Integer(), nullable=False),
)
_TURNS: Final = sa.Table(
    "agentcore_turns",
    _META,
    sa.Column("conversation", _KEY, sa.ForeignKey("agentcore_conversations.key"), primary_key=True),
    sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text(), nullable=False),
    sa.Column("parent", sa.Text()),
    # Of the context after the turn: what the places in the next turn's context are among.
    sa.Column("context_length", sa.BigInteger(), nullable=False),
    sa.Column("body", sa.Text(), nullable=False),
    sa.UniqueConstraint("conversation", "id"),
)
_MESSAGES: Final = sa.Table(
    "agentcore_messages",
    _META,
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
_VERSION_TABLE: Final = "agentcore_version"

_INSERTS: Final[Mapping[str, Any]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}
# Any number, by which processes agree on who brings the tables up to date.
_MIGRATION_LOCK: Final = 7_166_392_158_027
_SECONDS: Final = 30
_CONNECTIONS: Final = 8
# Databases limit how many values a statement may have.
_AT_ONCE: Final = 1000
# Fields of a turn that have columns of their own.
_COLUMNS: Final = ("id", "parent")
# Alembic keeps what it is working on in its modules.
_MIGRATING: Final = threading.Lock()


class _Row(NamedTuple):
    """The row of a conversation."""

    key: int
    head: str | None
    turns: int


# ---------------------------------------------------------------- the store


class SqlStore:
    """Keeps conversations in SQLite or PostgreSQL; may be used by many tasks, threads and event loops.

    Args:
        url: of the database, such as `sqlite:///chat.db` or `postgresql://user@host/name`, as SQLAlchemy
            takes it. PostgreSQL is reached through psycopg, unless the URL names another driver.
        migrate: whether the first use makes the tables, or brings them up to date; `migrate()` does so in
            any case.
        connections: how many at once, and so how many threads.

    Raises:
        StoreError: for another database, or SQLite in memory, which each connection has for itself.
    """

    def __init__(self, url: str | sa.URL, *, migrate: bool = True, connections: int = _CONNECTIONS) -> None:
        self._engine = _engine_of(sa.make_url(url), connections)
        self._migrates = migrate
        self._is_ready = False
        self._limiter: RunVar[anyio.CapacityLimiter] = RunVar(f"agentcore_store_{uuid.uuid4().hex}")
        self._connections = connections
        is_sqlite = self._engine.dialect.name == "sqlite"
        self._writer = self._engine.execution_options(agentcore_writes=True)
        # So that all that is read is of one moment, which it is in SQLite.
        isolation = {} if is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._reader = self._engine.execution_options(**isolation)
        # SQLite has one writer; whoever waits for it here waits in turn, and does not poll.
        self._writing: AbstractContextManager[object] = threading.Lock() if is_sqlite else nullcontext()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; a store that is used again opens new ones."""
        await self._in_thread(self._engine.dispose)

    async def migrate(self) -> None:
        """Make the tables, or bring them up to date, in one transaction; those that are so stay as they are.

        Raises:
            StoreVersionError: if a newer version of the package made the tables.
            StoreUnavailableError: if the database does not answer.
        """
        await self._in_thread(self._migrate)

    async def load(self, conversation_id: str) -> Conversation:
        """Return the conversation (`ConversationStore.load`).

        Raises:
            InvalidConversationError: if something else has changed the rows, with the place.
        """
        _check_ids(conversation_id)
        return await self._in_thread(partial(self._read, partial(_load, conversation_id=conversation_id)))

    async def append(self, conversation_id: str, expected_head: str | None, turn: Turn) -> None:
        """Store a turn, or raise (`ConversationStore.append`)."""
        _check_ids(conversation_id, turn.id, *(one.id for one in turn.own))
        work = partial(_append, conversation_id=conversation_id, expected=expected_head, turn=turn)
        await self._in_thread(partial(self._write, work))

    async def move(self, conversation_id: str, expected_head: str | None, head: str | None) -> None:
        """Make another turn the head, or raise (`ConversationStore.move`)."""
        _check_ids(conversation_id)
        work = partial(_move, conversation_id=conversation_id, expected=expected_head, head=head)
        await self._in_thread(partial(self._write, work))

    async def delete(self, conversation_id: str) -> None:
        """Delete the conversation (`ConversationStore.delete`)."""
        _check_ids(conversation_id)
        await self._in_thread(partial(self._write, partial(_delete, conversation_id=conversation_id)))

    # ------------------------------------------------------------ threads and transactions

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        try:
            limiter = self._limiter.get()
        except LookupError:
            limiter = anyio.CapacityLimiter(self._connections)
            self._limiter.set(limiter)
        return await anyio.to_thread.run_sync(partial(_translated, work), limiter=limiter)

    def _read(self, work: Callable[[sa.Connection], _T]) -> _T:
        self._make_ready()
        with self._reader.begin() as connection:
            return work(connection)

    def _write(self, work: Callable[[sa.Connection], _T]) -> _T:
        self._make_ready()
        with self._writing, self._writer.begin() as connection:
            return work(connection)

    def _make_ready(self) -> None:
        if self._is_ready:
            return
        # Read first: a store that only reads waits for no writer.
        with self._reader.begin() as connection:
            found = _check_version(connection)
        if found != _newest():
            if not self._migrates:
                raise StoreVersionError(found, f"{_of(found)}, not {_newest()}; call migrate() once")
            self._migrate()
        self._is_ready = True

    def _migrate(self) -> None:
        config = Config()
        config.set_main_option("script_location", _scripts().replace("%", "%%"))
        with _MIGRATING, self._writing, self._writer.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            if _check_version(connection) != _newest():
                config.attributes["connection"] = connection
                command.upgrade(config, "head")


# ---------------------------------------------------------------- the database


def _engine_of(url: sa.URL, connections: int) -> sa.Engine:
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    kind = url.get_backend_name()
    if kind not in _INSERTS:
        raise StoreError(f"conversations are kept in SQLite or PostgreSQL, not in {kind}")
    if kind == "sqlite" and url.database in (None, "", ":memory:"):
        raise StoreError("a SQLite database in memory is of one connection; give a file, or use MemoryStore")
    engine = sa.create_engine(
        url, pool_size=connections, max_overflow=0, pool_timeout=_SECONDS, pool_pre_ping=kind != "sqlite"
    )
    if kind == "sqlite":
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: object) -> None:
    # Transactions are begun by _begin_sqlite: the driver begins them too late, after the first read.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {_SECONDS * 1000}")
    _use_write_ahead_log(connection)
    # A turn that was reported as stored is on the disk, also after a loss of power.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


@tenacity.retry(
    # Of processes that open a new file at once, SQLite lets all but one fail without waiting.
    retry=tenacity.retry_if_exception_message(match="database is locked"),
    stop=tenacity.stop_after_delay(_SECONDS),
    wait=tenacity.wait_random(0.005, 0.05),
    reraise=True,
)
def _use_write_ahead_log(connection: Any) -> None:
    connection.execute("PRAGMA journal_mode = WAL")


def _begin_sqlite(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("agentcore_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _translated(work: Callable[[], _T]) -> _T:
    try:
        return work()
    except exc.TimeoutError as error:
        raise StoreUnavailableError(f"no connection within {_SECONDS} seconds") from error
    except exc.DBAPIError as error:
        kind = StoreUnavailableError if _may_pass(error) else StoreError
        raise kind(f"the database says: {error.orig}") from error


def _may_pass(error: exc.DBAPIError) -> bool:
    return error.connection_invalidated or isinstance(error, exc.OperationalError | exc.InterfaceError)


def _scripts() -> str:
    return str(files("agentcore.conversations").joinpath("migrations"))


def _newest() -> str:
    return cast("str", ScriptDirectory(_scripts()).get_current_head())


def _check_version(connection: sa.Connection) -> str | None:
    """The version of the tables, None without any. Raises StoreVersionError for one that is not known."""
    context = MigrationContext.configure(connection, opts={"version_table": _VERSION_TABLE})
    found = context.get_current_revision()
    known = {script.revision for script in ScriptDirectory(_scripts()).walk_revisions()}
    if found is not None and found not in known:
        raise StoreVersionError(found, f"{_of(found)}, which a newer version of the package has made")
    return found


def _of(found: str | None) -> str:
    return "the database has no tables" if found is None else f"the tables are of version {found}"


def _check_ids(conversation_id: str, *others: str) -> None:
    """Raise StoreError for an id that a database cannot keep."""
    for text in (conversation_id, *others):
        if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            reason = f"an id is text without the character 0 and lone surrogates, unlike {text!r}"
            raise StoreError(reason, conversation_id)


# ---------------------------------------------------------------- inside a transaction


def _row_of(connection: sa.Connection, conversation_id: str) -> _Row | None:
    """The row of the conversation, which is held to the end of a transaction that writes."""
    columns = _CONVERSATIONS.c
    wanted = sa.select(columns.key, columns.head, columns.turns).where(columns.id == conversation_id)
    if connection.get_execution_options().get("agentcore_writes", False):
        wanted = wanted.with_for_update()
    found = connection.execute(wanted).one_or_none()
    return None if found is None else _Row(*found)


def _append(connection: sa.Connection, *, conversation_id: str, expected: str | None, turn: Turn) -> None:
    row = _row_of(connection, conversation_id)
    while row is None:  # again, if somebody deletes it in between
        insert = _INSERTS[connection.dialect.name](_CONVERSATIONS)
        connection.execute(insert.values(id=conversation_id, turns=0).on_conflict_do_nothing())
        row = _row_of(connection, conversation_id)
    own = {one.id: place for place, one in enumerate(turn.own)}
    bodies = [dump_json(message_fields(one)) for one in turn.own]
    body = _turn_body(turn, own)
    stored = _stored(connection, row, turn.id)
    if stored is not None:
        if stored != (turn.parent, body, bodies):
            raise TurnConflictError(conversation_id, turn.id)
        return
    check_head(conversation_id, expected, row.head)
    length = _checked_length(connection, row, turn)
    fields = {"id": turn.id, "parent": turn.parent, "context_length": length, "body": body}
    connection.execute(_TURNS.insert(), {"conversation": row.key, "number": row.turns, **fields})
    messages = [
        {"conversation": row.key, "turn": row.turns, "place": place, "id": each, "body": bodies[place]}
        for each, place in own.items()
    ]
    if messages:
        connection.execute(_MESSAGES.insert(), messages)
    _update(connection, row, head=turn.id, turns=row.turns + 1)


def _update(connection: sa.Connection, row: _Row, **fields: object) -> None:
    connection.execute(_CONVERSATIONS.update().where(_CONVERSATIONS.c.key == row.key).values(**fields))


def _turn_body(turn: Turn, own: Mapping[str, int]) -> str:
    """The turn without what columns have; its own messages by their places, those of others by their ids."""

    def reference(one: TurnMessage) -> JsonValue:
        return own[one.id] if one.turn == turn.id else one.id

    fields = turn_fields(turn, reference)
    return dump_json({name: value for name, value in fields.items() if name not in _COLUMNS})


def _stored(
    connection: sa.Connection, row: _Row, turn_id: str
) -> tuple[str | None, str, Sequence[str]] | None:
    """Return the rows of a turn: its parent, its body and the bodies of its messages."""
    turns, messages = _TURNS.c, _MESSAGES.c
    wanted = sa.select(turns.number, turns.parent, turns.body)
    found = connection.execute(wanted.where(turns.conversation == row.key, turns.id == turn_id)).one_or_none()
    if found is None:
        return None
    number, parent, body = found
    of_turn = sa.select(messages.body).where(messages.conversation == row.key, messages.turn == number)
    return parent, body, [*connection.execute(of_turn.order_by(messages.place)).scalars()]


def _checked_length(connection: sa.Connection, row: _Row, turn: Turn) -> int:
    """The length of the context after the turn. Raises InvalidConversationError if the turn does not fit."""
    before = 0
    if turn.parent is not None:
        turns = _TURNS.c
        wanted = sa.select(turns.context_length).where(turns.conversation == row.key, turns.id == turn.parent)
        found = connection.execute(wanted).scalar_one_or_none()
        if found is None:
            raise InvalidConversationError("$.parent", f"there is no turn {turn.parent!r} before this one")
        before = found
    known = {one.id: one for one in _messages_of(connection, row, {each.id for each in turn.all_messages})}
    check_messages(turn, known.get)
    return context_length(before, turn)


def _messages_of(connection: sa.Connection, row: _Row, ids: Iterable[str]) -> Iterator[TurnMessage]:
    """Return those of these messages that are stored."""
    turns, messages = _TURNS.c, _MESSAGES.c
    joined = _MESSAGES.join(
        _TURNS, (turns.conversation == messages.conversation) & (turns.number == messages.turn)
    )
    wanted = sa.select(turns.id, messages.body).select_from(joined).where(messages.conversation == row.key)
    left = sorted(ids)
    for first in range(0, len(left), _AT_ONCE):
        some = messages.id.in_(left[first : first + _AT_ONCE])
        for turn_id, body in connection.execute(wanted.where(some)):
            yield read_message_fields(parse_json(body), turn_id)


def _move(connection: sa.Connection, *, conversation_id: str, expected: str | None, head: str | None) -> None:
    row = _row_of(connection, conversation_id)
    check_head(conversation_id, expected, None if row is None else row.head)
    if head is not None and (row is None or _stored(connection, row, head) is None):
        raise NotInConversationError("turn", head)
    if row is not None:
        _update(connection, row, head=head)


def _delete(connection: sa.Connection, *, conversation_id: str) -> None:
    row = _row_of(connection, conversation_id)
    if row is not None:
        for table in (_MESSAGES, _TURNS):
            connection.execute(table.delete().where(table.c.conversation == row.key))
        connection.execute(_CONVERSATIONS.delete().where(_CONVERSATIONS.c.key == row.key))


# ---------------------------------------------------------------- what is read


def _load(connection: sa.Connection, *, conversation_id: str) -> Conversation:
    row = _row_of(connection, conversation_id)
    if row is None:
        return Conversation()
    turns, messages = _TURNS.c, _MESSAGES.c
    of_turns = sa.select(turns.id, turns.parent, turns.body).where(turns.conversation == row.key)
    of_messages = sa.select(messages.turn, messages.body).where(messages.conversation == row.key)
    bodies: dict[int, list[str]] = {}
    for number, body in connection.execute(of_messages.order_by(messages.turn, messages.place)):
        bodies.setdefault(number, []).append(body)
    reader = _Reader()
    found = connection.execute(of_turns.order_by(turns.number)).all()
    read = [reader.turn(number, bodies.get(number, ()), *each) for number, each in enumerate(found)]
    return Conversation(turns=read, head=row.head)


class _Reader:
    """Makes turns of their rows, in their order."""

    def __init__(self) -> None:
        self._known: dict[str, TurnMessage] = {}

    def turn(self, number: int, bodies: Sequence[str], turn_id: str, parent: str | None, body: str) -> Turn:
        try:
            own = [read_message_fields(parse_json(each), turn_id) for each in bodies]
            self._known.update((one.id, one) for one in own)
            fields = parse_json(body)
            if isinstance(fields, dict):
                fields |= {"id": turn_id} if parent is None else {"id": turn_id, "parent": parent}
            return read_turn_fields(fields, lambda reference, _: self._found(reference, own))
        except (InvalidConversationError, InvalidJsonError) as error:
            raise InvalidConversationError(
                json_path("$.turns", number) + error.path.removeprefix("$"), error.reason
            ) from None

    def _found(self, reference: object, own: Sequence[TurnMessage]) -> TurnMessage:
        if isinstance(reference, str) and reference in self._known:
            return self._known[reference]
        if type(reference) is int and 0 <= reference < len(own):
            return own[reference]
        raise InvalidConversationError("$", "no turn up to this one has such a message")
