from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.server.configuration import LiveConfig
from rocketwire.server.core.errors import NameInvalid, RetryGroupNotFound
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.retry_topics import RetryTopics
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from tests.server.harness import Clock, small_config

GROUP = SubscriptionGroupConfig(group_name="G", retry_queue_nums=2, retry_max_times=3)


@pytest.fixture
def groups(tmp_path: Path) -> GroupTable:
    table = GroupTable.open(tmp_path / "groups.json", clock=Clock())
    table.put(GROUP)
    return table


def opened(folder: Path, groups: GroupTable, *, create: bool = True) -> RetryTopics:
    clock = Clock()
    live = LiveConfig(small_config(folder, auto_create_subscription_group=create), clock)
    topics = BrokerTopics(TopicTable.open(folder / "topics.json", clock=clock), live[TopicKeys])
    return RetryTopics(SubscriptionGroups(groups, live[TopicKeys], live[LimitKeys]), topics)


def topic(name: str, queues: int = 1, flag: int = 0) -> TopicConfig:
    return TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues, perm=6, topic_sys_flag=flag)


def test_a_group_is_found_or_created(tmp_path: Path, groups: GroupTable) -> None:
    assert opened(tmp_path, groups).group("G") == GROUP
    assert opened(tmp_path, groups).group("New").retry_max_times == 16
    with pytest.raises(RetryGroupNotFound, match=r"^subscription group not exist, Newer "):
        opened(tmp_path, groups, create=False).group("Newer")


def test_a_group_gets_its_topics(tmp_path: Path, groups: GroupTable) -> None:
    retries = opened(tmp_path, groups)
    assert retries.retry(GROUP, unit_mode=True) == topic("%RETRY%G", 2, 2)
    assert retries.retry(GROUP, unit_mode=False) == topic("%RETRY%G", 2, 2)  # it exists
    assert retries.dead_letters("G") == topic("%DLQ%G")


@pytest.mark.parametrize(("length", "fits"), [(120, True), (121, True), (248, True), (249, False)])
def test_a_group_with_a_long_name_gets_its_topics(tmp_path: Path, groups: GroupTable, length: int, fits: bool) -> None:
    retries = opened(tmp_path, groups)
    group = retries.group("g" * length)
    if fits:
        assert retries.retry(group, unit_mode=False).topic_name == "%RETRY%" + "g" * length
    else:
        with pytest.raises(NameInvalid):
            retries.retry(group, unit_mode=False)


@pytest.mark.parametrize(
    ("tried", "limit", "dead"),
    [(0, None, False), (2, None, False), (3, None, True), (3, 4, False), (4, 4, True), (0, 0, True), (0, -1, True)],
)
def test_a_send_goes_to_the_retry_topic_or_the_dead_letters(
    tmp_path: Path, groups: GroupTable, tried: int, limit: int | None, dead: bool
) -> None:
    retries = opened(tmp_path, groups)
    retry = topic("%RETRY%G", 4)
    found = retries.destination(retry, tried=tried, limit=limit)
    assert found == (topic("%DLQ%G") if dead else retry)
