"""The example notebook runs on a store of the demonstration's kind, and shows what is in there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tools import demo_store, spark_demo

_MESSAGES = 15_000


def test_the_notebook_shows_what_is_in_the_store(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = demo_store.make(tmp_path / "store", np.random.default_rng(4), messages=_MESSAGES)
    monkeypatch.setenv("ROCKETMQ_STORE", str(tmp_path / "store"))
    try:
        found, plots = spark_demo.run(spark_demo.NOTEBOOK, tmp_path)
    finally:
        spark.catalog.clearCache()

    topics = found["overview"].set_index("topic")["messages"].to_dict()
    assert topics == made
    retried = sum(count for topic, count in made.items() if topic.startswith("%RETRY%"))
    assert found["counts"] == {"sent": _MESSAGES, "retried": retried, "dead": made["%DLQ%ledger"]}
    assert found["traffic"]["messages"].sum() == _MESSAGES
    assert found["traffic"].groupby("topic")["messages"].sum().to_dict() == {
        topic.name: made[topic.name] for topic in demo_store.TOPICS
    }

    delays = {
        int(time.timestamp() * 1000): row
        for time, row in zip(found["delays"]["time"], found["delays"]["delays"], strict=True)
    }
    slow = delays.pop(demo_store.START + demo_store.SLOW[0])
    assert slow[0] > 10 * max(row[0] for row in delays.values())
    assert all(list(row) == sorted(row) for row in delays.values())
    waits = found["retry_delays"].set_index("reconsume_times")["50 % (s)"]
    assert [round(wait, -1) for wait in waits] == [10, 40, 100, 220]

    rates = found["rates"]
    assert rates["dead"].sum() == made["%DLQ%ledger"]
    assert rates.loc[rates["retried"].idxmax(), "topic"] == "Payments"
    assert found["hot"]["key"][0] == "customer-0"
    assert found["hot"]["count"].is_monotonic_decreasing
    assert 15 < found["hot"]["share"][0] < 40

    assert [path.name for path in plots] == [f"plot-{number}.png" for number in range(1, 5)]
    for axes in found["figure"].axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()
    assert all(path.stat().st_size > 10_000 for path in plots)
    cells = json.loads((tmp_path / spark_demo.NOTEBOOK.name).read_text(encoding="utf-8"))["cells"]
    assert sum("image/png" in output.get("data", {}) for cell in cells for output in cell.get("outputs", ())) == 4
