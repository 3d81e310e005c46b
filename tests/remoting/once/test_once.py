"""The promise, on all kinds of sources: the result of each message is in the database once."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import threading
from typing import Any

import pytest
import sqlalchemy

from rocketwire.remoting.messages import Later
from rocketwire.remoting.once import (
    ExactlyOnce,
    NotTransactional,
    SettingInvalid,
    TransactionEnded,
    TransactionOpen,
    TransactionOwned,
    unique_key,
)
from rocketwire.wire.facts.properties import ORIGIN_MESSAGE_ID, UNIQ_KEY
from tests.remoting.once.support import Sent, Shop, during, fail, sell, selling


def test_a_redelivered_message_is_skipped(shop: Shop, source: Any) -> None:
    handle = selling(shop.once(source))
    assert handle(Sent("A")) == "sold A"
    assert handle(Sent("B")) == "sold B"
    assert handle(Sent("A")) is None
    assert shop.sold == shop.recorded == ["A", "B"]


def test_another_process_skips_it_too(shop: Shop, source: Any) -> None:
    selling(shop.once(source))(Sent("A"))
    assert selling(shop.once(source))(Sent("A")) is None
    assert shop.sold == ["A"]


def test_each_group_consumes_each_message(shop: Shop, source: Any) -> None:
    for group in ("orders", "Orders", "bills"):
        assert selling(shop.once(source, group=group))(Sent("A")) is not None
    assert shop.sold == ["A", "A", "A"]


def test_what_the_application_raises_rolls_back_both(shop: Shop, source: Any) -> None:
    once = shop.once(source)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            during(once, Sent("A"), fail)
        assert shop.sold == shop.recorded == []
    selling(once)(Sent("A"))
    assert shop.sold == shop.recorded == ["A"]


def test_what_the_application_wants_later_is_rolled_back(shop: Shop, source: Any) -> None:
    def put_off(message: Sent, db: Any) -> Later:
        sell(message, db)
        return Later(3)

    once = shop.once(source)
    assert once.handler(put_off)(Sent("A")) == Later(3)
    assert shop.sold == shop.recorded == []
    assert selling(once)(Sent("A")) == "sold A"


def test_an_interrupted_application_is_rolled_back(shop: Shop, source: Any) -> None:
    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        during(shop.once(source), Sent("A"), interrupt)
    assert shop.sold == shop.recorded == []


def test_a_unique_violation_of_the_applications_own_is_no_reason_to_skip(shop: Shop, source: Any) -> None:
    shop.rows("CREATE UNIQUE INDEX one_each ON sold (item)")
    once = shop.once(source, key=lambda message: message.properties["order"])
    selling(once)(Sent("A", properties={"order": "1"}))
    with pytest.raises((sqlite3.IntegrityError, sqlalchemy.exc.IntegrityError)):
        selling(once)(Sent("A", properties={"order": "2"}))
    assert shop.recorded == ["1"]


def test_a_business_key_covers_messages_that_were_sent_twice(shop: Shop, source: Any) -> None:
    handle = selling(shop.once(source, key=lambda message: message.properties["order"]))
    assert handle(Sent("A", properties={"order": "17"})) is not None
    assert handle(Sent("B", properties={"order": "17"})) is None
    assert shop.sold == ["A"]


@pytest.mark.parametrize("key", ["", None, 17])
def test_a_key_that_is_no_text_is_refused(shop: Shop, key: Any) -> None:
    with pytest.raises(SettingInvalid, match=r"^key: "), shop.once(key=lambda _: key).transaction(Sent("A")):
        pytest.fail("the application was called")


def test_by_hand_none_means_done(shop: Shop, source: Any) -> None:
    once = shop.once(source)
    seen = []
    for _ in range(2):
        with once.transaction(Sent("A")) as db:
            seen.append(db is None)
            if db is not None:
                sell(Sent("A"), db)
    assert seen == [False, True]
    assert shop.sold == ["A"]


def test_the_application_may_not_commit(shop: Shop, source: Any) -> None:
    once = shop.once(source)
    with pytest.raises(TransactionOwned, match=r"^commit: "):
        during(once, Sent("A"), lambda db: db.commit())
    assert shop.sold == shop.recorded == []


def test_work_behind_a_rollback_of_the_application_is_not_committed(shop: Shop, source: Any) -> None:
    once = shop.once(source)
    with pytest.raises((TransactionOwned, TransactionEnded)):
        during(once, Sent("A"), lambda db: db.rollback(), lambda db: sell(Sent("A"), db))
    assert shop.sold == shop.recorded == []


def test_savepoints_are_the_applications(shop: Shop) -> None:
    for source in (shop.engine(), sqlalchemy.orm.sessionmaker(shop.engine())):
        once = shop.once(source, group=type(source).__name__)
        with once.transaction(Sent("A")) as db:
            with db.begin_nested():
                sell(Sent("kept"), db)
            savepoint = db.begin_nested()
            sell(Sent("lost"), db)
            savepoint.rollback()
        with pytest.raises(TransactionOwned):
            during(once, Sent("B"), lambda db: db.begin_nested(), lambda db: db.commit())
    assert shop.sold == ["kept", "kept"]
    assert shop.recorded == ["A", "A"]


def test_one_transaction_a_thread(shop: Shop, source: Any) -> None:
    once = shop.once(source)
    with once.transaction(Sent("A")) as db:
        with pytest.raises(TransactionOpen), once.transaction(Sent("B")):
            pytest.fail("the application was called")
        sell(Sent("A"), db)
    assert shop.sold == shop.recorded == ["A"]


def test_members_that_have_the_same_messages_at_the_same_time(shop: Shop, source: Any) -> None:
    messages = [Sent(f"{number:02d}") for number in range(20)]
    start = threading.Barrier(4)
    done: list[str] = []

    def member(seed: int) -> None:
        handle = selling(shop.once(source))
        start.wait()
        mine = random.Random(seed).sample(messages, len(messages))
        done.extend(message.message_id for message in mine if handle(message) is not None)

    threads = [threading.Thread(target=member, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert shop.sold == shop.recorded == sorted(done) == [message.message_id for message in messages]


def test_threads_may_share_one_object(shop: Shop, source: Any) -> None:
    once = shop.once(source)
    handle = selling(once)
    threads = [threading.Thread(target=lambda: [handle(Sent(f"{number}")) for number in range(9)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert shop.sold == [f"{number}" for number in range(9)]


class Careless(sqlite3.Connection):
    """It commits each statement, so that nothing remains to be rolled back."""

    def rollback(self) -> None:
        self.commit()


class Holding(sqlite3.Connection):
    """It ends no transaction on request, as Python 3.12's with `autocommit=True`."""

    def commit(self) -> None:
        """Nothing."""

    def rollback(self) -> None:
        """Nothing."""


