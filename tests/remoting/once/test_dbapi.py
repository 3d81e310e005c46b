"""Connections of DB-API drivers: one a thread, guarded, replaced when they are lost."""

from __future__ import annotations

import sqlite3
import threading
from typing import Any

import pytest

from rocketwire.remoting.once import SettingInvalid, TransactionEnded, TransactionOwned
from rocketwire.remoting.once.database import Values
from rocketwire.remoting.once.dbapi import rendered, style_of
from tests.remoting.once.support import Sent, Shop, during, sell, selling


def test_a_connection_for_each_thread(shop: Shop) -> None:
    once = shop.once()
    handle = selling(once)

    def work(name: str) -> None:
        for number in range(2):
            handle(Sent(f"{name}{number}"))

    for name in "ABC":  # one after the other: the next one's start drops the connection of the last one
        thread = threading.Thread(target=work, args=(name,))
        thread.start()
        thread.join(60)
    assert len(shop.opened) == 3
    assert len(shop.sold) == 6
    assert len(once._database._seats) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["commit", "rollback", "close", "executescript"])
def test_what_would_end_the_transaction_is_refused(shop: Shop, name: str) -> None:
    with shop.once().transaction(Sent("A")) as db, pytest.raises(TransactionOwned, match=rf"^{name}: "):
        getattr(db, name)
    assert shop.recorded == ["A"]


def test_a_with_on_the_connection_is_refused(shop: Shop) -> None:
    with shop.once().transaction(Sent("A")) as db, pytest.raises(TypeError), db:
        pytest.fail("it was entered")


def test_settings_of_the_connection(shop: Shop) -> None:
    with shop.once().transaction(Sent("A")) as db:
        db.row_factory = sqlite3.Row
        assert db.execute("SELECT 1 AS one").fetchone()["one"] == 1
        with pytest.raises(TransactionOwned, match=r"^setting isolation_level: "):
            db.isolation_level = None


def test_the_connection_is_not_used_after_the_end(shop: Shop) -> None:
    once = shop.once()
    with once.transaction(Sent("A")) as db:
        pass
    for use in (lambda: db.execute("DELETE FROM sold"), lambda: setattr(db, "row_factory", None)):
        with pytest.raises(TransactionOwned):
            use()


@pytest.mark.parametrize("statement", ["COMMIT", "ROLLBACK"])
def test_ending_it_in_sql_is_noticed(shop: Shop, statement: str) -> None:
    once = shop.once()
    with pytest.raises(TransactionEnded), once.transaction(Sent("A")) as db:
        db.execute(statement)
    selling(once)(Sent("B"))
    assert shop.sold == ["B"]


def test_work_behind_an_error_that_rolled_back_is_not_committed(shop: Shop) -> None:
    shop.rows("CREATE UNIQUE INDEX one_each ON sold (item)")

    def catch(db: Any) -> None:
        with pytest.raises(sqlite3.IntegrityError):
            db.execute("INSERT OR ROLLBACK INTO sold VALUES ('A')")
        sell(Sent("B"), db)

    once = shop.once()
    with pytest.raises(TransactionEnded):
        during(once, Sent("A"), catch)
    assert shop.sold == shop.recorded == []


class Breakable(sqlite3.Connection):
    """A connection whose server may go away."""

    broken = False

    def cursor(self, *arguments: Any) -> Any:
        self._fail()
        return super().cursor(*arguments)

    def commit(self) -> None:
        self._fail()
        super().commit()

    def rollback(self) -> None:
        self._fail()
        super().rollback()

    def _fail(self) -> None:
        if self.broken:
            raise sqlite3.OperationalError("server closed the connection")


@pytest.fixture
def servers(shop: Shop) -> Any:
    """Break all connections that are open."""

    def end() -> None:
        for connection in shop.opened:
            assert isinstance(connection, Breakable)
            connection.broken = True

    return end


def test_a_connection_that_died_in_between_is_replaced(shop: Shop, servers: Any) -> None:
    handle = selling(shop.once(lambda: shop.connect(factory=Breakable)))
    handle(Sent("A"))
    servers()
    assert handle(Sent("B")) == "sold B"
    assert handle(Sent("A")) is None
    assert len(shop.opened) == 2


