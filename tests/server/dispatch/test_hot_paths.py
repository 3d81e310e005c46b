"""Which short way gets a frame, and when groups are carried out."""

from __future__ import annotations

from typing import Any

from rocketwire.server.dispatch.hot_paths import HotPaths
from rocketwire.wire.connection import RawFrame


class Path:
    """A short way that notes what it is asked."""

    def __init__(self, *, takes: bool) -> None:
        self._takes = takes
        self.events: list[str] = []

    def offer(self, _session: Any, _frame: RawFrame) -> bool:
        self.events.append("offer")
        return self._takes

    def finish(self) -> None:
        self.events.append("finish")

    def discard(self) -> None:
        self.events.append("discard")


def offered(paths: HotPaths, header: bytes) -> bool:
    session: Any = None
    return paths.offer(session, RawFrame(0, memoryview(header), memoryview(b"")))


def test_a_frame_goes_to_the_way_of_its_code() -> None:
    one, other = Path(takes=True), Path(takes=True)
    paths = HotPaths({36: one, 37: other})
    assert offered(paths, b'{"code":37,"opaque":1}')
    assert (one.events, other.events) == ([], ["offer"])
    for header in (b'{"code":11,"opaque":1}', b'{"code":370,"opaque":1}', b'{"opaque":1,"code":37}', b"", b"\0\x25"):
        assert not offered(paths, header)
    assert (one.events, other.events) == ([], ["offer"])


def test_groups_are_carried_out_once() -> None:
    one, other = Path(takes=True), Path(takes=False)
    paths = HotPaths({36: one, 37: other})
    paths.finish()
    assert not offered(paths, b'{"code":37,')
    paths.finish()
    assert (one.events, other.events) == ([], ["offer"])
    assert offered(paths, b'{"code":36,')
    paths.finish()
    paths.finish()
    assert (one.events, other.events) == (["offer", "finish"], ["offer", "finish"])


def test_groups_that_are_forgotten_are_not_carried_out() -> None:
    path = Path(takes=True)
    paths = HotPaths({36: path})
    assert offered(paths, b'{"code":36,')
    paths.discard()
    paths.finish()
    assert path.events == ["offer", "discard"]
