"""Where a time is in a queue, and how large messages are."""

from __future__ import annotations

import pytest

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import NoSuchTopic
from rocketwire.spark.endpoint.queues import at_time, bounds, mean_size, requested_queues
from rocketwire.spark.request.option_parsing import read_options
from rocketwire.spark.request.request import request_of
from rocketwire.spark.stream.offsets import BrokerQueue
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.route import TopicList
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.message import MessageRecord, encode_record
from tests.cli.endpoint import Answers, FakeAnswer, fake_server

GROUP = "TOOLS_CONSUMER"


def broker(times: list[int | None]) -> Answers:
    """Queue 0 of T, with messages of these times (None: damaged or removed); queue 1 has none."""

    def pull(ext: dict[str, str]) -> FakeAnswer:
        offset, most = int(ext["queueOffset"]), int(ext["maxMsgNums"])
        if times[offset] is None:
            return FakeAnswer(21)
        records = [
            encode_record(MessageRecord(topic="T", queue_id=0, body=b"x" * 9, store_timestamp=t or 0)) for t in times
        ]
        return FakeAnswer(body=b"".join(records[offset : offset + most]))

    return {
        RequestCode.GET_MIN_OFFSET: lambda _: FakeAnswer(0, {"offset": "-1"}),
        RequestCode.GET_MAX_OFFSET: lambda ext: FakeAnswer(
            0, {"offset": "0" if ext["queueId"] == "1" else str(len(times))}
        ),
        RequestCode.PULL_MESSAGE: pull,
    }


@pytest.mark.parametrize(
    ("times", "time", "found"),
    [
        ([5, 5, 5, 5, 9], 5, 0),
        ([5, 5, 5, 5, 9], 6, 4),
        ([5, 5], 10, 2),
        ([5, 5], 1, 0),
        ([1, 2, 3, 4, 5, 6], 4, 3),
        ([None, None, 7, 8], 7, 2),
        ([None], 0, 1),
    ],
)
def test_the_offset_of_a_time_is_that_of_the_first_message_stored_then_or_later(
    times: list[int | None], time: int, found: int
) -> None:
    full, empty = BrokerQueue("b", "T", 0), BrokerQueue("b", "T", 1)
    with fake_server(broker(times)) as server, BlockingCluster(server.address) as cluster:
        there = bounds(cluster, [full, empty])
        assert there == {full: (0, len(times)), empty: (0, 0)}
        assert at_time(cluster, there, time, group=GROUP) == {full: found, empty: 0}


def test_how_large_messages_are_about() -> None:
    size = len(encode_record(MessageRecord(topic="T", queue_id=0, body=b"x" * 9)))
    with fake_server(broker([1, 2, 3])) as server, BlockingCluster(server.address) as cluster:
        assert mean_size(cluster, {BrokerQueue("b", "T", 0): (1, 3)}, group=GROUP) == size
        assert mean_size(cluster, {}, group=GROUP) == 1024


def test_a_topic_that_is_deleted_while_topics_are_queried() -> None:
    answers: Answers = {
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: lambda _: FakeAnswer(
            body=encode_body(TopicList(topic_list=("T", "Gone", "%RETRY%G")))
        )
    }
    with fake_server(answers) as server, BlockingCluster(server.address) as cluster:
        any_topic = request_of(read_options({"namesrv": server.address}))
        assert requested_queues(cluster, any_topic) == [BrokerQueue("b", "T", 0), BrokerQueue("b", "T", 1)]
        with pytest.raises(NoSuchTopic):
            requested_queues(cluster, request_of(read_options({"namesrv": server.address, "topics": "T,Gone"})))
        one_queue = request_of(read_options({"namesrv": server.address, "queues": "1,7"}))
        assert requested_queues(cluster, one_queue) == [BrokerQueue("b", "T", 1)]
    assert str(BrokerQueue("b", "T", 1)) == "broker b, topic T, queue 1"
