"""SQLAlchemy's engines and session makers; imported only where the application has loaded SQLAlchemy."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Connection, Engine, TextClause, event, text
from sqlalchemy.orm import Session, sessionmaker

from rocketwire.remoting.once.database import NO_VALUES, Values
from rocketwire.remoting.once.errors import TransactionOpen, TransactionOwned

SOURCES: Final = (Engine, sessionmaker)
_BEGIN_AT_ONCE: Final = text("BEGIN IMMEDIATE")


class AlchemyDatabase:
    """Transactions on connections of an engine's pool, or in new sessions of a session maker."""

    def __init__(self, source: Engine | sessionmaker[Any]) -> None:
        self._source = source
        self._open = threading.local()
        self.tested = False

    def begin(self) -> AlchemyWork:
        """Begin a transaction on a connection from the pool, or in a new session."""
        if getattr(self._open, "work", None) is not None:
            raise TransactionOpen
        handle = self._source.connect() if isinstance(self._source, Engine) else self._source()
        self._open.work = work = AlchemyWork(handle, self._open)
        return work

    def close(self) -> None:
        """Close nothing: engine and pool are the application's."""


class AlchemyWork:
    """A transaction of a connection or a session."""

    def __init__(self, handle: Connection | Session, thread: threading.local) -> None:
        self.handle: Connection | Session = handle
        self._thread = thread
        self._root: object = None
        self._may_commit = False

    def run(self, statement: str, values: Values = NO_VALUES) -> Sequence[object]:
        """The rows of a statement, none if it returns none."""
        if self._root is None:
            self._begin()
        result = self.handle.execute(_text(statement), dict(values))
        # A session's execute is declared to give less than it gives.
        return result.all() if result.returns_rows else ()  # type: ignore[attr-defined]

    def _begin(self) -> None:
        self._root = self.handle.begin()
        if isinstance(self.handle, Session):
            connection, before_commit = self.handle.connection(), "before_commit"
        else:
            connection, before_commit = self.handle, "commit"
        event.listen(self.handle, before_commit, self._committing)
        driver = connection.connection.dbapi_connection
        if connection.dialect.name == "sqlite" and not getattr(driver, "in_transaction", True):
            connection.execute(_BEGIN_AT_ONCE)

    def _committing(self, handle: Connection | Session) -> None:
        """Before every commit: only this object may. Sessions call it at the end of savepoints too: those are fine."""
        if not self._may_commit and not (isinstance(handle, Session) and handle.in_nested_transaction()):
            raise TransactionOwned("commit")

    @property
    def ended(self) -> bool:
        """Whether the transaction is no longer the handle's."""
        return self.handle.get_transaction() is not self._root

    def commit(self) -> None:
        """Commit."""
        self._may_commit = True
        self.handle.commit()
        self._over()

    def abandon(self, error: BaseException | None = None) -> bool:
        """Roll back; whether `error` means that the connection is lost, which the pool replaces then."""
        with contextlib.suppress(Exception):  # the pool gets rid of a connection that cannot even roll back
            self.handle.rollback()
        self._over()
        return not getattr(error, "connection_invalidated", False)

    def _over(self) -> None:
        self._thread.work = None
        with contextlib.suppress(Exception):
            self.handle.close()


@lru_cache
def _text(statement: str) -> TextClause:
    return text(statement)
