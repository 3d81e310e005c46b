from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import NameInvalid, QueuesTooMany
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.topics import MOST_QUEUES, BrokerTopics, retry_config, system_topics
from rocketwire.store.errors import StoreNotWritable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig
from tests.server.harness import NOW, Clock, small_config

BROKER = BrokerKeys(broker_cluster_name="C")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "topics.json"


def opened(file: Path, **changes: Any) -> BrokerTopics:
    return BrokerTopics(TopicTable.open(file, clock=Clock()), LiveGroup(TopicKeys(**changes)))


def names(**changes: Any) -> dict[str, tuple[int, int]]:
    config = small_config(Path(), **changes)
    return {
        each.topic_name: (each.write_queue_nums, each.perm) for each in system_topics(config.broker, config.topics, 18)
    }


def test_the_system_topics_exist() -> None:
    assert names() == {
        "SELF_TEST_TOPIC": (1, 6),
        "BenchmarkTest": (1024, 6),
        "C": (16, 7),
        "broker-a": (1, 7),
        "OFFSET_MOVED_EVENT": (1, 6),
        "SCHEDULE_TOPIC_XXXX": (18, 6),
        "C_REPLY_TOPIC": (1, 6),
        "TBW102": (8, 7),
    }


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({"auto_create_topic_enable": False}, "TBW102", None),
        ({"default_topic_queue_nums": 3}, "TBW102", (3, 7)),
        ({"cluster_topic_enable": False}, "C", (16, 1)),
        ({"broker_topic_enable": False}, "broker-a", (1, 1)),
        ({"trace_topic_enable": True}, "RMQ_SYS_TRACE_TOPIC", (1, 6)),
        ({"trace_topic_enable": True, "msg_trace_topic_name": "Own"}, "Own", (1, 6)),
    ],
)
def test_the_configuration_selects_them(changes: dict[str, Any], name: str, expected: tuple[int, int] | None) -> None:
    assert names(**changes).get(name) == expected


def test_existing_system_topics_stay_as_they_are(file: Path) -> None:
    topics = opened(file)
    topics.put(TopicConfig(topic_name="BenchmarkTest", read_queue_nums=3, write_queue_nums=3))
    topics.make_system_topics(BROKER, 18)
    version = topics.table.data_version
    topics.make_system_topics(BROKER, 18)
    assert topics.table.data_version == version
    topics.table.persist()
    again = opened(file)
    kept = again.get("BenchmarkTest")
    assert kept is not None
    assert kept.read_queue_nums == 3
    assert again.get("TBW102") is None
    topics.put(TopicConfig(topic_name="New"))
    assert opened(file).get("TBW102") is not None  # with the next change, as Apache writes them


def test_a_new_broker_has_counted_no_change(file: Path) -> None:
    topics = opened(file)
    topics.make_system_topics(BROKER, 18)
    assert topics.table.data_version == DataVersion(counter=0, timestamp=NOW)
    assert not file.exists()


def test_a_change_is_saved_and_announced_at_once(file: Path) -> None:
    topics = opened(file)
    changes: list[bool] = []
    topics.changed.subscribe(lambda _: changes.append("New" in file.read_text()))
    topics.put(TopicConfig(topic_name="New"))
    assert changes == [True]


def test_a_change_that_cannot_be_saved_is_announced_nevertheless(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: TopicTable) -> None:
        raise StoreNotWritable("here", "disk full")

    topics = opened(file)
    changes: list[bool] = []
    topics.changed.subscribe(lambda _: changes.append(topics.get("New") is not None))
    monkeypatch.setattr(TopicTable, "persist", full)
    with pytest.raises(StoreNotWritable):
        topics.put(TopicConfig(topic_name="New"))
    with pytest.raises(StoreNotWritable):
        topics.permission_changed()
    assert changes == [True, True]


LONG = "%RETRY%" + "g" * 249


@pytest.mark.parametrize("name", [LONG, "", "a.b"])
def test_bad_names_are_refused_by_every_method(file: Path, name: str) -> None:
    topics = opened(file)
    topics.make_system_topics(BROKER, 18)
    changes: list[bool] = []
    topics.changed.subscribe(lambda _: changes.append(True))
    ways: list[Callable[[], object]] = [
        lambda: topics.put(TopicConfig(topic_name=name)),
        lambda: topics.create_on_send(name, "TBW102", 4, 0),
        lambda: topics.create_retry(name, 1),
    ]
    for enter in ways:
        with pytest.raises(NameInvalid, match=r"^The specified topic "):
            enter()
    assert topics.get(name) is None
    assert changes == []


