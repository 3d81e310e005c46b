"""Which transactions clients may end."""

from __future__ import annotations

import tracemalloc

from rocketwire.server.grpc.transactions import PendingTransactions


def test_a_transaction_takes_no_more_memory_because_its_id_is_long() -> None:
    pending = PendingTransactions(lambda: 0.0)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(100):
            pending.add("T", f"{number}" + "x" * 30_000, number, 100 * number, "broker-a")
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()
    assert pending.find("T", "7" + "x" * 30_000) == (7, 700, "broker-a")
    assert pending.find("T", "7") is None
    assert pending.find("T 7", "x" * 30_000) is None
    pending.forget("T", "7" + "x" * 30_000)
    assert pending.find("T", "7" + "x" * 30_000) is None


def test_a_transaction_id_may_be_any_text() -> None:
    pending = PendingTransactions(lambda: 0.0)
    pending.add("T", "\ud800", 1, 2, None)
    assert pending.find("T", "\ud800") == (1, 2, None)
