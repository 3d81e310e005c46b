from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.store.errors import ConfigInvalid
from rocketwire.store.tables.pop.order_info import OrderInfo, OrderInfoTable
from rocketwire.wire.bodies.fastjson import loads
from tests.wire import golden

INFO = OrderInfo(
    attempt_id="a",
    commit_offset_bit=1,
    invisible_time=60_000,
    last_consume_timestamp=7,
    offset_list=(10, 1, 5),
    offset_consumed_count={10: 2, 11: 1},
    offset_next_visible_time={15: 99},
    pop_time=6,
)
FILES = [row["file"].encode() for row in golden.pop_rows("order") if "file" in row]


def opened(folder: Path) -> OrderInfoTable:
    return OrderInfoTable.open(folder / "config" / "consumerOrderInfo.json")


def text(folder: Path) -> bytes:
    return (folder / "config" / "consumerOrderInfo.json").read_bytes()


def having(folder: Path, data: bytes) -> OrderInfoTable:
    (folder / "config").mkdir()
    (folder / "config" / "consumerOrderInfo.json").write_bytes(data)
    return opened(folder)


def test_batches_are_kept(tmp_path: Path) -> None:
    table = opened(tmp_path)
    assert (table.get("T", "G", 0), table.consumptions(), table.encode()) == (None, [], None)
    table.put("T", "G", 0, INFO)
    table.put("T", "G", 3, OrderInfo(offset_list=(4,)))
    table.put("%RETRY%T", "H", 0, OrderInfo())
    table.persist()
    again = opened(tmp_path)
    assert again.get("T", "G", 0) == INFO
    assert again.of("T", "G") == {0: INFO, 3: OrderInfo(offset_list=(4,))}
    assert again.consumptions() == [("T", "G"), ("%RETRY%T", "H")]
    assert loads(text(tmp_path))["orderInfoCount"] == 2


def test_batches_are_removed(tmp_path: Path) -> None:
    table = opened(tmp_path)
    for queue_id in (0, 1):
        table.put("T", "G", queue_id, INFO)
    table.persist()
    table.remove("T", "G", 0)
    assert table.of("T", "G") == {1: INFO}
    table.remove("T", "G", 1)
    assert (table.of("T", "G"), table.consumptions()) == ({}, [])
    table.persist()
    for key in (("T", "G", 1), ("U", "G", 0)):
        table.remove(*key)
    assert table.encode() is None
    assert text(tmp_path) == b'{\n\t"orderInfoCount":0,\n\t"orderedConsumptionLevel":"QUEUE",\n\t"table":{}\n}'


def test_a_killed_process_loses_no_change(tmp_path: Path) -> None:
    table = opened(tmp_path)
    (tmp_path / "config").mkdir()
    for queue_id in (0, 1):
        table.put("T", "G", queue_id, INFO)
    table.persist()
    assert table.unsaved_changes == ()
    table.put("T", "G", 0, OrderInfo())
    table.put("T", "G", 0, OrderInfo(offset_list=(4,)))
    table.remove("T", "G", 1)
    again = opened(tmp_path)
    assert again.of("T", "G") == {0: OrderInfo(offset_list=(4,))}
    assert [(each.queue_id, each.info) for each in again.unsaved_changes] == [
        (0, OrderInfo(offset_list=(4,))),
        (1, None),
    ]
    again.close()
    assert {each.name for each in (tmp_path / "config").iterdir()} == {
        "consumerOrderInfo.json",
        "consumerOrderInfo.json.bak",
    }
    assert (opened(tmp_path).of("T", "G"), opened(tmp_path).unsaved_changes) == (again.of("T", "G"), ())


@given(st.lists(st.integers(0, 1 << 40), unique=True, min_size=1, max_size=5).map(sorted))
def test_offsets_are_kept_as_distances(offsets: list[int]) -> None:
    first = offsets[0]
    info = OrderInfo(offset_list=(first, *(each - first for each in offsets[1:])))
    assert list(info.offsets) == offsets


def test_a_batch_may_be_of_nothing() -> None:
    assert OrderInfo().offsets == ()


@pytest.mark.parametrize("data", FILES)
def test_apaches_files_are_written_again_byte_for_byte(tmp_path: Path, data: bytes) -> None:
    table = having(tmp_path, data)
    (topic, group), *_ = table.consumptions()
    queue_id, info = next(iter(table.of(topic, group).items()))
    table.put(topic, group, queue_id, info)
    table.persist()
    assert text(tmp_path) == data
    assert (tmp_path / "config" / "consumerOrderInfo.json.bak").read_bytes() == data


def test_what_a_later_version_adds_survives_a_change(tmp_path: Path) -> None:
    table = having(tmp_path, FILES[-1].replace(b'"cm":0', b'"later":7,"cm":0').replace(b"{", b'{"zzz":1,', 1))
    table.put("T", "G", 0, INFO)
    table.remove("Order", "oh", 0)
    table.persist()
    after = loads(text(tmp_path))
    assert after["zzz"] == 1
    assert after["table"]["Order@og"][0]["later"] == 7
    assert 0 not in after["table"]["Order@oh"]
    assert list(after["table"]["T@G"][0]) == ["a", "cm", "i", "l", "o", "oc", "ot", "popTime"]


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="consumerOrderInfo"):
        having(tmp_path, b'{"table":{"T@G":5}}')
