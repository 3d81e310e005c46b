"""The accounts of what is done for a group: offsets that go back, and redelivered messages, are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import pytest

from compat_tests import progress
from compat_tests.progress import Committed, acknowledged_twice
from compat_tests.remoting import Answer, FrameRequest

_BROKER = "127.0.0.1:10911"
_NOT_FOUND = 22


class _Broker:
    """A connection to a broker with two queues, whose offsets are those of `_Broker.offsets`; None: it has none."""

    offsets: Sequence[int | None] = ()

    def __init__(self, address: str) -> None:
        assert address == _BROKER

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def ask_all(self, requests: Iterable[FrameRequest]) -> list[Answer]:
        assert [each.fields["queueId"] for each in requests] == [0, 1]
        return [
            Answer(_NOT_FOUND if offset is None else 0, "", {} if offset is None else {"offset": str(offset)}, b"")
            for offset in self.offsets
        ]


@pytest.fixture
def committed(monkeypatch: pytest.MonkeyPatch) -> Committed:
    monkeypatch.setattr(progress, "Connection", _Broker)
    return Committed([_BROKER], topic="T", group="G", queues=2)


def _received(queue: int, offset: int) -> dict[str, Any]:
    return {"storeHost": f"/{_BROKER}", "queueId": queue, "queueOffset": offset}


def _look(committed: Committed, *offsets: int | None) -> None:
    _Broker.offsets = offsets
    committed.look()


def test_what_comes_before_it_was_committed_is_no_redelivery(committed: Committed) -> None:
    with committed:
        _look(committed, None, 0)
        committed.take([_received(0, 0), _received(0, 1), _received(1, 0)])
        _look(committed, 2, 1)
        committed.take([_received(0, 1), _received(0, 2)])  # it may have got these before the offset was committed
        assert (committed.again, committed.went_back, committed.total) == ([], [], 3)


def test_what_comes_when_it_was_committed_is_a_redelivery(committed: Committed) -> None:
    with committed:
        _look(committed, 2, 1)
        committed.take([_received(0, 1)])
        _look(committed, 2, 1)
        committed.take([_received(0, 1), _received(0, 2), _received(1, 1)])
    assert committed.again == [f"{_BROKER} 0 1"]


def test_an_offset_that_goes_back_is_reported(committed: Committed) -> None:
    with committed:
        _look(committed, 2, 5)
        _look(committed, 2, 4)
    assert committed.went_back == [f"({_BROKER!r}, 1): from 5 to 4"]


def test_a_message_may_be_acknowledged_as_often_as_it_is_stored() -> None:
    stored = [{"msgId": name} for name in ("once", "sent twice", "sent twice", "again")]
    assert acknowledged_twice({"once": 1, "sent twice": 2, "again": 2}, stored) == ["again"]
