from __future__ import annotations

import ctypes

import pytest

from rocketwire.server.net.admission import freed_memory
from rocketwire.server.net.admission.freed_memory import AGAIN, LEAST, FreedMemory, return_free_memory


def test_memory_is_given_back_when_much_less_is_in_flight_and_some_times_after() -> None:
    times: list[None] = []
    freed = FreedMemory(lambda: times.append(None))
    freed.look(LEAST, LEAST)
    freed.look(LEAST, 1)
    assert len(times) == 0
    freed.look(LEAST, 0)  # compared with the most since the last time
    assert len(times) == 1
    for _ in range(2 * AGAIN):
        freed.look(0, 0)
    assert len(times) == AGAIN
    freed.look(LEAST, 0)
    assert len(times) == AGAIN + 1


def test_another_c_library_gives_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    return_free_memory()
    freed_memory._trim.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    return_free_memory()
    assert freed_memory._trim() is None
    freed_memory._trim.cache_clear()
