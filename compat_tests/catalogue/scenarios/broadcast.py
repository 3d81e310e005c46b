"""Broadcasting: every member of a group gets every message."""

from __future__ import annotations

from collections import Counter

from rocketwire.compat.case import Case
from rocketwire.compat.messages import Outgoing, assert_each_once
from rocketwire.compat.scenario import scenario


@scenario(
    id="broadcast.to-all",
    proves="Each of two broadcasting consumers of one group gets every message once.",
    source="Apache 4.9, MessageModel.BROADCASTING; rocketmq.apache.org, Push Consumer",
    programs=("PushBroadcast",),
)
def to_all(case: Case) -> None:
    topic = case.topic()
    messages = [Outgoing(body=f"to everyone {i}", tags="All") for i in range(16)]
    received = case.client.only("received", "PushBroadcast", topic=topic, group=case.group(), message=messages)
    assert Counter(event["by"] for event in received) == {"a": 16, "b": 16}
    for name in ("a", "b"):
        assert_each_once([event for event in received if event["by"] == name], messages)
