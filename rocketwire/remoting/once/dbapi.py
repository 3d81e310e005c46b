"""Connections of PEP 249: what a driver of any database gives, in the five styles of parameters that drivers have."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

from rocketwire.remoting.once.database import NO_VALUES, Values
from rocketwire.remoting.once.errors import SettingInvalid, TransactionOpen, TransactionOwned

_PARAMETER: Final = re.compile(r":([a-z_]+)")
_MARKS: Final = {"qmark": "?", "numeric": ":{number}", "named": ":{name}", "format": "%s", "pyformat": "%({name})s"}
_BY_NAME: Final = frozenset({"named", "pyformat"})


def style_of(connection: object) -> str:
    """The style of the driver that made a connection.

    Raises:
        SettingInvalid: the connection's class is of no module that names one of the five styles.
    """
    for each in type(connection).__mro__:
        parts = each.__module__.split(".")
        for end in range(len(parts)):
            style = getattr(sys.modules.get(".".join(parts[: end + 1])), "paramstyle", None)
            if style is not None:
                return checked(style)
    kind = f"{type(connection).__module__}.{type(connection).__qualname__}"
    raise SettingInvalid(f"paramstyle: the module of {kind} names none; give its driver's ({', '.join(_MARKS)})")


def checked(style: str) -> str:
    """The style, if it is one of the five.

    Raises:
        SettingInvalid: it is not.
    """
    if style not in _MARKS:
        raise SettingInvalid(f"paramstyle {style}: expected {', '.join(_MARKS)}")
    return style


def rendered(statement: str, values: Values, style: str) -> tuple[str, Any]:
    """A statement whose parameters are written as `:name`, and its values, for a driver of a style."""
    text, names = _rendered(statement, style)
    return text, dict(values) if style in _BY_NAME else tuple(values[name] for name in names)


@lru_cache
def _rendered(statement: str, style: str) -> tuple[str, tuple[str, ...]]:
    names: list[str] = []

    def mark(found: re.Match[str]) -> str:
        names.append(found[1])
        return _MARKS[style].format(name=found[1], number=len(names))

    return _PARAMETER.sub(mark, statement), tuple(names)


_ENDING: Final = frozenset({"commit", "rollback", "close", "executescript"})
_SETTINGS: Final = frozenset({"autocommit", "isolation_level"})


class GuardedConnection:
    """A DB-API connection during one transaction; all but what would end it is passed on."""

    __slots__ = ("_connection", "_over")

    def __init__(self, connection: object) -> None:
        object.__setattr__(self, "_connection", connection)
        object.__setattr__(self, "_over", False)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the driver's connection has
        """The connection's own attribute.

        Raises:
            TransactionOwned: it would end the transaction, or that is over.
        """
        if self._over or name in _ENDING:
            raise TransactionOwned(name)
        return getattr(self._connection, name)

    def __setattr__(self, name: str, value: object) -> None:
        """Set the connection's own attribute; the errors are those of reading."""
        if self._over or name in _SETTINGS:
            raise TransactionOwned(f"setting {name}")
        setattr(self._connection, name, value)


def end(guarded: GuardedConnection) -> None:
    """Refuse every use of a connection from now on."""
    object.__setattr__(guarded, "_over", True)


_IDLE: Final = 0  # psycopg's and libpq's number for "no transaction"


class DbApiConnection(Protocol):
    """What every driver's connection has."""

    def cursor(self) -> Any:  # noqa: ANN401 - PEP 249 gives no types
        """A new cursor."""

    def commit(self) -> Any:  # noqa: ANN401 - of any driver
        """Commit."""

    def rollback(self) -> Any:  # noqa: ANN401 - of any driver
        """Roll back."""

    def close(self) -> Any:  # noqa: ANN401 - of any driver
        """Close."""


class DbApiDatabase:
    """Transactions on connections that `connect` makes; `style`: the driver's parameter style, if unknown."""

    def __init__(self, connect: Callable[[], DbApiConnection], style: str | None = None) -> None:
        self._connect = connect
        self._style = None if style is None else checked(style)
        self._seats: dict[threading.Thread, _Seat] = {}
        self._lock = threading.Lock()

    @property
    def tested(self) -> bool:
        """Whether this thread's connection was tested; a new one never is."""
        return self._seat().tested

    @tested.setter
    def tested(self, value: bool) -> None:
        self._seat().tested = value

    def begin(self) -> DbApiWork:
        """Begin a transaction on this thread's connection; it is made if there is none."""
        seat = self._seat()
        if seat.busy:
            raise TransactionOpen
        if seat.connection is None:
            seat.connection = self._connect()
            if not hasattr(seat.connection, "cursor"):
                given, seat.connection = type(seat.connection).__name__, None
                raise SettingInvalid(
                    f"source: the function returned {given}, which is no connection of a DB-API driver"
                )
        return DbApiWork(seat, seat.connection, self._style or style_of(seat.connection))

    def close(self) -> None:
        """Close the connections of all threads; none of them may be in a transaction."""
        with self._lock:
            seats, self._seats = list(self._seats.values()), {}
        for seat in seats:
            seat.close()

    def _seat(self) -> _Seat:
        thread = threading.current_thread()
        seat = self._seats.get(thread)
        if seat is None:
            seat = _Seat()
            with self._lock:
                gone = [self._seats.pop(each) for each in tuple(self._seats) if not each.is_alive()]
                self._seats[thread] = seat
            for each in gone:
                each.close()
        return seat


class _Seat:
    """A thread's connection."""

    def __init__(self) -> None:
        self.connection: DbApiConnection | None = None
        self.tested = False
        self.busy = False

    def close(self) -> None:
        """Close the connection; an error means that it is closed, or (SQLite's) that only its own thread may."""
        connection, self.connection = self.connection, None
        self.tested = self.busy = False
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.close()


class DbApiWork:
    """A transaction on a connection."""

    def __init__(self, seat: _Seat, connection: DbApiConnection, style: str) -> None:
        self._seat = seat
        self._connection = connection
        self._style = style
        self._begun = False
        self.handle = GuardedConnection(connection)
        seat.busy = True

    def run(self, statement: str, values: Values = NO_VALUES) -> Sequence[object]:
        """The rows of a statement, none if it returns none."""
        cursor = self._connection.cursor()
        try:
            if not self._begun:
                self._begun = True
                if isinstance(self._connection, sqlite3.Connection) and not self._connection.in_transaction:
                    cursor.execute("BEGIN IMMEDIATE")
            if values:
                cursor.execute(*rendered(statement, values, self._style))
            else:
                cursor.execute(statement)
            rows: Sequence[object] = cursor.fetchall() if cursor.description else ()
        finally:
            cursor.close()
        return rows

    @property
    def ended(self) -> bool:
        """Whether the driver reports that no transaction is open; those of SQLite, PostgreSQL and MySQL know."""
        if getattr(self._connection, "in_transaction", None) is False:
            return True
        status = getattr(getattr(self._connection, "info", None), "transaction_status", None)
        return isinstance(status, int) and status == _IDLE

    def commit(self) -> None:
        """Commit."""
        self._connection.commit()
        self._over()

    def abandon(self, error: BaseException | None = None) -> bool:  # noqa: ARG002 - the rollback finds it out
        """Roll back; where that fails, close the connection."""
        self._over()
        try:
            self._connection.rollback()
        except Exception:  # noqa: BLE001 - each driver has its own
            self._seat.close()
            return False
        return True

    def _over(self) -> None:
        end(self.handle)
        self._seat.busy = False
