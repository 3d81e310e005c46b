"""Consumers that are killed again and again, and get every message twice and more: each changes the database once.

On rocketwire and Apache's broker, with SQLite and a real PostgreSQL.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.orm import sessionmaker

from compat_tests.endpoints import TARGETS
from compat_tests.once_member import connect
from compat_tests.postgres import PostgreSQL
from compat_tests.readme import ROOT
from compat_tests.remoting import Connection, max_offset
from compat_tests.store_traffic import BATCH, create_topic, send_all_kinds
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.brokers.processes import READY_WITHIN, Process
from rocketwire.remoting.once import ExactlyOnce, NotTransactional

ENDPOINTS: Final = ("rocketwire", "apache-4.9.7")
QUEUES: Final = 2
ROUNDS: Final = 8
MESSAGES: Final = 40  # in a round, and a batch for each queue
STOCK: Final = 1_000_000
DONE_WITHIN: Final = 120.0
QUERY_CONSUMER_OFFSET: Final = 14
WAITING: Final = "SELECT count(*) FROM pg_locks WHERE NOT granted"
END_MEMBERS: Final = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'member'"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgreSQL]:
    with PostgreSQL() as server:
        yield server


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with running(TARGETS[request.param](tmp_path_factory.mktemp("endpoint"))) as started:
        yield started


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with stock and nothing sold, as the member takes it."""
    kind: str = request.param
    where = tmp_path / "shop.db" if kind == "sqlite" else request.getfixturevalue("postgres").dsn
    name = f"{kind}:{where}"
    with contextlib.closing(connect(name)[0]()) as db:
        for statement in (
            "DROP TABLE IF EXISTS stock",
            "DROP TABLE IF EXISTS sold",
            "DROP TABLE IF EXISTS rocketwire_once",
            "CREATE TABLE stock (left_over INTEGER)",
            f"INSERT INTO stock VALUES ({STOCK})",
            "CREATE TABLE sold (message_id VARCHAR(100))",
        ):
            db.execute(statement)
        db.commit()
    return name


class Members:
    """Two consumers of all queues; a killed one is followed by another one."""

    def __init__(self, *options: str) -> None:
        self._command = [sys.executable, "-m", "compat_tests.once_member", *options]
        self.processes = [self._start(), self._start()]

    def _start(self, *options: str) -> Process:
        return Process("member", [*self._command, *options], cwd=ROOT, env=os.environ)

    def kill(self, number: int, *options: str) -> None:
        """Kill one by its process id, once it consumes, and start another one."""
        self.processes[number].wait_for("consuming", within=READY_WITHIN)
        self.end(number)
        self.processes[number] = self._start(*options)

    def end(self, number: int) -> None:
        """Kill one."""
        assert self.processes[number].running, self.processes[number].tail()
        assert self.processes[number].stop(signal.SIGKILL) == -signal.SIGKILL

    def dies(self, number: int, send: Callable[[], object]) -> None:
        """Send until one has killed itself, and start another one."""
        end = time.monotonic() + DONE_WITHIN
        while self.processes[number].running:
            assert time.monotonic() < end, self.processes[number].tail()
            send()
            time.sleep(0.05)
        assert self.processes[number].stop() == -signal.SIGKILL, self.processes[number].tail()
        self.processes[number] = self._start()


def consumed(broker: str, topic: str, group: str) -> bool:
    """Whether the group's offsets are the ends of the queues."""
    with Connection(broker) as connection:
        for queue in range(QUEUES):
            fields: dict[str, str | int] = {"consumerGroup": group, "topic": topic, "queueId": queue}
            answer = connection.ask(QUERY_CONSUMER_OFFSET, fields)
            if answer.code != 0 or int(answer.fields["offset"]) < max_offset(broker, topic, queue):
                return False
    return True


def eventually(condition: Callable[[], bool], members: Members) -> None:
    wait_until(condition, lambda: [process.tail() for process in members.processes])


