"""The table: made once, with keys of any text, and cleaned in small steps."""

from __future__ import annotations

import logging
import sqlite3
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.remoting.once import records
from rocketwire.remoting.once.dbapi import DbApiDatabase
from rocketwire.remoting.once.records import ConsumedRecord, ConsumedRecords
from tests.remoting.once.support import Sent, Shop, selling

DAY = 24 * 3600 * 1000


def test_several_consumers_make_the_table_at_once(shop: Shop, source: Any) -> None:
    start = threading.Barrier(6)
    failures: list[BaseException] = []

    def member(number: int) -> None:
        once = shop.once(source)
        start.wait()
        try:
            selling(once)(Sent(f"{number}"))
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=member, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    assert len(shop.sold) == 6
    assert shop.rows("SELECT name FROM sqlite_master WHERE name = 'rocketwire_once_age'")


def test_a_table_that_cannot_be_made(shop: Shop) -> None:
    once = shop.once(lambda: sqlite3.connect(f"file:{shop.path}?mode=ro", uri=True))
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        selling(once)(Sent("A"))


def test_a_table_of_another_name(shop: Shop) -> None:
    selling(shop.once(table="done_orders"))(Sent("A"))
    assert shop.rows("SELECT consumer_group, message_key FROM done_orders") == [("orders", "A")]


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_different_messages_have_different_keys(one: tuple[str, str], other: tuple[str, str]) -> None:
    places = [ConsumedRecord(*each, 0).place() for each in (one, other)]
    assert (places[0] == places[1]) == (one == other)


@given(st.text(st.characters()))
def test_every_key_fits_the_columns(key: str) -> None:
    values = ConsumedRecord(key, key, 0).values()
    for name in ("shown_group", "shown_key"):
        shown = values[name]
        assert isinstance(shown, str)
        assert len(shown) <= 255
        assert shown.isascii()
        assert shown.isprintable()


@pytest.mark.parametrize(
    "keys", [("a", "A"), ("a", "a "), ("x" * 300 + "1", "x" * 300 + "2"), ("a\0b", "a\0c"), ("é", "e")]
)
def test_keys_that_databases_confuse_are_distinguished(shop: Shop, keys: tuple[str, str]) -> None:
    handle = selling(shop.once(key=lambda message: message.message_id))
    for key in keys:
        assert handle(Sent(key)) is not None
    for key in keys:
        assert handle(Sent(key)) is None


def records_of(shop: Shop, *records: ConsumedRecord) -> ConsumedRecords:
    database = DbApiDatabase(shop.connect)
    made = ConsumedRecords(database, "rocketwire_once")
    made.prepare("orders", 0)
    for record in records:
        work = database.begin()
        work.run(made.add, record.values())
        work.commit()
    return made


def test_cleaning_takes_the_oldest_of_one_group_only(shop: Shop) -> None:
    times = [5, 1, 2, 2, 9, 3]
    of_group = [ConsumedRecord("orders", f"{time}-{number}", time) for number, time in enumerate(times)]
    records = records_of(shop, ConsumedRecord("bills", "bill", 1), *of_group)
    assert shop.recorded == ["1-1", "2-2", "2-3", "3-5", "5-0", "9-4", "bill"]
    records.remove_before("orders", 6, 2)
    assert shop.recorded == ["3-5", "5-0", "9-4", "bill"], "two, and one of the same millisecond"
    records.remove_before("orders", 6, 2)
    assert shop.recorded == ["9-4", "bill"]
    records.remove_before("orders", 6, 2)
    assert shop.recorded == ["9-4", "bill"]


def test_old_records_go_while_messages_come(shop: Shop, source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "EVERY", 4)
    monkeypatch.setattr(records, "STEP", 6)
    now = 0
    once = shop.once(source, keep_seconds=86400, clock=lambda: now)
    handle = selling(once)
    for number in range(10):
        now += 1
        handle(Sent(f"old {number}"))
    now += DAY - 9
    assert handle(Sent("old 9")) is None, "its record is a day old, less 9 ms"
    now += DAY
    counts = []
    for number in range(8):
        handle(Sent(f"new {number}"))
        counts.append(sum(key.startswith("old") for key in shop.recorded))
    assert counts == [10, 10, 4, 4, 4, 4, 0, 0]
    assert len([key for key in shop.recorded if key.startswith("new")]) == 8
    assert handle(Sent("old 9")) == "sold old 9", "a removed record does not protect"


def test_records_may_be_kept_without_end(shop: Shop) -> None:
    now = 0
    handle = selling(shop.once(keep_seconds=None, clock=lambda: now))
    handle(Sent("A"))
    now += 10_000 * DAY
    handle(Sent("B"))
    assert handle(Sent("A")) is None


def test_cleaning_that_fails_does_not_fail_the_message(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    class NoDeletes(sqlite3.Connection):
        def cursor(self, *arguments: Any) -> Any:
            class Cursor(sqlite3.Cursor):
                def execute(self, statement: str, *values: Any) -> Any:
                    if statement.startswith("DELETE"):
                        raise sqlite3.OperationalError("database is locked")
                    return super().execute(statement, *values)

            return super().cursor(Cursor)

    with caplog.at_level(logging.WARNING):
        assert selling(shop.once(lambda: shop.connect(factory=NoDeletes)))(Sent("A")) == "sold A"
    assert caplog.messages == ["old records of group orders were not removed: database is locked"]
    assert shop.sold == ["A"]
