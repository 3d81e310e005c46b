from __future__ import annotations

from pathlib import Path

from rocketwire.store.tables.request_modes import RequestModeTable
from rocketwire.wire.bodies.assignment import MessageRequestMode, SetMessageRequestModeRequestBody
from rocketwire.wire.bodies.fastjson import loads
from tests.wire import golden


def opened(folder: Path) -> RequestModeTable:
    return RequestModeTable.open(folder / "config" / "messageRequestMode.json")


def text(folder: Path) -> bytes:
    return (folder / "config" / "messageRequestMode.json").read_bytes()


def mode(topic: str, group: str, share: int = 0) -> SetMessageRequestModeRequestBody:
    return SetMessageRequestModeRequestBody(
        topic=topic, consumer_group=group, mode=MessageRequestMode.POP, pop_share_queue_num=share
    )


def of_apache(folder: Path) -> bytes:
    data = golden.pop_file("messageRequestMode.json")
    (folder / "config").mkdir()
    (folder / "config" / "messageRequestMode.json").write_bytes(data)
    return data


def test_modes_are_kept(tmp_path: Path) -> None:
    table = opened(tmp_path)
    assert (table.get("T", "G"), len(table), table.encode()) == (None, 0, None)
    for each in (mode("T", "G"), mode("T", "H"), mode("U", "G"), mode("T", "G", 2)):
        table.put(each)
    table.persist()
    table.put(mode("T", "G", 2))
    assert table.encode() is None
    again = opened(tmp_path)
    assert (again.get("T", "G"), len(again)) == (mode("T", "G", 2), 3)
    assert again.modes == table.modes


def test_apaches_file_is_written_again_byte_for_byte(tmp_path: Path) -> None:
    before = of_apache(tmp_path)
    table = opened(tmp_path)
    found = table.get("Order", "g")
    assert found is not None
    table.put(mode("Order", "g", 7))
    table.put(found)
    table.persist()
    # The last one has a mode that 5.5.0 does not know either.
    assert text(tmp_path) == before.replace(b'"consumerGroup":"k",', b'"consumerGroup":"k",\n\t\t\t\t"mode":"PULL",')
    assert (tmp_path / "config" / "messageRequestMode.json.bak").read_bytes() == before


def test_what_a_later_version_adds_survives_a_change(tmp_path: Path) -> None:
    before = of_apache(tmp_path)
    path = tmp_path / "config" / "messageRequestMode.json"
    path.write_bytes(before.replace(b"{", b'{"zzz":1,', 1).replace(b'"popShareQueueNum":2', b'"later":3'))
    table = opened(tmp_path)
    table.put(mode("New", "G"))
    table.persist()
    after = loads(text(tmp_path))
    assert after["zzz"] == 1
    assert after["messageRequestModeMap"]["Order"]["g"]["later"] == 3
    assert "New" in after["messageRequestModeMap"]