def rows(database: str, query: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(connect(database)[0]()) as db:
        found: list[tuple[Any, ...]] = db.execute(query).fetchall()
        return found


@pytest.mark.parametrize(
    ("broker", "options"),
    [*((name, ()) for name in ENDPOINTS), ("rocketwire", ("--everything",))],
    ids=[*ENDPOINTS, "rocketwire-everything"],
    indirect=["broker"],
)
def test_killed_consumers_sell_each_item_once(
    broker: Endpoint, options: tuple[str, ...], database: str, unique: Callable[[str], str]
) -> None:
    topic, group = unique("Sales"), unique("shop")
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    expected = set()
    with Connection(broker.broker) as connection:
        create_topic(connection, topic, QUEUES)
        arguments = ("--namesrv", broker.namesrv, "--topic", topic, "--group", group, "--database", database)
        members = Members(*arguments, *options)
        try:
            for number in range(ROUNDS):
                sent = send_all_kinds(connection, topic, f"round{number}", queues=QUEUES, count=MESSAGES)
                expected |= {each.unique_key for each in sent}
                time.sleep(chance.uniform(0, 0.4))
                members.kill(chance.randrange(2))
            for number in range(2):  # between the commit of the database and that of the offset, for certain
                members.kill(number, "--die-after", "3")
                # Sent before, with the same unique keys: what a producer does that got no answer.
                again = partial(send_all_kinds, connection, topic, "round0", queues=QUEUES, count=MESSAGES)
                members.dies(number, again)
            distinct = "SELECT count(DISTINCT message_id) FROM sold"
            eventually(lambda: rows(database, distinct) == [(len(expected),)], members)
            eventually(lambda: consumed(broker.broker, topic, group), members)
        finally:
            for process in members.processes:
                process.stop(signal.SIGKILL)
    assert len(expected) == ROUNDS * (MESSAGES + QUEUES * BATCH)
    sold = [message_id for (message_id,) in rows(database, "SELECT message_id FROM sold")]
    assert len(sold) == len(set(sold))
    assert set(sold) == expected
    assert rows(database, "SELECT left_over FROM stock") == [(STOCK - len(expected),)]
    assert {key for (key,) in rows(database, "SELECT message_key FROM rocketwire_once")} == expected


class Sold:
    """A message for the tests below, which need no broker."""

    topic = "Sales"

    def __init__(self, message_id: str) -> None:
        self.message_id = message_id
        self.properties: dict[str, str] = {}


@pytest.fixture
def shop(postgres: PostgreSQL) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres.dsn, autocommit=True) as own:
        own.execute("DROP TABLE IF EXISTS sold, rocketwire_once")
        own.execute("CREATE TABLE sold (message_id TEXT)")
        yield own


def insert(message: Sold, db: Any) -> str:  # noqa: ANN401 - of each driver
    db.execute("INSERT INTO sold VALUES (%s)", [message.message_id])
    return message.message_id


def inserted(once: ExactlyOnce, message: Sold, consume: Callable[[Sold, Any], str] = insert) -> str | None:
    """What the application did with a message; None for a skipped one."""
    results: list[str] = []

    def take(message: Sold, db: Any) -> None:  # noqa: ANN401 - of any driver
        results.append(consume(message, db))

    once.handler(take)(message)
    return results[0] if results else None


def test_the_second_one_waits_for_the_first(postgres: PostgreSQL, shop: psycopg.Connection[Any]) -> None:
    members = [ExactlyOnce(lambda: psycopg.connect(postgres.dsn), group="g") for _ in range(2)]
    with ThreadPoolExecutor(1) as pool:
        for commits in (False, True):
            with contextlib.suppress(ZeroDivisionError), members[0].transaction(Sold("A")) as db:
                insert(Sold("A"), db)
                second = pool.submit(inserted, members[1], Sold("A"))
                wait_until(lambda: shop.execute(WAITING).fetchone() == (1,))
                assert shop.execute("SELECT count(*) FROM sold").fetchone() == (0,)
                if not commits:
                    raise ZeroDivisionError
            assert second.result(DONE_WITHIN) == (None if commits else "A")
            assert shop.execute("SELECT count(*) FROM sold").fetchone() == (1,)
            shop.execute("TRUNCATE sold") if commits else shop.execute("TRUNCATE sold, rocketwire_once")
        pool.submit(members[1].close).result()
    members[0].close()


def test_a_lost_connection_is_replaced(postgres: PostgreSQL, shop: psycopg.Connection[Any]) -> None:
    once = ExactlyOnce(lambda: psycopg.connect(postgres.dsn, application_name="member"), group="g")
    inserted(once, Sold("A"))
    assert shop.execute(END_MEMBERS).fetchall() == [(True,)]
    assert inserted(once, Sold("A")) is None
    assert inserted(once, Sold("B")) == "B"

    def end_it(message: Sold, db: Any) -> None:  # noqa: ANN401 - of any driver
        insert(message, db)
        shop.execute(END_MEMBERS)

    with pytest.raises(psycopg.OperationalError):
        once.handler(end_it)(Sold("C"))
    assert inserted(once, Sold("C")) == "C"
    once.close()
    assert shop.execute("SELECT message_id FROM sold ORDER BY 1").fetchall() == [("A",), ("B",), ("C",)]


