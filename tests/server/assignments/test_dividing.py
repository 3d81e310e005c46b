from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.assignments.dividing import ANY_QUEUE, STRATEGIES, TopicQueues, rank_of, share_of

counts = st.integers(1, 20)


@pytest.mark.parametrize("name", STRATEGIES)
@given(queues=counts, clients=counts)
def test_each_queue_has_one_client_and_no_client_two_more_than_another(name: str, queues: int, clients: int) -> None:
    shares = [list(STRATEGIES[name](queues, clients, client)) for client in range(clients)]
    assert sorted(chain(*shares)) == list(range(queues))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("name", STRATEGIES)
@given(queues=counts, clients=counts, others=counts)
def test_a_queue_is_shared_when_there_are_more_clients(name: str, queues: int, clients: int, others: int) -> None:
    strategy = STRATEGIES[name]
    for client in range(clients):
        found = list(share_of(strategy, queues, clients, client, others))
        if clients > queues:
            assert found == [client % queues]
        else:
            behind = {(client + n) % clients for n in range(others + 1)}
            assert found == sorted({queue for each in behind for queue in strategy(queues, clients, each)})


@given(st.dictionaries(st.text(max_size=2), st.integers(0, 5), max_size=5))
def test_queues_are_numbered_by_broker_and_id(by_broker: dict[str, int]) -> None:
    queues = TopicQueues(by_broker)
    found = [queues[number] for number in range(len(queues))]
    in_order = sorted(by_broker, key=lambda name: name.encode("utf-16-be"))
    assert found == [(name, number) for name in in_order for number in range(by_broker[name])]
    any_queue = queues.any_of_brokers()
    brokers = [name for name in in_order if by_broker[name]]
    assert [any_queue[number] for number in range(len(any_queue))] == [(name, ANY_QUEUE) for name in brokers]


def test_clients_are_sorted_as_by_java() -> None:
    assert [rank_of(each, ["c", "b", "a"]) for each in "abc"] == [0, 1, 2]
    assert rank_of("\uffff", ["\U0001f600"]) == 1
