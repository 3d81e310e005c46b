"""What is kept of a client's words, and how much."""

from __future__ import annotations

from rocketwire.server.grpc.tables.declarations import MOST_BYTES, MOST_TAGS, NO_DECLARATION
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc.filters import TAG, Filter
from tests.server.grpc.sdk import consumer_settings, producer_settings

TAGS = Filter(TAG, "||".join(f"{number:04}" + "x" * 20 for number in range(4000)))


def test_of_what_a_client_receives_from_the_newest_is_kept() -> None:
    said = NO_DECLARATION
    for number in range(20):
        said = said.with_subscription("G", f"T{number}", TAGS, number)
    size = sum(len(topic) + len(to.text) for topic, (to, _) in said.filters.items())
    assert size <= MOST_BYTES
    assert sum(to.text.count("||") + 1 for to, _ in said.filters.values()) <= MOST_TAGS
    assert list(said.filters) == ["T18", "T19"]
    heartbeat = said.heartbeat("c")
    assert heartbeat is not None
    assert len(encode_body(heartbeat)) < 4 * MOST_BYTES
    assert list(said.with_subscription("G", "T18", Filter(TAG, "a"), 100).filters) == ["T19", "T18"]


def test_one_subscription_is_kept_however_long_it_is() -> None:
    longest = Filter(TAG, "x" * (MOST_BYTES + 1))
    said = NO_DECLARATION.with_subscription("G", "T", TAGS, 1).with_subscription("G", "Other", longest, 2)
    assert list(said.filters) == ["Other"]


def test_of_settings_nothing_is_kept_that_nobody_uses() -> None:
    settings = producer_settings("A", "B", "A")
    settings.user_agent.hostname = "h" * 100_000
    settings.request_timeout.FromMilliseconds(1500)
    said = NO_DECLARATION.with_settings(settings, 1)
    assert said == NO_DECLARATION._replace(producers=("A", "B"), request_ms=1500)
    assert said.cost < 10_000


def test_what_a_client_says_costs_more_the_more_it_is() -> None:
    said = NO_DECLARATION.with_settings(consumer_settings("G", TAGS.text), 1)
    assert said.cost > 10 * len(TAGS.text)
    assert not said.active or consumer_settings().client_type == d.SIMPLE_CONSUMER
    assert NO_DECLARATION.cost == 0
