"""Messages that wait for their time in one store, which rocketwire and Apache's 5.5.0 broker open alternately.

Theory: the broker on the store delivers what is due, however the one before ended, and whichever received the message.
Each broker rolls what is further away than a window; the messages of a stay are pending at its end, some of them rolled
once, some to be cancelled, some due while no broker runs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.endpoints import Rocketwire
from compat_tests.remoting import Connection
from compat_tests.shared_store import SharedStore, assert_undamaged
from compat_tests.store_traffic import create_topic, send_timed
from compat_tests.store_view import messages_in
from compat_tests.stored import Stored
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.apache import ApacheBroker, ApacheNameServer
from rocketwire.compat.brokers.endpoint import running
from tests.wire import golden

TOPIC: Final = "Timed"
WHEEL: Final = "rmq_sys_wheel_timer"
# Seconds: a message of 6 to 8 s rolls after 3, a later one after 6. What is overdue when it rolls, Apache delivers even
# if it was cancelled.
WINDOW: Final = {"timerRollWindowSlot": "6"}
STAY: Final = 4.7  # seconds: what rolled after 3 s is in the files, and what was done is in the checkpoint
FAR: Final = 11_000  # ms: it rolls after 6 s, while no broker runs, or by the broker that runs then
GOLDEN_TOPICS: Final = ("GoldenTimer", "GoldenRecall")
GOLDEN_PENDING: Final = {"timer_s3600", "timer_at7200000"}  # there is one of a day as well
GOLDEN_SIZES: Final = {
    "mappedFileSizeCommitLog": "524288",
    "mappedFileSizeConsumeQueue": "4000",
    "maxHashSlotNum": "200",
    "maxIndexNum": "500",
    "mappedFileSizeTimerLog": "2600",
}


def now() -> int:
    """The time in ms."""
    return time.time_ns() // 1_000_000


class Book:
    """What was sent, what of it is to come, and when."""

    def __init__(self) -> None:
        self.due: dict[str, int] = {}
        self.cancelled: set[str] = set()
        self.either: set[str] = set()  # cancelled when they were about to come: on a busy machine

    def stay(self, broker: ApacheBroker | Rocketwire, name: str, **more: int) -> None:
        """Send what is due during this stay, between it and the next and during the next; wait for the first of it."""
        start = now()
        after = {"early": 1000, "between": 4950, "rolled": 6500, "dropped between": 4950, "dropped rolled": 6500}
        due = {f"{name} {each}": start + ms for each, ms in {**after, **more}.items()}
        self.due |= due
        self._send(broker, due)
        self.cancel(broker, *(each for each in due if "dropped" in each))
        time.sleep(max(0.0, start / 1000 + STAY - time.time_ns() / 1e9))

    def cancel(self, broker: ApacheBroker | Rocketwire, *names: str) -> None:
        """Send markers that cancel messages."""
        self._send(broker, {f"no {name}": self.due[name] for name in names}, cancels=True)
        reported = now()
        for name in names:
            (self.cancelled if reported + 1000 < self.due[name] else self.either).add(name)

    @staticmethod
    def _send(broker: ApacheBroker | Rocketwire, due: dict[str, int], *, cancels: bool = False) -> None:
        messages = {name: {"TIMER_DELIVER_MS": str(at)} for name, at in due.items()}
        if cancels:
            messages = {
                name: {**each, "TIMER_DEL_UNIQKEY": name.removeprefix("no ")} for name, each in messages.items()
            }
        with Connection(broker.broker) as connection:
            answers = send_timed(connection, TOPIC, messages)
        assert [answer for answer in answers if answer.code] == []

    def wanted(self, until: int) -> set[str]:
        """What must have come up to some time, at the latest."""
        return {name for name, due in self.due.items() if due <= until} - self.cancelled - self.either

    def assert_so_far(self, found: list[Stored], until: int) -> None:
        """All that had to come has come, nothing twice or before its time, and nothing else."""
        times = Counter(message.unique_key for message in found)
        assert [name for name in times if times[name] > 1] == []
        assert self.wanted(until) - times.keys() == set()
        assert times.keys() - self.wanted(until + 100_000) - self.either == set()
        early = {each.unique_key: each.store_timestamp - self.due[each.unique_key] for each in found}
        assert {name: ms for name, ms in early.items() if ms < 0} == {}


def delivered(broker: ApacheBroker | Rocketwire, topic: str = TOPIC) -> list[Stored]:
    """What has come."""
    with Connection(broker.broker) as connection:
        return list(messages_in(connection, (topic, 0)))


def wait_for(broker: ApacheBroker | Rocketwire, names: set[str]) -> None:
    """Return once all these have come."""
    wait_until(lambda: names <= {message.unique_key for message in delivered(broker)})


@pytest.fixture
def store(tmp_path: Path, name_server: ApacheNameServer) -> SharedStore:
    """A new store."""
    return SharedStore(tmp_path, name_server)


def test_each_delivers_what_the_other_left(store: SharedStore) -> None:
    """Stopped cleanly and killed, both ways."""
    book = Book()
    with store.rocketwire(**WINDOW) as broker:
        with Connection(broker.broker) as connection:
            create_topic(connection, TOPIC, 1)
        book.stay(broker, "rocketwire stops", far=15_000)
        book.assert_so_far(delivered(broker), now() - 1000)
    assert_undamaged(store.path)
    with store.apache("5.5.0", **WINDOW) as apache:
        book.stay(apache, "apache dies", later=FAR, **{"far dropped": FAR})
        book.assert_so_far(delivered(apache), now() - 1500)
        apache.kill()
    assert_undamaged(store.path)
    with store.rocketwire(**WINDOW) as broker:
        book.cancel(broker, "apache dies later")
        book.stay(broker, "rocketwire dies")
        book.assert_so_far(delivered(broker), now() - 1000)
        broker.kill()
    assert_undamaged(store.path)
    with store.apache("5.5.0", **WINDOW) as apache:
        book.stay(apache, "apache stops")
        book.assert_so_far(delivered(apache), now() - 1500)
    assert_undamaged(store.path)
    with store.rocketwire(**WINDOW) as broker:
        wait_for(broker, book.wanted(max(book.due.values())))
        time.sleep(1)
        found = delivered(broker)
    book.assert_so_far(found, max(book.due.values()))
    (far,) = (message for message in found if message.unique_key == "rocketwire stops far")
    assert int(far.properties["TIMER_ROLL_TIMES"]) >= 1
    assert_undamaged(store.path)


def golden_properties(*topics: str) -> Iterator[dict[str, str]]:
    """Those of the golden store's messages in some topics."""
    for row in golden.expected("5.5.0"):
        if row.get("topic") in topics:
            yield row["properties"]


