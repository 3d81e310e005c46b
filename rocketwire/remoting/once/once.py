"""Each message changes the database once, however often it is delivered.

A message's transaction begins with the insertion of its record, whose key is unique. So of two consumers that have
the same message at the same time the second one waits at this insertion; when the first one commits, the insertion
fails and the message is skipped; when the first one rolls back, the second one does the work. What the application
raises rolls back both, and so does a killed process: the message is delivered again and finds no record.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from rocketwire.remoting.clock import Clock, system_clock
from rocketwire.remoting.messages import Later
from rocketwire.remoting.once.database import Database, Work, breaks_uniqueness
from rocketwire.remoting.once.dbapi import DbApiConnection, DbApiDatabase
from rocketwire.remoting.once.errors import SettingInvalid, TransactionEnded
from rocketwire.remoting.once.keys import DeliveredMessage, unique_key
from rocketwire.remoting.once.records import Cleaner, ConsumedRecord, ConsumedRecords

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.orm import sessionmaker

KEEP_SECONDS: Final = 4 * 24 * 3600
"""A day longer than brokers keep messages if nothing else is set."""
TABLE: Final = "rocketwire_once"

Message = TypeVar("Message", bound=DeliveredMessage)


class ExactlyOnce:
    """Exactly-once consumption of one consumer group with one database; any thread may use it.

    Raises:
        SettingInvalid: here and in `transaction`: an argument cannot be used.
    """

    def __init__(
        self,
        source: Callable[[], DbApiConnection] | Engine | sessionmaker[Any],
        *,
        group: str,
        key: Callable[[Any], str] = unique_key,
        table: str = TABLE,
        keep_seconds: float | None = KEEP_SECONDS,
        paramstyle: str | None = None,
        clock: Clock = system_clock,
    ) -> None:
        """Take the source of transactions, and how messages are identified; nothing is connected yet.

        Args:
            source: A function that opens a connection of a DB-API 2 driver, called once in each thread; or an engine or
                a session maker of SQLAlchemy.
            group: The consumer group. Each group consumes every message once.
            key: What is the same in all deliveries of a message, and in no other message. A key of the application,
                such as an order's number, also covers messages that were sent twice on purpose or after a failure.
            table: The table of the records, made when there is none.
            keep_seconds: How long records are kept, None: without end. A message that is delivered again later than
                that counts as a new one.
            paramstyle: The driver's, for connections wrapped in a class of another module.
            clock: The time in milliseconds since the epoch.
        """
        self._group = group
        self._key = key
        self._clock = clock
        self._database = _database_of(source, paramstyle)
        self._records = ConsumedRecords(self._database, table)
        self._cleaner = None if keep_seconds is None else Cleaner(self._records, group, int(keep_seconds * 1000), clock)

    def __enter__(self) -> Self:
        """Close at the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Close the DB-API connections of all threads, which must be done with them."""
        self._database.close()

    def handler(self, consume: Callable[[Message, Any], object]) -> Callable[[Message], Later | None]:
        """A consumer's handler: it calls `consume(message, db)` in the message's transaction, unless that is done.

        When `consume` returns a `Later`, the message will be redelivered: its transaction is rolled back, and the
        handler returns it, too. What `consume` returns otherwise is of no account: the message is consumed.
        """

        def handle(message: Message) -> Later | None:
            try:
                with self.transaction(message) as db:
                    if db is not None:
                        _raise_if_later(consume(message, db))
            except _PutOff as put_off:
                return put_off.until
            return None

        return handle

    @contextlib.contextmanager
    def transaction(self, message: DeliveredMessage) -> Iterator[Any]:
        """A connection or session in the message's transaction, None if the message is done already.

        The end of the `with` commits; an exception in it rolls back. If the consumer then does not acknowledge the
        message, it is delivered again, and is tried again or skipped, as it should be. So nothing needs to be caught:
        not deadlocks, failed serialisations, a busy SQLite or lost connections either.

        Raises:
            NotTransactional: the connections commit each statement (autocommit).
            TransactionOpen: this thread is in the transaction of another message.
            TransactionEnded: the application, or an error that it caught, ended the transaction.
        """
        record = ConsumedRecord(self._group, self._key_of(message), self._clock())
        work = self._begin(record)
        if work is None:
            yield None
            return
        try:
            yield work.handle
            self._check(work, record)
            work.commit()
        except BaseException as error:
            work.abandon(error)
            raise
        if self._cleaner is not None:
            self._cleaner.after_message()

    def _key_of(self, message: DeliveredMessage) -> str:
        key: object = self._key(message)
        if not isinstance(key, str) or not key:
            raise SettingInvalid(f"key: {key!r} is not a text of at least one character")
        return key

    def _check(self, work: Work, record: ConsumedRecord) -> None:
        """Make sure that the record is still in the transaction, and that this can be committed.

        An error that the application caught may have rolled back everything: of a deadlock MySQL does that, and what
        the application does then is in a new transaction. After one PostgreSQL turns the commit into a rollback without
        a word, but refuses this query.
        """
        if work.ended or not work.run(self._records.find, record.place()):
            raise TransactionEnded

    def _begin(self, record: ConsumedRecord) -> Work | None:
        """A transaction that has inserted the record, None if a committed one exists.

        A connection may have died since its last use. Nothing of the application has happened yet, so it is tried
        once more with another one.
        """
        try:
            return self._try_begin(record)
        except _ConnectionLost:
            pass
        try:
            return self._try_begin(record)
        except _ConnectionLost as lost:
            raise lost.error from None

    def _try_begin(self, record: ConsumedRecord) -> Work | None:
        if not self._database.tested:
            self._records.prepare(record.group, record.done_at)
            self._database.tested = True
        work = self._database.begin()
        try:
            work.run(self._records.add, record.values())
        except Exception as error:
            if not work.abandon(error):
                raise _ConnectionLost(error) from error
            if breaks_uniqueness(error) and self._records.has(record):
                return None
            raise
        except BaseException as error:
            work.abandon(error)
            raise
        return work


class _PutOff(Exception):
    """The application wants the message later."""

    def __init__(self, until: Later) -> None:
        super().__init__()
        self.until = until


def _raise_if_later(result: object) -> None:
    """Roll back by an error that only the handler sees."""
    if isinstance(result, Later):
        raise _PutOff(result)


class _ConnectionLost(Exception):
    """The connection broke before the application got it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _database_of(source: Any, paramstyle: str | None) -> Database:  # noqa: ANN401 - what users hand in
    """The kind of database that a source is of."""
    if "sqlalchemy" in sys.modules:
        from rocketwire.remoting.once import alchemy

        if isinstance(source, alchemy.SOURCES):
            return alchemy.AlchemyDatabase(source)
    if not callable(source):
        raise SettingInvalid(
            f"source {source!r}: give a function that opens a connection, an engine or a session maker"
        )
    return DbApiDatabase(source, paramstyle)
