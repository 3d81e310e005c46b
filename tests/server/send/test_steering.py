"""The properties that decide when a message is delivered."""

from __future__ import annotations

import pytest

from rocketwire.server.core.errors import MessageIllegal
from rocketwire.server.send.delivery_properties import DeliveryProperties, delivery_properties


@pytest.mark.parametrize(
    ("items", "level", "other_level", "transactional"),
    [
        ("DELAY\x013", 3, False, False),
        ("DELAY\x01+3", 3, True, False),
        ("DELAY\x0199", 18, True, False),
        ("DELAY\x011\x02DELAY\x012", 2, False, False),
        ("DELAY\x01-1", 0, True, False),
        ("TRAN_MSG\x01True", 0, True, True),
        ("TRAN_MSG\x01no\x02DELAY\x0118", 18, False, False),
    ],
)
def test_delays_and_times_are_read(items: str, level: int, other_level: bool, transactional: bool) -> None:
    assert delivery_properties(items, None, 18) == DeliveryProperties(level, other_level, transactional, b"")


def test_wait_may_stand_behind_other_properties() -> None:
    assert delivery_properties("DELAY\x013", "False", 18).wait == b"\x02WAIT\x01False"


def test_a_malformed_level_is_refused() -> None:
    for _ in range(2):
        with pytest.raises(MessageIllegal, match=r"^property DELAY"):
            delivery_properties("DELAY\x01x", None, 18)