@pytest.mark.usefixtures("shop")
def test_work_behind_an_error_that_the_application_caught(postgres: PostgreSQL) -> None:
    def catch(message: Sold, db: Any) -> str:  # noqa: ANN401 - of any driver
        with pytest.raises(psycopg.errors.UndefinedTable):
            db.execute("INSERT INTO sole VALUES (1)")
        return message.message_id  # as if all were well: PostgreSQL's COMMIT would be a rollback without an error

    once = ExactlyOnce(lambda: psycopg.connect(postgres.dsn), group="g")
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        inserted(once, Sold("A"), catch)
    assert inserted(once, Sold("A")) == "A"
    once.close()


@pytest.mark.parametrize("kind", [sqlalchemy.create_engine, sessionmaker])
def test_through_sqlalchemy(postgres: PostgreSQL, shop: psycopg.Connection[Any], kind: Callable[..., Any]) -> None:
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(postgres.dsn, application_name="member")
    )
    once = ExactlyOnce(engine if kind is sqlalchemy.create_engine else sessionmaker(engine), group="g")

    def sell(message: Sold, db: Any) -> str:  # noqa: ANN401 - of any driver
        db.execute(sqlalchemy.text("INSERT INTO sold VALUES (:item)"), {"item": message.message_id})
        return message.message_id

    def sell_and_lose(message: Sold, db: Any) -> str:  # noqa: ANN401 - of any driver
        sell(message, db)
        shop.execute(END_MEMBERS)
        return message.message_id

    assert [inserted(once, Sold(each), sell) for each in "AAB"] == ["A", None, "B"]
    assert shop.execute(END_MEMBERS).fetchall() == [(True,)]
    assert [inserted(once, Sold(each), sell) for each in "BC"] == [None, "C"], "by a new connection"
    with pytest.raises(sqlalchemy.exc.OperationalError):
        inserted(once, Sold("D"), sell_and_lose)
    assert inserted(once, Sold("D"), sell) == "D"
    unsafe = engine.execution_options(isolation_level="AUTOCOMMIT")
    with pytest.raises(NotTransactional):
        inserted(ExactlyOnce(unsafe, group="g"), Sold("E"), sell)
    engine.dispose()
    assert shop.execute("SELECT message_id FROM sold ORDER BY 1").fetchall() == [(each,) for each in "ABCD"]


def test_autocommit_is_refused(postgres: PostgreSQL, shop: psycopg.Connection[Any]) -> None:
    once = ExactlyOnce(lambda: psycopg.connect(postgres.dsn, autocommit=True), group="g")
    with pytest.raises(NotTransactional):
        inserted(once, Sold("A"))
    once.close()
    assert shop.execute("SELECT count(*) FROM rocketwire_once").fetchone() == (0,)


def test_many_make_the_table_at_once_and_failed_serialisations_are_redelivered(
    postgres: PostgreSQL, shop: psycopg.Connection[Any]
) -> None:
    start = threading.Barrier(6)
    sold: list[str] = []

    def serializable() -> psycopg.Connection[Any]:
        connection = psycopg.connect(postgres.dsn)
        connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        return connection

    def count_and_sell(message: Sold, db: Any) -> str:  # noqa: ANN401 - of any driver
        db.execute("SELECT count(*) FROM sold").fetchone()  # what all the others change
        return insert(message, db)

    def member() -> None:
        once = ExactlyOnce(serializable, group="g")
        start.wait()
        left = [Sold(f"{number}") for number in range(10)]
        while left:
            with contextlib.suppress(psycopg.errors.SerializationFailure):
                if (got := inserted(once, left[0], count_and_sell)) is not None:
                    sold.append(got)
                left.pop(0)
        once.close()

    threads = [threading.Thread(target=member) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DONE_WITHIN)
    expected = sorted(f"{number}" for number in range(10))
    assert sorted(sold) == expected
    assert shop.execute("SELECT message_id FROM sold ORDER BY 1").fetchall() == [(each,) for each in expected]
    assert shop.execute("SELECT count(*) FROM pg_indexes WHERE indexname = 'rocketwire_once_age'").fetchone() == (1,)


def test_old_records_are_removed(postgres: PostgreSQL, shop: psycopg.Connection[Any]) -> None:
    now = 0
    once = ExactlyOnce(lambda: psycopg.connect(postgres.dsn), group="g", keep_seconds=1, clock=lambda: now)
    for number in range(250):
        now += 100
        inserted(once, Sold(f"{number:03d}"))
    once.close()
    oldest = shop.execute("SELECT min(message_key), count(*) FROM rocketwire_once").fetchone()
    assert oldest == ("190", 60), "cleaned behind number 200, at 20.1 s, of all before 19.1 s"
