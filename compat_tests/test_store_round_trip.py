"""A directory that Apache's broker wrote is served and continued by rocketwire, and the other way round.

Theory: both brokers open one directory alternately. Everything that each serves is read, by offset, key, id and time
(store_view), and what one served the other must serve with the same bytes. Apache's broker must log no warnings, and
opening and closing a store must leave its log and its queues unchanged.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

from compat_tests.remoting import Connection
from compat_tests.shared_store import POPPING, QUEUE_FILE, SharedStore
from compat_tests.store_steps import (
    LARGE,
    QUEUES,
    SMALL,
    Official,
    assert_kept,
    begin,
    checked_view,
    deliveries,
    kill_under_load,
    last_file_before,
    recovered_from,
    send,
    small_times,
)
from compat_tests.store_traffic import (
    BATCH,
    commit,
    create_group,
    create_topic,
    send_delayed,
    send_many_delayed,
)
from compat_tests.store_view import assert_same, committed, group_configs, look, topic_configs
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.apache import ApacheNameServer
from rocketwire.compat.clients.client import Clients
from rocketwire.wire.names import SCHEDULE_TOPIC

LOG: Final = ("commitlog", "consumequeue")
NEW: Final = "New"
OWN_OF_5: Final = ("rocksdbstore",)


@pytest.fixture
def store(tmp_path: Path, name_server: ApacheNameServer) -> SharedStore:
    """A new store."""
    return SharedStore(tmp_path, name_server)


def test_apache_writes_rocketwire_continues_apache_serves_both(store: SharedStore, clients: Clients) -> None:
    official = Official(clients)
    with store.apache() as apache:
        sent = begin(apache)
        with Connection(apache.broker) as connection:
            delivered = send_delayed(connection, SMALL, "delivered", level=1)
        official.send_and_consume(apache)
        wait_until(lambda: deliveries(look(apache.broker), delivered) == 1)
        first = checked_view(apache, sent)
        topics = topic_configs(apache.broker)
        with Connection(apache.broker) as connection:
            due = send_delayed(connection, SMALL, "due while rocketwire runs", level=2)
            pending = send_delayed(connection, SMALL, "pending", level=18)
    files, delays = store.digests(*LOG), store.config("delayOffset.json")
    groups = store.config("subscriptionGroup.json")["subscriptionGroupTable"]

    # With one level only the others wait.
    with store.rocketwire(messageDelayLevel="1h") as rocketwire:
        served = checked_view(rocketwire, sent)
        assert served.starts_with(first)
        assert {due, pending} <= {message.unique_key for message in served}
        assert small_times(served) == small_times(first)
        assert committed(rocketwire.broker, "raw", LARGE, range(QUEUES)) == [11, 12, 13]
        assert_kept(topics, topic_configs(rocketwire.broker))
    assert store.digests(*LOG) == files

    with store.rocketwire() as rocketwire:
        official.send_and_consume(rocketwire)
        sent += send(rocketwire.broker, "second")
        with Connection(rocketwire.broker) as connection:
            commit(connection, "raw", LARGE, {0: 111, 1: 112})
            create_topic(connection, "MadeByRocketwire", 5)
        wait_until(lambda: deliveries(look(rocketwire.broker), due) == 1)
        second = checked_view(rocketwire, sent)
        assert second.starts_with(first)
        topics = topic_configs(rocketwire.broker)
        with Connection(rocketwire.broker) as connection:
            handed_over = send_delayed(connection, SMALL, "due while Apache runs", level=2)
    assert_kept(groups, store.config("subscriptionGroup.json")["subscriptionGroupTable"])
    assert store.config("delayOffset.json")["offsetTable"] == {**delays["offsetTable"], "2": 1}

    with store.apache() as apache:
        wait_until(lambda: deliveries(look(apache.broker), handed_over) == 1)
        third = checked_view(apache, sent)
        assert third.starts_with(second)
        assert [deliveries(third, key) for key in (delivered, due, handed_over, pending)] == [1, 1, 1, 0]
        assert committed(apache.broker, "raw", LARGE, range(QUEUES)) == [111, 112, 13]
        assert_kept(topics, topic_configs(apache.broker))
        official.send_and_consume(apache)


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_topics_and_groups_that_a_killed_rocketwire_made_exist(store: SharedStore, version: str) -> None:
    """The files grow while rocketwire runs: changed entries are in them twice, and the version comes last."""
    with store.apache(version) as apache, Connection(apache.broker) as connection:
        begin(apache)
        create_topic(connection, "Old", 3)
        create_group(connection, "old", 3)
    with store.rocketwire() as rocketwire:
        with Connection(rocketwire.broker) as connection:
            for number in range(30):
                create_topic(connection, f"Made{number}", 1 + number)
                create_group(connection, f"made{number}", number)
            for queues in (5, 6, 7):
                for topic in ("Old", "Made3"):
                    create_topic(connection, topic, queues)
                for group in ("old", "made3"):
                    create_group(connection, group, queues)
        topics, groups = topic_configs(rocketwire.broker), group_configs(rocketwire.broker)
        rocketwire.kill()
    text = (store.path / "config" / "topics.json").read_text()
    assert (text.count('"Made3":'), text.index('"dataVersion"') > text.index('"Made3"')) == (4, True)
    with store.apache(version) as apache:
        assert_kept(topics, topic_configs(apache.broker))
        assert_kept(groups, group_configs(apache.broker))
        assert topics["Made3"]["writeQueueNums"] == groups["made3"]["retryMaxTimes"] == 7
        with Connection(apache.broker) as connection:
            create_topic(connection, "MadeByApache", 1)
    with store.rocketwire() as rocketwire:
        assert_kept({**topics, "MadeByApache": {"writeQueueNums": 1}}, topic_configs(rocketwire.broker))
        assert_kept(groups, group_configs(rocketwire.broker))


def in_small(broker: str) -> list[str]:
    """Unique keys of what queue 0 has, in order."""
    return [message.unique_key for message in look(broker).queues.get((SMALL, 0), ())]


def test_what_apache_delivered_before_a_kill_is_not_delivered_again(store: SharedStore) -> None:
    """Apache writes down every ten seconds how far it got; rocketwire finds in the log what was delivered since."""
    settings = {"messageDelayLevel": "1s 4s"}
    with store.apache(**settings) as apache:
        with Connection(apache.broker) as connection:
            create_topic(connection, SMALL, QUEUES)
            sent = send_many_delayed(connection, SMALL, "delayed", levels=(1, 2), count=300)
        wait_until(lambda: len(in_small(apache.broker)) >= len(sent) // 2)
        apache.kill()
    (store.path / "config" / "delayOffset.json").unlink(missing_ok=True)  # a busy machine may take ten seconds so far
    with store.rocketwire(**settings) as rocketwire:
        wait_until(lambda: len(in_small(rocketwire.broker)) >= len(sent))
        time.sleep(1)
        assert sorted(in_small(rocketwire.broker)) == sorted(message.unique_key for message in sent)


def test_apache_delivers_all_that_a_killed_rocketwire_did_not(store: SharedStore) -> None:
    """What rocketwire delivered just before may be redelivered, as after a kill of Apache's own."""
    settings = {"messageDelayLevel": "1s 4s"}
    with store.rocketwire(**settings) as rocketwire:
        with Connection(rocketwire.broker) as connection:
            create_topic(connection, SMALL, QUEUES)
            sent = send_many_delayed(connection, SMALL, "delayed", levels=(1, 2), count=300)
        wait_until(lambda: len(in_small(rocketwire.broker)) >= len(sent) // 2)
        rocketwire.kill()
    with store.apache(**settings) as apache:
        wait_until(lambda: set(in_small(apache.broker)) == {message.unique_key for message in sent})


def test_rocketwire_writes_apache_continues_rocketwire_serves_both(store: SharedStore, clients: Clients) -> None:
    official = Official(clients)
    with store.rocketwire() as rocketwire:
        sent = begin(rocketwire)
        official.send_and_consume(rocketwire)
        first = checked_view(rocketwire, sent)
        topics = topic_configs(rocketwire.broker)
    groups = store.config("subscriptionGroup.json")["subscriptionGroupTable"]
    offsets = store.config("consumerOffset.json")["offsetTable"]

    with store.apache() as apache:
        served = checked_view(apache, sent)
        assert_same(served, first)
        assert small_times(served) == small_times(first)
        assert committed(apache.broker, "raw", LARGE, range(QUEUES)) == [11, 12, 13]
        assert_kept(topics, topic_configs(apache.broker))
        official.send_and_consume(apache)
        sent += send(apache.broker, "second")
        with Connection(apache.broker) as connection:
            commit(connection, "raw", LARGE, {1: 112})
            create_topic(connection, "MadeByApache", 5)
            pending = send_delayed(connection, SMALL, "pending", level=18)
        second = checked_view(apache, sent)
        assert second.starts_with(first)
        topics = topic_configs(apache.broker)
    files = store.digests(*LOG)
    assert_kept(groups, store.config("subscriptionGroup.json")["subscriptionGroupTable"])
    assert offsets.keys() <= store.config("consumerOffset.json")["offsetTable"].keys()

    with store.rocketwire() as rocketwire:
        third = checked_view(rocketwire, sent)
        assert_same(third, second)
        assert pending in {message.unique_key for message in third.queues[SCHEDULE_TOPIC, 17]}
        assert committed(rocketwire.broker, "raw", LARGE, range(QUEUES)) == [11, 112, 13]
        assert_kept(topics, topic_configs(rocketwire.broker))
    assert store.digests(*LOG) == files
    with store.rocketwire() as rocketwire:
        official.send_and_consume(rocketwire)


def test_deleted_queues_and_index_are_made_again(store: SharedStore) -> None:
    """First an opening that has nothing to do, which leaves everything as it was."""
    with store.rocketwire() as rocketwire:
        sent = begin(rocketwire)
        first = checked_view(rocketwire, sent)
    files = store.digests(*LOG)
    with store.apache() as apache:
        assert_same(checked_view(apache, sent), first)
    assert store.digests(*LOG) == files

    store.remove("consumequeue", "index")
    with store.rocketwire() as rocketwire:
        assert_same(checked_view(rocketwire, sent), first)
    assert store.digests(*LOG) == files

    store.remove("consumequeue", "index")
    with store.apache() as apache:
        assert_same(checked_view(apache, sent), first)
    assert store.digests(*LOG) == files


def test_each_is_killed(store: SharedStore) -> None:
    """The next broker on the store finds all that the killed one acknowledged, each message once.

    What was stored at the last clean stop need not be read again after a kill.
    """
    sync, later = {"flushDiskType": "SYNC_FLUSH"}, {"flushDiskType": "ASYNC_FLUSH"}
    with store.rocketwire() as rocketwire:
        sent = begin(rocketwire)
    with store.apache(**sync) as apache:
        sent += kill_under_load(apache, "apache-sync")
    with store.rocketwire(**sync) as rocketwire:
        checked_view(rocketwire, sent)
        sent += kill_under_load(rocketwire, "rocketwire-sync")
    with store.apache(**later) as apache:
        checked_view(apache, sent)
        sent += kill_under_load(apache, "apache-async")
    with store.rocketwire(**later) as rocketwire:
        checked_view(rocketwire, sent)
        sent += kill_under_load(rocketwire, "rocketwire-async")
    with store.rocketwire(**later) as rocketwire:
        checked_view(rocketwire, sent)
    flushed = store.flushed_before()
    with store.rocketwire(**later) as rocketwire:
        sent += kill_under_load(rocketwire, "rocketwire-last")
    assert flushed <= (flushed := store.flushed_before())
    with store.apache(**later) as apache:
        last = checked_view(apache, sent)
    assert 0 < last_file_before(last, flushed) == recovered_from(apache)
    with store.rocketwire(**later) as rocketwire:
        assert_same(checked_view(rocketwire, sent), last)


def test_killed_while_queue_files_are_made(store: SharedStore) -> None:
    """Apache's broker finds no message in a queue file that was made just before the kill, a queue's first or its next.

    (In one of zeros it finds a message at the log's start with no length, which no client can pull.)
    """
    with store.rocketwire() as rocketwire:
        with Connection(rocketwire.broker) as connection:
            for topic in (LARGE, SMALL, NEW):
                create_topic(connection, topic, QUEUES)
        sent = send(rocketwire.broker, "before", count=QUEUES * (QUEUE_FILE - BATCH))
        rocketwire.kill()
    store.make_queue_file(LARGE, 0, QUEUE_FILE)
    store.make_queue_file(NEW, 0, 0)
    with store.apache() as apache:
        view = checked_view(apache, sent)
        assert view.ends[LARGE, 0] == (0, QUEUE_FILE)
        assert not any(topic == NEW for topic, _ in view.ends)


def test_a_store_of_5_5_0(store: SharedStore) -> None:
    """What 5.x keeps in RocksDB is left unchanged; its timer is in test_timer_round_trip."""
    with store.apache("5.5.0", **POPPING) as apache:
        sent = begin(apache)
        first = checked_view(apache, sent)
        topics = topic_configs(apache.broker)
    own = store.digests(*OWN_OF_5)
    assert own
    with store.rocketwire() as rocketwire:
        assert_same(checked_view(rocketwire, sent), first)
        assert_kept(topics, topic_configs(rocketwire.broker))
        assert committed(rocketwire.broker, "raw", LARGE, range(QUEUES)) == [11, 12, 13]
        sent += send(rocketwire.broker, "second")
        second = checked_view(rocketwire, sent)
        topics = topic_configs(rocketwire.broker)
        with Connection(rocketwire.broker) as connection:
            commit(connection, "raw", LARGE, {1: 112})
    assert store.digests(*OWN_OF_5) == own
    with store.apache("5.5.0") as apache:
        third = checked_view(apache, sent)
        assert_same(third, second)
        assert_kept(topics, topic_configs(apache.broker))
        assert committed(apache.broker, "raw", LARGE, range(QUEUES)) == [11, 112, 13]
        sent += send(apache.broker, "third")
        checked_view(apache, sent)
        apache.kill()  # its clean stop takes 10 s
    with store.rocketwire() as rocketwire:
        assert checked_view(rocketwire, sent).starts_with(third)


def test_5_5_0_and_rocketwire_killed(store: SharedStore) -> None:
    with store.rocketwire() as rocketwire:
        sent = begin(rocketwire)
        topics = topic_configs(rocketwire.broker)
    with store.rocketwire() as rocketwire:
        sent += kill_under_load(rocketwire, "rocketwire")
    with store.apache("5.5.0") as apache:
        checked_view(apache, sent)
        assert_kept(topics, topic_configs(apache.broker))
        assert committed(apache.broker, "raw", LARGE, range(QUEUES)) == [11, 12, 13]
        sent += kill_under_load(apache, "apache")
    with store.rocketwire() as rocketwire:
        checked_view(rocketwire, sent)


def test_after_old_files_were_removed(store: SharedStore) -> None:
    """The first entries of queues and index point to removed files; both brokers begin behind them."""
    with store.rocketwire() as rocketwire:
        sent = begin(rocketwire) + send(rocketwire.broker, "second")
        first = checked_view(rocketwire, sent)
    store.expire(keep=4)
    with store.rocketwire() as rocketwire:
        second = checked_view(rocketwire, [])
    kept = {message.unique_key for message in second}
    sent = [each for each in sent if each.unique_key in kept]
    assert 0 < second.ends[LARGE, 0][0] < second.ends[LARGE, 0][1] == first.ends[LARGE, 0][1]
    with store.apache() as apache:
        assert_same(checked_view(apache, sent), second)
        sent += send(apache.broker, "third")
        third = checked_view(apache, sent)
    assert third.starts_with(second)
    with store.rocketwire() as rocketwire:
        assert_same(checked_view(rocketwire, sent), third)
