"""A statement with parameters, as drivers of each style want it."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from rocketwire.remoting.once import SettingInvalid
from rocketwire.remoting.once.database import Values
from rocketwire.remoting.once.dbapi import rendered, style_of
from tests.remoting.once.support import Sent, Shop, selling

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
