"""Queues that a broker fills again: what the log has of them."""

from __future__ import annotations

from pathlib import Path

from rocketwire.spark.request.option_parsing import read_options
from rocketwire.spark.stores.opening import open_stores
from rocketwire.spark.stores.snapshot import is_lagging
from rocketwire.store.layout.consume_queue import ENTRY_SIZE
from tests.spark.made import make


def lagging(root: Path) -> dict[tuple[str, int], bool]:
    [store] = open_stores(read_options({"path": str(root)}))
    return {(topic, queue_id): is_lagging(store, topic, queue_id) for topic in ("T0", "T1") for queue_id in (0, 1)}


def cut(root: Path, topic: str, queue_id: int, entries: int) -> None:
    """Leave so many entries of a queue."""
    for file in (root / "consumequeue" / topic / str(queue_id)).iterdir():
        data = file.read_bytes()
        kept = min(len(data), max(0, entries * ENTRY_SIZE - int(file.name)))
        file.write_bytes(data[:kept] + bytes(len(data) - kept))


def test_a_queue_lags_while_the_log_has_more_of_it(tmp_path: Path) -> None:
    make(tmp_path)
    assert not any(lagging(tmp_path).values())
    cut(tmp_path, "T0", 1, 20)
    assert [queue for queue, found in lagging(tmp_path).items() if found] == [("T0", 1)]
    cut(tmp_path, "T1", 0, 0)
    assert [queue for queue, found in lagging(tmp_path).items() if found] == [("T0", 1), ("T1", 0)]
    cut(tmp_path, "T0", 1, 20)
    for file in (tmp_path / "commitlog").iterdir():
        file.write_bytes(bytes(file.stat().st_size))
    assert not any(lagging(tmp_path).values())
