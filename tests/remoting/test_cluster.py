from __future__ import annotations

import pytest

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import NameServersInvalid, NoBroker, NoSuchTopic, NotReached, Refused
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, QueueData, TopicList, TopicRouteData
from rocketwire.wire.facts.codes import RequestCode
from tests.cli.endpoint import Answers, FakeAnswer, fake_server
from tests.server.processes import eventually

ROUTE = RequestCode.GET_ROUTEINFO_BY_TOPIC


def test_queues_and_brokers_of_a_topic() -> None:
    queues = (
        QueueData(broker_name="b", read_queue_nums=2, write_queue_nums=4, perm=6),
        QueueData(broker_name="a", read_queue_nums=1, write_queue_nums=1, perm=4),
        QueueData(broker_name="closed", read_queue_nums=8, write_queue_nums=8, perm=2),
    )
    with fake_server() as server:
        addresses = {0: server.address, 1: "192.0.2.1:1"}
        brokers = (BrokerData(broker_name="b", broker_addrs=addresses), BrokerData(broker_name="empty"))
        server.answers[ROUTE] = lambda _: FakeAnswer(
            body=encode_body(TopicRouteData(broker_datas=brokers, queue_datas=queues))
        )
        with BlockingCluster(server.address) as cluster:
            assert cluster.readable_queues("T") == [("a", 0), ("b", 0), ("b", 1)]
            found = cluster.brokers_of("T")
            assert list(found) == ["b"]
            assert found["b"].address == ("127.0.0.1", server.port)
            assert cluster.brokers_of("T")["b"] is found["b"]
            assert cluster.all_brokers()["b"] is found["b"]


def test_the_first_name_server_that_can_be_reached_is_queried() -> None:
    with fake_server() as gone:
        closed = gone.address
    with fake_server() as server:
        with BlockingCluster(f"{closed}; {server.address}") as cluster:
            assert cluster.readable_queues("T") == [("b", 0), ("b", 1)]
        with pytest.raises(NotReached, match=closed):
            BlockingCluster(f"{closed};{closed}")


@pytest.mark.parametrize("text", ["", ";", "localhost", "::1:9876", "host:99999"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(NameServersInvalid, match=r"^namesrv .*expected"):
        BlockingCluster(text)


def test_what_is_not_there() -> None:
    with fake_server() as server, BlockingCluster(server.address) as cluster:
        with pytest.raises(NoSuchTopic, match=f"topic U: the name server {server.address} knows no such topic"):
            cluster.route("U")
        server.answers[RequestCode.GET_BROKER_CLUSTER_INFO] = lambda _: FakeAnswer(body=encode_body(ClusterInfo()))
        with pytest.raises(NoBroker, match="no broker is registered there"):
            cluster.all_brokers()
        del server.answers[ROUTE]
        with pytest.raises(NotReached, match="is no name server; a broker's address"):
            cluster.route("T")
        server.answers[ROUTE] = lambda _: FakeAnswer(1, remark="busy")
        with pytest.raises(Refused, match="answered code 1: busy"):
            cluster.route("T")


def test_an_address_of_a_broker_that_is_none() -> None:
    with fake_server() as server, BlockingCluster(server.address) as cluster:
        broken = ClusterInfo(broker_addr_table={"b": BrokerData(broker_name="b", broker_addrs={0: "nowhere"})})
        server.answers[RequestCode.GET_BROKER_CLUSTER_INFO] = lambda _: FakeAnswer(body=encode_body(broken))
        with pytest.raises(NotReached, match="broker nowhere: the name server gave an address that is none"):
            cluster.all_brokers()


def test_a_name_server_that_closed_its_connection_is_connected_to_again() -> None:
    with fake_server() as server, BlockingCluster(server.address) as cluster:
        cluster.route("T")
        server.hang_up()
        assert cluster.readable_queues("T") == [("b", 0), ("b", 1)]


def test_after_a_name_server_that_is_stuck_the_next_one_is_used() -> None:
    with fake_server({ROUTE: lambda _: None}) as stuck, fake_server() as server:
        with BlockingCluster(f"{stuck.address};{server.address}", timeout=1.5) as cluster:
            assert cluster.readable_queues("T") == [("b", 0), ("b", 1)]
            assert cluster.readable_queues("T") == [("b", 0), ("b", 1)]
        closed = f"{stuck.address};{stuck.address}"
        with (
            BlockingCluster(closed, timeout=0.1) as cluster,
            pytest.raises(NotReached, match=r"no answer within 0\.1 s"),
        ):
            cluster.route("T")
        assert eventually(lambda: len(stuck.requests) == 4)


def test_a_broker_is_found_by_its_name_and_connected_to_again_once_it_is_forgotten() -> None:
    with fake_server() as server, BlockingCluster(server.address) as cluster:
        first = cluster.broker("b")
        assert cluster.broker("b") is first
        cluster.discard(first)
        second = cluster.broker("b")
        assert second is not first
        assert second.address == first.address
        with pytest.raises(NoBroker, match=f"name server {server.address}: no broker other is registered there"):
            cluster.broker("other")


def test_groups_are_known_by_their_retry_topics() -> None:
    topics = TopicList(topic_list=("T", "%RETRY%b", "%DLQ%b", "%RETRY%a"))
    answers: Answers = {RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: lambda _: FakeAnswer(body=encode_body(topics))}
    with fake_server(answers) as server, BlockingCluster(server.address) as cluster:
        assert cluster.groups() == ["a", "b"]
        assert cluster.topics() == ["%DLQ%b", "%RETRY%a", "%RETRY%b", "T"]
