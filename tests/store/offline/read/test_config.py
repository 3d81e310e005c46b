from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.offline.read import config
from rocketwire.store.offline.read.config import (
    CheckpointTimes,
    CommittedOffset,
    checkpoint,
    committed_offsets,
    document,
    table,
    topic_names,
)
from rocketwire.store.offline.read.directory import StoreDirectory, StoreState, discover
from rocketwire.store.offline.read.opening import read_whole
from tests.store.support import Golden


def store(root: Path, **files: str) -> StoreDirectory:
    (root / "commitlog").mkdir(parents=True)
    (root / "config").mkdir()
    for name, text in files.items():
        (root / "config" / name.replace("_", ".")).write_text(text)
    return discover(str(root))


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_the_files_of_apache_are_read(version: str, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    directory = discover(str(golden.untouched))
    assert document(directory, "topics.json")["dataVersion"]["counter"] in (32, 33)
    assert {"GoldenFill", "TBW102", "GoldenOrder"} <= topic_names(directory)
    offsets = committed_offsets(directory)
    assert CommittedOffset(group="golden_cg_order", topic="GoldenOrder", queue_id=2, offset=8) in offsets
    meta = json.loads((golden.directory / "expected-meta.json").read_text())
    times = checkpoint(directory)
    assert times is not None
    assert [times.commit_log, times.consume_queue, times.index] == meta["checkpoint"][:3]


def test_the_group_of_a_broadcasting_consumer_has_an_at_sign(golden_550: Golden) -> None:
    offsets = committed_offsets(discover(str(golden_550.untouched)))
    assert {one.topic for one in offsets if one.group == "golden_cg_broad@broadcast"} == {"GoldenBroad"}


def test_offsets_below_zero_count_as_zero(tmp_path: Path) -> None:
    text = '{"offsetTable":{"T@G":{0:-1,1:-9223372036854775808,2:3}}}'
    found = committed_offsets(store(tmp_path, consumerOffset_json=text))
    assert [(one.queue_id, one.offset) for one in found] == [(0, 0), (1, 0), (2, 3)]


def test_a_broken_file_is_read_from_its_former_text(tmp_path: Path) -> None:
    directory = store(tmp_path, a_json="{", a_json_bak='{"x":1}', b_json="  ", b_json_bak='{"x":2}')
    assert document(directory, "a.json") == {"x": 1}
    assert document(directory, "b.json") == {"x": 2}
    assert document(directory, "c.json") == {}


def test_a_file_that_is_written_over_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = store(tmp_path, a_json='{"x":1}', a_json_bak='{"x":0}')
    torn = [b'{"x":']

    def read(path: str, *rest: Any) -> bytes:
        return torn.pop() if torn else read_whole(path, *rest)

    monkeypatch.setattr(config, "read_whole", read)
    assert document(directory, "a.json") == {"x": 1}
    assert torn == []


def test_what_a_broker_prepares_beside_a_file_is_none_of_the_files(tmp_path: Path) -> None:
    beside = {f"a_json_{end}": "{" for end in ("next", "old", "tmp")}
    directory = store(tmp_path, a_json="{}", a_json_bak="{}", a_json_bak_next="{", **beside)
    assert sorted(file.name for file in directory.config) == ["a.json", "a.json.bak"]


@pytest.mark.parametrize("text", ["{", "[1]", '"x"', "\x00"])
def test_a_file_that_is_no_object_is_an_error(text: str, tmp_path: Path) -> None:
    directory = store(tmp_path, a_json=text)
    with pytest.raises(StoreUnreadable, match=r"config/a\.json cannot be read"):
        document(directory, "a.json")


def test_a_pipe_in_a_files_place_is_an_error(tmp_path: Path) -> None:
    directory = store(tmp_path)
    os.mkfifo(tmp_path / "config" / "topics.json")
    with pytest.raises(StoreUnreadable, match="it is not a regular file"):
        topic_names(directory)


def test_what_is_no_table_of_offsets_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable, match="its offsetTable is no table"):
        committed_offsets(store(tmp_path / "a", consumerOffset_json='{"offsetTable":[]}'))
    for number, queues in enumerate(("[]", '{"x":1}', '{"0":null}', '{0:"many"}')):
        directory = store(tmp_path / str(number), consumerOffset_json='{"offsetTable":{"T@G":' + queues + "}}")
        with pytest.raises(StoreUnreadable, match="the offsets of T@G are not numbers"):
            committed_offsets(directory)
    assert committed_offsets(store(tmp_path / "b")) == []
    assert table(store(tmp_path / "c", x_json='{"y":{1:2}}'), "x.json", "y") == {"1": 2}


def test_a_checkpoint_that_is_too_short_is_an_error(tmp_path: Path) -> None:
    assert checkpoint(StoreDirectory(root=str(tmp_path), state=StoreState.AT_REST)) is None
    (tmp_path / "checkpoint").write_bytes(bytes(7) + b"\x05" + bytes(16))
    assert checkpoint(discover(str(tmp_path))) == CheckpointTimes(commit_log=5, consume_queue=0, index=0)
    (tmp_path / "checkpoint").write_bytes(b"short")
    with pytest.raises(StoreUnreadable, match="it has 5 bytes and should have 4096"):
        checkpoint(discover(str(tmp_path)))