def test_the_golden_store(tmp_path: Path) -> None:
    """What is pending there comes at once if its time is past, but for what was recalled; what had come does not."""
    golden.unpack_store("5.5.0", tmp_path)
    records = list(golden_properties(WHEEL))
    recalled = {each["TIMER_DEL_UNIQKEY"] for each in records if "TIMER_DEL_UNIQKEY" in each}
    due = {each["UNIQ_KEY"] for each in records if int(each["TIMER_OUT_MS"]) + 1000 <= now()}
    mine = {each["UNIQ_KEY"] for each in records if each["REAL_TOPIC"] in GOLDEN_TOPICS}
    before = {each["UNIQ_KEY"] for each in golden_properties(*GOLDEN_TOPICS)}
    wanted = (due & mine) - recalled - before
    assert len(wanted) >= len(GOLDEN_PENDING)
    # What is to come later may be due while the broker runs.
    later = mine - recalled - before - due
    with running(Rocketwire(tmp_path, settings=GOLDEN_SIZES)) as broker, Connection(broker.broker) as connection:
        queues = [(topic, queue) for topic in GOLDEN_TOPICS for queue in (0, 1)]

        def arrived() -> list[str]:
            return [each.unique_key for queue in queues for each in messages_in(connection, queue)]

        wait_until(lambda: wanted <= set(arrived()), f"{wanted} come")
        time.sleep(1)
        found = arrived()
        keys = {each.properties["KEYS"] for queue in queues for each in messages_in(connection, queue)}
    assert len(found) == len(set(found))
    assert before | wanted <= set(found) <= before | wanted | later
    assert keys >= GOLDEN_PENDING
    assert_undamaged(tmp_path / "store")
