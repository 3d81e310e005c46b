"""Questions that find rings: what a proxy notes of them."""

from __future__ import annotations

import pytest

from rocketwire.server.upstream.connecting import connected
from rocketwire.server.upstream.rings import MOST_PROXIES, Rings, is_question
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header


def rings(own: str = "0a") -> Rings:
    return Rings(own, connected)


def test_each_proxy_adds_its_id() -> None:
    remark = rings("0b").passed_on(rings("0a").passed_on())
    assert remark == "proxies 0a,0b"
    assert rings("0a").goes_round(remark)
    assert rings("0b").goes_round(remark)
    assert not rings("0c").goes_round(remark)


@pytest.mark.parametrize("remark", [None, "", "proxies", "proxies ", "proxies x", "a remark", "proxies " + "a" * 500])
def test_other_remarks_say_nothing(remark: str | None) -> None:
    assert not rings().goes_round(remark)
    assert rings().passed_on(remark) == "proxies 0a"


def test_a_row_that_is_too_long_is_a_ring() -> None:
    remark = None
    for number in range(MOST_PROXIES):
        assert not rings("ff").goes_round(remark)
        remark = rings(f"{number:02x}").passed_on(remark)
    assert rings("ff").goes_round(remark)


def test_the_question_is_known_by_its_first_bytes() -> None:
    for code, is_one in ((29876, True), (29877, False), (2987, False), (10, False)):
        assert is_question(encode_frame(Header(code=code, opaque=1, ext={}), b"")[:22]) is is_one
    assert not is_question(b"\0")
