from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rocketwire.spark.endpoint.write.ids import UniqueKeys
from rocketwire.wire.message_id import UniqueKey

MARCH = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp() * 1000)


class Clock:
    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


@pytest.mark.parametrize(("host", "packed"), [("127.0.0.1", b"\x7f\0\0\1"), ("::1%lo", bytes(15) + b"\1")])
def test_an_id_has_the_parts_of_a_clients(host: str, packed: bytes) -> None:
    keys = UniqueKeys(host, 0x12345, lambda count: b"\xab" * count, Clock(MARCH + 5))
    expected = [
        UniqueKey(ip=packed, process_id=0x2345, loader_hash=0xABABABAB, elapsed=5, counter=counter)
        for counter in (0, 1)
    ]
    assert keys.take(2).to_pylist() == [str(each) for each in expected]
    assert UniqueKey.parse(keys.take(1)[0].as_py()).counter == 2
    assert keys.take(0).to_pylist() == []


def test_ids_rise_whatever_the_clock_does() -> None:
    clock = Clock(MARCH + 1000)
    keys = UniqueKeys("127.0.0.1", 1, bytes, clock)
    found = keys.take(70_000).to_pylist()
    assert UniqueKey.parse(found[-1]).elapsed == 1001
    clock.now -= 500
    found += keys.take(2).to_pylist()
    clock.now += 10_000
    found += keys.take(2).to_pylist()
    assert found == sorted(set(found))
    assert UniqueKey.parse(found[-1]).elapsed == 10_500


def test_time_is_counted_from_the_beginning_of_the_month() -> None:
    clock = Clock(MARCH - 1)
    keys = UniqueKeys("127.0.0.1", 1, bytes, clock)
    assert UniqueKey.parse(keys.take(1)[0].as_py()).elapsed == 28 * 24 * 3600 * 1000 - 1
    clock.now = MARCH + 7
    assert UniqueKey.parse(keys.take(1)[0].as_py()).elapsed == 7
    clock.now = MARCH - 1
    assert UniqueKey.parse(keys.take(1)[0].as_py()).elapsed >= 7