def test_existing_topics_with_bad_names_accept_no_sends(file: Path) -> None:
    table = TopicTable.open(file, clock=Clock())
    table.put(TopicConfig(topic_name=LONG))
    table.persist()
    topics = opened(file)
    assert topics.get(LONG) is not None
    topics.make_system_topics(replace(BROKER, broker_name="host.example"), 18)
    assert {LONG, "host.example", "SELF_TEST_TOPIC"} <= topics.particular
    assert not topics.particular & {"TBW102", "C"}


def test_a_new_permission_counts_as_a_change_of_all_topics(file: Path) -> None:
    topics = opened(file)
    changes: list[int] = []
    topics.changed.subscribe(lambda _: changes.append(topics.table.data_version.counter))
    topics.permission_changed()
    assert changes == [1]
    assert opened(file).table.data_version.counter == 1


def test_a_topic_created_by_a_send_follows_its_template(file: Path) -> None:
    topics = opened(file)
    topics.make_system_topics(BROKER, 18)
    made = topics.create_on_send("New", "TBW102", 4, 0)
    assert made == TopicConfig(topic_name="New", read_queue_nums=4, write_queue_nums=4, perm=6)
    assert topics.get("New") == made
    for requested, got in ((100, 8), (-3, 0)):
        made = topics.create_on_send(f"N{requested}", "TBW102", requested, 0)
        assert made is not None
        assert made.write_queue_nums == got


def test_no_topic_is_created_without_an_inheritable_template(file: Path) -> None:
    topics = opened(file)
    topics.make_system_topics(BROKER, 18)
    topics.put(TopicConfig(topic_name="Private", perm=6))
    assert topics.create_on_send("New", "Unknown", 4, 0) is None
    assert topics.create_on_send("New", "Private", 4, 0) is None


def test_switching_creation_off_counts_at_once(file: Path) -> None:
    live = LiveGroup(TopicKeys())
    topics = BrokerTopics(TopicTable.open(file, clock=Clock()), live)
    topics.make_system_topics(BROKER, 18)
    live.current = replace(live.current, auto_create_topic_enable=False)
    assert topics.create_on_send("New", "TBW102", 4, 0) is None
    assert (
        topics.create_on_send("New", "C", 4, 0) is not None
    )  # another template that its permissions are inherited from


def test_a_topic_has_queues_up_to_a_limit_but_may_keep_those_it_has(file: Path) -> None:
    topics = opened(file)

    def put(read: int, write: int, name: str = "New") -> None:
        topics.put(TopicConfig(topic_name=name, read_queue_nums=read, write_queue_nums=write))

    put(MOST_QUEUES, MOST_QUEUES)
    for read, write in ((1, MOST_QUEUES + 1), (2**31 - 1, 1)):
        for name in ("New", "Newer"):
            with pytest.raises(QueuesTooMany, match=rf"^topic\[{name}\] has [0-9]+ queues, 16384 are the most$"):
                put(read, write, name)
    assert topics.table.data_version.counter == 1
    table = TopicTable.open(file, clock=Clock())
    table.put(TopicConfig(topic_name="Apache", read_queue_nums=2**31 - 1, write_queue_nums=2**31 - 1, perm=7))
    table.persist()
    topics = opened(file)
    put(2**31 - 1, 1_000_000, "Apache")
    put(1_000_000, 1_000_000, "Apache")
    with pytest.raises(QueuesTooMany, match="1000001 queues, 1000000 are the most"):
        put(1_000_001, 1, "Apache")
    assert topics.create_retry("%RETRY%G", 2**31 - 1).write_queue_nums == 2**31 - 1  # of a group of Apache's


def test_a_retry_topic_is_created_once(file: Path) -> None:
    topics = opened(file)
    made = topics.create_retry("%RETRY%G", 2, 1)
    assert (made.read_queue_nums, made.perm, made.topic_sys_flag) == (2, 6, 1)
    assert topics.create_retry("%RETRY%G", 5) == made


def test_retry_topics_are_saved_and_announced_together(file: Path) -> None:
    topics = opened(file)
    topics.create_retry("%RETRY%G3", 3)
    changes: list[int] = []
    topics.changed.subscribe(lambda _: changes.append(len(opened(file).table)))
    wanted = [retry_config(f"%RETRY%G{number}", 1, 2) for number in range(100)]
    topics.create_retries(wanted)
    assert changes == [100]
    assert topics.get("%RETRY%G99") == wanted[99]
    kept = topics.get("%RETRY%G3")
    assert kept is not None
    assert kept.write_queue_nums == 3
    assert {each.topic_name for each in wanted} <= topics.particular
    topics.create_retries(wanted)
    with pytest.raises(NameInvalid):
        topics.create_retries([retry_config("%RETRY%New", 1), retry_config("a.b", 1)])
    assert changes == [100]
    assert topics.get("%RETRY%New") is None
