"""config/timermetrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.store.errors import ConfigInvalid
from rocketwire.store.timer.metrics_table import TimerMetricsTable
from tests.store.support import Golden


def test_counts_are_written_as_apache_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "config" / "timermetrics"
    table = TimerMetricsTable.open(path)
    table.persist()
    assert not path.exists()
    table.put({"A": 2, "B": 1}, 77)
    table.put({"A": 2, "B": 1}, 78)
    table.put({"A": 3}, 79)
    table.persist()
    assert path.read_bytes() == (
        b'{"dataVersion":{"counter":2,"stateVersion":0,"timestamp":79},'
        b'"timingCount":{"A":{"count":3,"timeStamp":79},"B":{"count":0,"timeStamp":79}}}'
    )
    again = TimerMetricsTable.open(path)
    assert (again.count("A"), again.count("B"), again.count("C")) == (3, 0, 0)
    again.put({"A": 3}, 90)
    assert again.encode() is None


def test_the_file_of_apache_is_continued(tmp_path: Path) -> None:
    store = Golden("5.5.0", tmp_path / "golden").copy(tmp_path)
    path = store / "config" / "timermetrics"
    before = path.read_bytes()
    table = TimerMetricsTable.open(path)
    assert (table.count("GoldenTimer"), table.count("GoldenRecall")) == (3, -6)
    table.put({"GoldenTimer": 3}, 1_795_252_056_099)
    table.persist()
    after = path.read_bytes()
    assert after == before.replace(b'"counter":99', b'"counter":100').replace(
        b'"timestamp":1795252056088', b'"timestamp":1795252056099'
    ).replace(b'"count":-6,"timeStamp":1795252048121', b'"count":0,"timeStamp":1795252056099')


@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b'{"dataVersion":5}',
        b'{"timingCount":[]}',
        b'{"timingCount":{"A":1}}',
        b'{"timingCount":{"A":{"count":"x"}}}',
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "timermetrics"
    path.write_bytes(text)
    with pytest.raises(ConfigInvalid, match="no counts"):
        TimerMetricsTable.open(path)
