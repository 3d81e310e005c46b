from __future__ import annotations

from rocketwire.remoting.once import unique_key
from rocketwire.wire.facts.properties import ORIGIN_MESSAGE_ID, UNIQ_KEY
from tests.remoting.once.support import Sent


def test_the_producers_key_stays_the_same_in_a_retry() -> None:
    first = Sent("place 1", properties={UNIQ_KEY: "U"})
    retried = Sent("place 2", properties={UNIQ_KEY: "U", ORIGIN_MESSAGE_ID: "place 1"})
    assert unique_key(first) == unique_key(retried) == "U"


def test_without_one_the_first_place_counts() -> None:
    assert unique_key(Sent("place 1")) == "place 1"
    assert unique_key(Sent("place 2", properties={ORIGIN_MESSAGE_ID: "place 1"})) == "place 1"
