"""The demonstration's store: what the notebook shows is in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rocketwire.store.offline.plan.plan import find
from rocketwire.store.offline.plan.select import MessageConditions
from rocketwire.store.offline.plan.summary import group_lags
from rocketwire.store.offline.read.directory import StoreState, discover
from tools import demo_store


def test_it_has_traffic_retries_dead_letters_and_lags(tmp_path: Path) -> None:
    made = demo_store.make(tmp_path / "store", np.random.default_rng(1), messages=6000)
    directory = discover(str(tmp_path / "store"))
    assert directory.state is StoreState.AT_REST
    messages = [one.message for one in find(directory, MessageConditions(system_topics=True), print)]
    assert len(messages) == made.total() > 6000
    assert sum(made[topic.name] for topic in demo_store.TOPICS) == 6000
    assert made["%RETRY%ledger"] > made["%DLQ%ledger"] > 0
    assert made["SCHEDULE_TOPIC_XXXX"] == sum(count for name, count in made.items() if name.startswith("%RETRY%"))
    times = [message.store_timestamp for message in messages]
    assert times == sorted(times)
    assert {message.reconsume_times for message in messages} == {0, 1, 2, 3, 4, 5}
    assert {(lag.group, lag.topic) for lag in group_lags(directory) if lag.lag} == {("parcels", "Shipments")}


def test_the_same_seed_makes_the_same_store(tmp_path: Path) -> None:
    for name in ("a", "b"):
        demo_store.make(tmp_path / name, np.random.default_rng(2), messages=300)
    logs = [next((tmp_path / name / "commitlog").iterdir()).read_bytes() for name in ("a", "b")]
    assert logs[0] == logs[1]
