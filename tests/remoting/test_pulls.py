"""The question of who is no member of a group."""

from rocketwire.remoting.requests import pull_header
from rocketwire.wire.facts.codes import PullSysFlag


def test_it_asks_for_all_and_neither_waits_nor_commits() -> None:
    header = pull_header("T", 3, 70, most=32, group="G")
    assert (header.topic, header.queue_id, header.queue_offset) == ("T", 3, 70)
    assert (header.max_msg_nums, header.consumer_group) == (32, "G")
    assert (header.subscription, header.expression_type) == ("*", "TAG")
    assert header.sys_flag == PullSysFlag.SUBSCRIPTION
    assert (header.commit_offset, header.suspend_timeout_millis) == (0, 0)
