"""What exactly-once consumption costs a message, on SQLite and on PostgreSQL.

`python -m bench.exactly_once` prints, for each database and way to it, the median time of a transaction that
inserts one row: alone, and with the record of a message; and the time to skip a message. The three take turns, for the
machine may be busy with something else. Every commit is synced to the disk.
"""

from __future__ import annotations

import contextlib
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg
import sqlalchemy
from sqlalchemy.orm import sessionmaker

from compat_tests.postgres import PostgreSQL
from rocketwire.remoting.once import ExactlyOnce
from rocketwire.wire.facts import properties as names

MESSAGES: Final = 2000
WARM_UP: Final = 200
Insert = Callable[[Any, str], object]


class Message(NamedTuple):
    """A message with as much as is looked at."""

    topic: str
    message_id: str
    properties: dict[str, str]


class Case(NamedTuple):
    """A way to a database: what `ExactlyOnce` takes, a transaction without it, and how to insert a row."""

    name: str
    source: Any
    alone: Callable[[], contextlib.AbstractContextManager[Any]]
    insert: Insert


def committed(connection: Any) -> Callable[[], contextlib.AbstractContextManager[Any]]:  # noqa: ANN401 - of any driver
    """A transaction on a driver's connection."""

    @contextlib.contextmanager
    def transaction() -> Iterator[Any]:
        yield connection
        connection.commit()

    return transaction


def cases(sqlite: Path, dsn: str) -> Iterator[Case]:
    """All that are measured."""
    text = sqlalchemy.text("INSERT INTO sold VALUES (:item)")

    def insert(db: Any, item: str) -> object:  # noqa: ANN401 - of any driver
        return db.execute(text, {"item": item})

    def of_driver(mark: str) -> Insert:
        return lambda db, item: db.execute(f"INSERT INTO sold VALUES ({mark})", (item,))

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(sqlite)

    yield Case("SQLite, sqlite3", connect, committed(connect()), of_driver("?"))
    engine = sqlalchemy.create_engine(f"sqlite:///{sqlite}")
    yield Case("SQLite, engine", engine, engine.begin, insert)
    yield Case("SQLite, sessions", sessionmaker(engine), sessionmaker(engine).begin, insert)
    with psycopg.connect(dsn) as own:
        yield Case("PostgreSQL, psycopg", lambda: psycopg.connect(dsn), committed(own), of_driver("%s"))
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))
    yield Case("PostgreSQL, engine", engine, engine.begin, insert)
    yield Case("PostgreSQL, sessions", sessionmaker(engine), sessionmaker(engine).begin, insert)
    engine.dispose()


def measured(case: Case) -> Iterator[float]:
    """Median microseconds: alone, once, skipped."""
    once = ExactlyOnce(case.source, group=case.name)
    handle = once.handler(lambda message, db: case.insert(db, message.message_id))

    def alone(item: str) -> None:
        with case.alone() as db:
            case.insert(db, item)

    def deliver(item: str) -> None:
        handle(Message("Sales", item, {names.UNIQ_KEY: item}))

    steps = (alone, deliver, deliver)  # the second delivery is skipped
    times: list[list[int]] = [[] for _ in steps]
    for number in range(MESSAGES + WARM_UP):
        for step, taken in zip(steps, times, strict=True):
            start = time.perf_counter_ns()
            step(f"item {number}")
            taken.append(time.perf_counter_ns() - start)
    once.close()
    return (statistics.median(taken[WARM_UP:]) / 1000 for taken in times)


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=Path.cwd() / "build") as folder, PostgreSQL() as server:
        sqlite = Path(folder) / "shop.db"
        for connect in (lambda: sqlite3.connect(sqlite), lambda: psycopg.connect(server.dsn)):
            with contextlib.closing(connect()) as db:
                db.execute("CREATE TABLE sold (item VARCHAR(100))")
                db.commit()
        print("| | alone | once | skipped |\n| --- | --- | --- | --- |")
        for case in cases(sqlite, server.dsn):
            print(f"| {case.name} | " + " | ".join(f"{each:.0f} µs" for each in measured(case)) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
