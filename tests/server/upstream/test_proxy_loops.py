"""Probes that detect loops of proxies."""

from __future__ import annotations

import pytest

from rocketwire.server.upstream.connecting import connect_plain
from rocketwire.server.upstream.proxy_loops import MOST_PROXIES, ProxyLoopGuard, is_loop_probe
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header


def rings(own: str = "0a") -> ProxyLoopGuard:
    return ProxyLoopGuard(own, connect_plain)


def test_each_proxy_adds_its_id() -> None:
    remark = rings("0b").add_own_mark(rings("0a").add_own_mark())
    assert remark == "proxies 0a,0b"
    assert rings("0a").is_loop(remark)
    assert rings("0b").is_loop(remark)
    assert not rings("0c").is_loop(remark)


@pytest.mark.parametrize("remark", [None, "", "proxies", "proxies ", "proxies x", "a remark", "proxies " + "a" * 500])
def test_other_remarks_are_ignored(remark: str | None) -> None:
    assert not rings().is_loop(remark)
    assert rings().add_own_mark(remark) == "proxies 0a"


def test_too_many_proxies_count_as_a_loop() -> None:
    remark = None
    for number in range(MOST_PROXIES):
        assert not rings("ff").is_loop(remark)
        remark = rings(f"{number:02x}").add_own_mark(remark)
    assert rings("ff").is_loop(remark)


def test_a_probe_is_recognised_by_its_first_bytes() -> None:
    for code, is_one in ((29876, True), (29877, False), (2987, False), (10, False)):
        assert is_loop_probe(encode_frame(Header(code=code, opaque=1, ext={}), b"")[:22]) is is_one
    assert not is_loop_probe(b"\0")