def test_a_refused_connection_holds_no_lock(shop: Shop) -> None:
    with pytest.raises(NotTransactional):
        selling(shop.once(lambda: shop.connect(factory=Holding)))(Sent("A"))
    assert selling(shop.once(lambda: shop.connect(timeout=0)))(Sent("A")) == "sold A"


def test_connections_that_commit_each_statement_are_refused(shop: Shop) -> None:
    for source in (lambda: shop.connect(factory=Careless), shop.engine(connect_args={"factory": Careless})):
        once = shop.once(source)
        for _ in range(2):
            with pytest.raises(NotTransactional, match="autocommit"), once.transaction(Sent("A")):
                pytest.fail("the application was called")
    assert shop.recorded == []


def test_sqlite_in_autocommit_mode_gets_transactions(shop: Shop) -> None:
    for source in (lambda: shop.connect(isolation_level=None), shop.engine(isolation_level="AUTOCOMMIT")):
        selling(shop.once(source))(Sent("A"))
        with pytest.raises(ZeroDivisionError):
            during(shop.once(source), Sent("B"), fail)
    assert shop.sold == shop.recorded == ["A"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"source": "shop.db"}, "source 'shop.db': give a function"),
        ({"source": lambda: "shop.db"}, "source: the function returned str"),
        ({"table": "a.b"}, "table a.b: expected"),
        ({"paramstyle": "percent"}, "paramstyle percent: expected qmark"),
    ],
)
def test_what_cannot_be_used(shop: Shop, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingInvalid, match=reason), shop.once(**arguments).transaction(Sent("A")):
        pytest.fail("the application was called")


def test_sqlalchemy_is_not_loaded_without_need() -> None:
    code = "import sys, rocketwire.remoting.once; sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_closing_and_continuing(shop: Shop) -> None:
    with ExactlyOnce(shop.connect, group="orders") as once:
        selling(once)(Sent("A"))
    selling(once)(Sent("B"))
    assert len(shop.opened) == 2
    assert shop.sold == ["A", "B"]


def test_the_producers_key_stays_the_same_in_a_retry() -> None:
    first = Sent("place 1", properties={UNIQ_KEY: "U"})
    retried = Sent("place 2", properties={UNIQ_KEY: "U", ORIGIN_MESSAGE_ID: "place 1"})
    assert unique_key(first) == unique_key(retried) == "U"


def test_without_one_the_first_place_counts() -> None:
    assert unique_key(Sent("place 1")) == "place 1"
    assert unique_key(Sent("place 2", properties={ORIGIN_MESSAGE_ID: "place 1"})) == "place 1"