def test_a_server_that_stays_away(shop: Shop) -> None:
    def connect() -> sqlite3.Connection:
        connection = shop.connect(factory=Breakable)
        connection.broken = away  # type: ignore[attr-defined]
        return connection

    handle = selling(shop.once(connect))
    away = False
    handle(Sent("A"))
    away = True
    shop.opened[0].broken = True  # type: ignore[attr-defined]
    with pytest.raises(sqlite3.OperationalError, match="server closed"):
        handle(Sent("B"))
    away = False
    assert handle(Sent("B")) == "sold B"
    assert shop.sold == ["A", "B"]


def test_a_connection_that_dies_under_the_application(shop: Shop, servers: Any) -> None:
    once = shop.once(lambda: shop.connect(factory=Breakable))
    with pytest.raises(sqlite3.OperationalError):
        during(once, Sent("A"), lambda _: servers())
    assert shop.sold == shop.recorded == []
    assert selling(once)(Sent("A")) == "sold A"
    assert shop.sold == shop.recorded == ["A"]


def test_a_commit_whose_answer_is_lost_counts(shop: Shop) -> None:
    class Deaf(sqlite3.Connection):
        fails = False

        def commit(self) -> None:
            super().commit()
            if self.fails:
                raise sqlite3.OperationalError("no answer")

    once = shop.once(lambda: shop.connect(factory=Deaf))
    with pytest.raises(sqlite3.OperationalError, match="no answer"):
        during(once, Sent("A"), lambda _: setattr(shop.opened[0], "fails", True))
    shop.opened[0].fails = False  # type: ignore[attr-defined]
    assert selling(once)(Sent("A")) is None
    assert shop.sold == ["A"]


def test_a_busy_database_is_an_error_and_the_next_delivery_works(shop: Shop) -> None:
    once = shop.once(lambda: shop.connect(timeout=0))
    selling(once)(Sent("A"))
    other = shop.connect()
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"), once.transaction(Sent("B")):
        pytest.fail("the application was called")
    other.rollback()
    assert selling(once)(Sent("B")) == "sold B"
    assert len(shop.opened) == 2


STATEMENT = "SELECT 1 FROM t WHERE a = :old AND b = :new OR c = :old"
VALUES: Values = {"new": 2, "old": "x"}


@pytest.mark.parametrize(
    ("style", "text", "values"),
    [
        ("qmark", "SELECT 1 FROM t WHERE a = ? AND b = ? OR c = ?", ("x", 2, "x")),
        ("numeric", "SELECT 1 FROM t WHERE a = :1 AND b = :2 OR c = :3", ("x", 2, "x")),
        ("format", "SELECT 1 FROM t WHERE a = %s AND b = %s OR c = %s", ("x", 2, "x")),
        ("named", STATEMENT, VALUES),
        ("pyformat", "SELECT 1 FROM t WHERE a = %(old)s AND b = %(new)s OR c = %(old)s", VALUES),
    ],
)
def test_each_style(style: str, text: str, values: object) -> None:
    assert rendered(STATEMENT, VALUES, style) == (text, values)


class Own(sqlite3.Connection):
    """A class of an application, on the driver's."""


class Wrapped:
    """A connection in an object of another module, as pools hand them out."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_the_style_is_that_of_the_drivers_module(shop: Shop) -> None:
    assert style_of(shop.connect()) == style_of(shop.connect(factory=Own)) == "qmark"


def test_a_wrapped_connection_needs_the_style(shop: Shop) -> None:
    def connect() -> Wrapped:
        return Wrapped(shop.connect())

    with pytest.raises(SettingInvalid, match=r"paramstyle: the module of .*Wrapped names none"):
        selling(shop.once(connect))(Sent("A"))
    handle = selling(shop.once(connect, paramstyle="named"))
    assert handle(Sent("A")) is not None
    assert handle(Sent("A")) is None


def test_the_modules_of_drivers_are_found_below_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type("Module", (), {"paramstyle": "format"})
    monkeypatch.setitem(__import__("sys").modules, "vendor.driver", module)
    connection = type("Connection", (), {"__module__": "vendor.driver.connections"})()
    assert style_of(connection) == "format"
