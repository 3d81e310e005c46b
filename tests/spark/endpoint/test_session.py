"""What all uses of an endpoint share: accounts, several brokers, and the errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import NotReached, Refused
from rocketwire.spark.endpoint.options import endpoint_options
from rocketwire.spark.endpoint.session import RetryPauses, call_endpoint
from rocketwire.spark.errors import EndpointRefused, OptionInvalid, SendFailed
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, QueueData, TopicRouteData
from rocketwire.wire.facts.codes import RequestCode
from tests.cli.endpoint import Answers, FakeAnswer, fake_server
from tests.spark.endpoint.accounts import ACCOUNT, guarded_endpoint
from tests.spark.endpoint.fake_queue import FakeQueue, record
from tests.spark.endpoint.support import rows, written
from tests.spark.reads import Read


def test_access_control_lets_accounts_read_and_write(tmp_path: Path) -> None:
    with guarded_endpoint(tmp_path) as namesrv:
        account: dict[str, Any] = dict(ACCOUNT)
        assert written(namesrv, rows(body=[b"a", b"b"]), topic="Guarded", **account) == 2
        found = Read(None, namesrv=namesrv, topic="Guarded", columns="body", consumerGroup="readers", **account)
        assert sorted(row["body"] for row in found.rows()) == [b"a", b"b"]
        with pytest.raises(EndpointRefused, match="group:TOOLS_CONSUMER"):
            Read(None, namesrv=namesrv, topic="Guarded", **account)
        with pytest.raises(EndpointRefused, match="give the options accessKey and secretKey"):
            Read(None, namesrv=namesrv, topic="Guarded")
        with pytest.raises(SendFailed, match="answered code 1: "):
            written(
                namesrv, rows(body=[b"c"]), topic="Guarded", retries="0", accessKey="sparkuser", secretKey="wrong123"
            )


def broker(name: str) -> Answers:
    """A broker with 50 messages of topic T in its queue 0, whose bodies are its name."""
    return FakeQueue([record(at, name.encode()) for at in range(50)]).answers()


def test_a_cluster_of_several_brokers() -> None:
    with fake_server(broker("x")) as first, fake_server(broker("y")) as second:
        brokers = {
            name: BrokerData(cluster="c", broker_name=name, broker_addrs={0: server.address})
            for name, server in (("x", first), ("y", second))
        }
        queues = tuple(QueueData(broker_name=name, read_queue_nums=1, write_queue_nums=1, perm=6) for name in brokers)
        route = TopicRouteData(broker_datas=tuple(brokers.values()), queue_datas=queues)
        first.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda _: FakeAnswer(body=encode_body(route))
        cluster = ClusterInfo(broker_addr_table=brokers)
        first.answers[RequestCode.GET_BROKER_CLUSTER_INFO] = lambda _: FakeAnswer(body=encode_body(cluster))
        found = Read(None, namesrv=first.address, topic="T", columns="broker,queue_offset,body")
        assert len(found.partitions) == 2
        assert sorted(map(tuple, (row.values() for row in found.rows()))) == [
            (name, offset, name.encode()) for name in ("x", "y") for offset in range(50)
        ]


def test_errors_that_may_pass_are_retried_and_others_are_raised() -> None:
    slept: list[float] = []
    with pytest.raises(OptionInvalid, match="option namesrv nowhere: expected HOST:PORT"):
        call_endpoint(endpoint_options({"namesrv": "nowhere"}), lambda _: None, sleep=slept.append)
    assert slept == []
    patience = RetryPauses(slept.append)
    for _ in range(4):
        patience.wait_after(NotReached("b", "gone"))
    with pytest.raises(NotReached):
        patience.wait_after(NotReached("b", "gone"))
    assert slept == [0.25, 0.5, 1.0, 2.0]
    patience.reset()
    for _ in range(11):
        patience.wait_after(Refused("b", 215, None))
    assert max(slept) == 5.0
    with pytest.raises(Refused):
        patience.wait_after(Refused("b", 215, None))
    with pytest.raises(Refused):
        RetryPauses(slept.append).wait_after(Refused("b", 16, None))

    def broken(_: BlockingCluster) -> None:
        raise Refused("broker b", 16, "not allowed")

    with fake_server() as server, pytest.raises(EndpointRefused, match=r"not allowed\. Grant the permission"):
        call_endpoint(endpoint_options({"namesrv": server.address}), broken)
