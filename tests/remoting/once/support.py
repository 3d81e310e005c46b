"""A shop's database, and the ways in which exactly-once consumption can be given it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy.orm import sessionmaker

from rocketwire.remoting.once import ExactlyOnce


@dataclass(frozen=True)
class Sent:
    """A message; two with equal ids are two deliveries of one message."""

    message_id: str
    topic: str = "Orders"
    properties: Mapping[str, str] = field(default_factory=dict)


class Shop:
    """An SQLite file with the table `sold`, whose rows are what messages do."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "shop.db"
        self.opened: list[sqlite3.Connection] = []
        self._own = sqlite3.connect(self.path, check_same_thread=False)
        self._own.execute("PRAGMA synchronous = OFF")
        self._own.execute("CREATE TABLE sold (item TEXT)")
        self._own.commit()

    def connect(self, **options: Any) -> sqlite3.Connection:
        """A new connection; the others wait for its locks, up to `timeout`."""
        connection: sqlite3.Connection = sqlite3.connect(self.path, **{"timeout": 60, **options})
        connection.execute("PRAGMA synchronous = OFF")
        self.opened.append(connection)
        return connection

    def engine(self, **options: Any) -> sqlalchemy.Engine:
        return sqlalchemy.create_engine(f"sqlite:///{self.path}", **options)

    def once(self, source: Any = None, **options: Any) -> ExactlyOnce:
        return ExactlyOnce(source or self.connect, **{"group": "orders", **options})

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query that sees what is committed."""
        found = self._own.execute(query).fetchall()
        self._own.rollback()
        return found

    @property
    def sold(self) -> list[str]:
        return [item for (item,) in self.rows("SELECT item FROM sold ORDER BY item")]

    @property
    def recorded(self) -> list[str]:
        return [key for (key,) in self.rows("SELECT message_key FROM rocketwire_once ORDER BY message_key")]

    def close(self) -> None:
        for connection in (self._own, *self.opened):
            try:
                connection.close()
            except sqlite3.ProgrammingError:
                continue  # another thread's


def sell(message: Sent, db: Any) -> str:
    """What the application does with a message, on any of the handles."""
    statement = "INSERT INTO sold VALUES (:item)"
    handle, text = (db, sqlalchemy.text(statement)) if hasattr(db, "get_transaction") else (db, statement)
    handle.execute(text, {"item": message.message_id})
    return f"sold {message.message_id}"


def selling(once: ExactlyOnce) -> Callable[[Sent], str | None]:
    """A function that has a message handled, and returns what `sell` did: None if it was not called."""

    def handle(message: Sent) -> str | None:
        results: list[str] = []

        def consume(message: Sent, db: Any) -> None:
            results.append(sell(message, db))

        assert once.handler(consume)(message) is None
        return results[0] if results else None

    return handle


def during(once: ExactlyOnce, message: Sent, *steps: Callable[[Any], object]) -> None:
    """Sell a message, and take these steps before the end of its transaction."""
    with once.transaction(message) as db:
        sell(message, db)
        for step in steps:
            step(db)


def fail(_: Any) -> None:
    """What goes wrong in the application."""
    raise ZeroDivisionError


SOURCES: Mapping[str, Callable[[Shop], Any]] = {
    "connections": lambda shop: shop.connect,
    "engine": lambda shop: shop.engine(),
    "sessions": lambda shop: sessionmaker(shop.engine()),
}
