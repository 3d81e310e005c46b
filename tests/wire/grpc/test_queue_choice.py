import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.grpc.queue_choice import consistent_hash, queue_of_group
from tests.wire import golden


@pytest.mark.parametrize(("group", "queues", "queue"), golden.grpc_cases("groups"))
def test_groups_go_where_apaches_proxy_sends_them(group: str, queues: int, queue: int) -> None:
    assert queue_of_group(group, queues) == queue


@pytest.mark.parametrize(("value", "buckets", "bucket"), golden.grpc_cases("values"))
def test_the_hash_is_guavas(value: str, buckets: int, bucket: int) -> None:
    assert consistent_hash(int(value), buckets) == bucket


@given(st.text(), st.integers(1, 2_000))
def test_with_one_queue_more_a_group_stays_or_goes_there(group: str, queues: int) -> None:
    queue = queue_of_group(group, queues)
    assert 0 <= queue < queues
    assert queue_of_group(group, queues + 1) in (queue, queues)
