from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.topics.topic_limit import TopicLimit
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from tests.server.harness import Clock

GROUPS = st.sampled_from(["G", "H"])
TOPICS = st.sampled_from(["T", "U", "SCHEDULE_TOPIC_XXXX", "%RETRY%G", "%RETRY%H", "%DLQ%G", "%RETRY%unknown"])
CHANGES = st.one_of(
    st.tuples(st.sampled_from(["topic", "own", "no topic"]), TOPICS),
    st.tuples(st.sampled_from(["group", "no group"]), GROUPS),
)


@given(st.lists(CHANGES, max_size=30), st.integers(0, 3))
def test_the_counters_equal_the_tables(changes: list[tuple[str, str]], before: int) -> None:
    folder, clock = Path("/nowhere"), Clock()
    topics = TopicTable.open(folder / "topics.json", clock=clock)
    groups = GroupTable.open(folder / "groups.json", clock=clock)
    for number in range(before):
        topics.put(TopicConfig(topic_name=f"old{number}"))
    room = TopicLimit(topics, groups, LiveGroup(LimitKeys(max_topics=4)))
    for change, name in changes:
        if change == "topic":
            topics.put(TopicConfig(topic_name=name))
        elif change == "own":
            topics.put_built_in(TopicConfig(topic_name=name))
        elif change == "no topic":
            topics.remove(name)
        elif change == "group":
            groups.put(SubscriptionGroupConfig(group_name=name))
        else:
            groups.remove(name)
    free = {f"%{kind}%{group}" for kind in ("RETRY", "DLQ") for group in groups.names()} | {"SCHEDULE_TOPIC_XXXX"}
    counted = len(set(topics.names()) - free)
    wanted = [f"new{number}" for number in range(4)]
    for count in range(1, 5):
        if counted + count <= 4:
            room.check(wanted[:count])
        else:
            with pytest.raises(LimitExceeded, match=r"maxTopics=4$"):
                room.check(wanted[:count])
    room.check([*free, *topics.names()])
