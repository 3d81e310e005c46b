"""Damage anywhere in a store: what is whole is read, once, and what is not is handled by the option `mode`."""

from __future__ import annotations

import logging
import shutil
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.datasource import EqualTo

from rocketwire.spark.errors import DataLost, RecordMalformed
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.message import body_crc
from tests.spark.made import Made, make, places
from tests.spark.reads import Read, Row, read
from tests.store.support import Clock, draft, open_store, small

COLUMNS = "topic,queue_id,queue_offset,physical_offset,store_size,body,file,broker,_corrupt_record"
WAYS: list[dict[str, Any]] = [{}, {"topics": "T0,T1"}]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("made") / "store", 100)


def copy(made: Made, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(made.root, to)
    return to


def damage(root: Path, place: int, data: bytes) -> None:
    """Write over the log from a physical offset on, within one file."""
    file = root / "commitlog" / f"{place // 4096 * 4096:020d}"
    with file.open("r+b") as opened:
        opened.seek(place % 4096)
        opened.write(data[: 4096 - place % 4096])


def split(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    return [row for row in rows if row["_corrupt_record"] is None], [row for row in rows if row["_corrupt_record"]]


@pytest.mark.slow
@settings(max_examples=60)
@given(
    data=st.data(),
    way=st.sampled_from(WAYS),
    content=st.one_of(st.just(bytes(400)), st.binary(min_size=1, max_size=400), st.just(b"\xda\xa3\x20\xa7" * 50)),
    size=st.sampled_from(["1k", "5000", "128m"]),
)
def test_what_is_not_damaged_is_read_once(
    made: Made, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, way: Any, content: bytes, size: str
) -> None:
    root = copy(made, tmp_path_factory.getbasetemp() / "damaged")
    place = data.draw(st.integers(0, 16_383))
    content = content[: 4096 - place % 4096]
    damage(root, place, content)
    rows = read(root, columns=COLUMNS, maxBytesPerPartition=size, failOnDataLoss=False, **way)
    good, _ = split(rows)
    touched = {
        one["physical_offset"]
        for one in made.messages
        if one["physical_offset"] < place + len(content) and place < one["physical_offset"] + 350
    }
    found = {row["physical_offset"]: row for row in good}
    assert len(found) == len(good)
    for one in made.messages:
        row = found.pop(one["physical_offset"], None)
        if one["physical_offset"] not in touched:
            assert row is not None
            assert (row["topic"], row["queue_offset"], row["body"]) == (one["topic"], one["queue_offset"], one["body"])
    assert not found


def middle(made: Made, root: Path, *, at: int, content: bytes) -> dict[str, Any]:
    """Damage one message, which is not its file's last."""
    one = made.messages[50]
    damage(root, one["physical_offset"] + at, content)
    return one


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("at", "content"), [(4, b"\1\2\3\4"), (0, b"\x7f"), (28, b"\1"), (100, b"\xff")])
def test_modes(made: Made, tmp_path: Path, way: Any, at: int, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    root = copy(made, tmp_path / "store")
    one = middle(made, root, at=at, content=content)
    good, bad = split(read(root, columns=COLUMNS, **way))
    assert len(good) == 99
    if not (at < 88 and way):  # a walk does not know the topic of what is no record, and one was requested
        [row] = bad
        assert row["physical_offset"] == one["physical_offset"]
        assert row["file"] == f"{root}/commitlog/{one['physical_offset'] // 4096 * 4096:020d}"
        assert row["broker"] == str(root)
        assert row["body"] is None
        assert row["_corrupt_record"]
        knows = at >= 88 or bool(way)
        assert (row["topic"], row["queue_id"], row["queue_offset"]) == (
            (one["topic"], one["queue_id"], one["queue_offset"]) if knows else (None, None, None)
        )
    with caplog.at_level(logging.WARNING, "rocketwire.spark"):
        assert len(read(root, columns=COLUMNS, mode="DROPMALFORMED", **way)) == 99
    assert f"at physical offset {one['physical_offset']}" in caplog.text
    with pytest.raises(RecordMalformed, match=f"at physical offset {one['physical_offset']}: .* Set mode to"):
        read(root, columns=COLUMNS, mode="FAILFAST", **way)


def test_checksums_are_of_bodies_that_are_read(made: Made, tmp_path: Path) -> None:
    root = copy(made, tmp_path / "store")
    middle(made, root, at=100, content=b"\xff")
    assert len(split(read(root, columns=COLUMNS))[1]) == 1
    for options in ({"verifyChecksums": "false", "columns": COLUMNS}, {"columns": "topic,tags,_corrupt_record"}):
        good, bad = split(read(root, **options))
        assert (len(good), bad) == (100, [])


def test_a_body_that_cannot_be_inflated(tmp_path: Path) -> None:
    body = zlib.compress(b"x" * 100, 0)
    bodies = {1: body, 2: body[:20], 3: body}
    store = open_store(small(tmp_path / "store"), Clock())
    flags = int(SysFlag.COMPRESSED)
    for number, content in bodies.items():
        store.append([draft(number, body=content, sys_flag=flags)])
    store.close()
    for way in ({}, {"topic": "T"}):
        good, bad = split(read(tmp_path / "store", columns=COLUMNS, **way))
        assert [row["body"] for row in good] == [b"x" * 100] * 2
        assert [(row["queue_offset"], row["body"]) for row in bad] == [(1, None)]
        assert "inflate" in bad[0]["_corrupt_record"]
    assert [row["body"] for row in read(tmp_path / "store", decompress="false")] == list(bodies.values())
    assert body_crc(body[:20]) != body_crc(body)


@pytest.mark.parametrize("way", WAYS)
def test_an_entry_that_leads_elsewhere(made: Made, tmp_path: Path, way: Any) -> None:
    root = copy(made, tmp_path / "store")
    one, other = [one for one in made.messages if (one["topic"], one["queue_id"]) == ("T0", 0)][10:12]
    queue = root / "consumequeue/T0/0" / f"{0:020d}"
    with queue.open("r+b") as opened:
        opened.seek(10 * 20)
        entry = opened.read(20)
        opened.seek(11 * 20)
        opened.write(entry)
    good, bad = split(read(root, columns=COLUMNS, **way))
    if not way:
        assert (len(good), bad) == (100, [])
        return
    assert len(good) == 99
    [row] = bad
    assert (row["topic"], row["queue_offset"], row["physical_offset"]) == ("T0", 11, one["physical_offset"])
    assert other["physical_offset"] not in places(good)


@pytest.mark.parametrize("way", WAYS)
def test_a_part_of_the_log_that_is_missing(made: Made, tmp_path: Path, way: Any) -> None:
    root = copy(made, tmp_path / "store")
    (root / "commitlog" / f"{8192:020d}").unlink()
    with pytest.raises(DataLost, match="Set failOnDataLoss to false"):
        read(root, columns=COLUMNS, **way)
    rows = read(root, columns=COLUMNS, failOnDataLoss="false", **way)
    expected = [one["physical_offset"] for one in made.messages if one["physical_offset"] // 4096 != 2]
    assert places(rows) == expected


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data())
def test_damage_anywhere_in_a_queue_is_no_crash(
    made: Made, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    root = copy(made, tmp_path_factory.getbasetemp() / "damaged-queue")
    queue = root / "consumequeue/T0/0" / f"{0:020d}"
    content = data.draw(st.one_of(st.binary(min_size=1, max_size=60), st.just(bytes(40)), st.just(b"\x7f" * 40)))
    at = data.draw(st.integers(0, 320 - len(content)))
    with queue.open("r+b") as opened:
        opened.seek(at)
        opened.write(content)
    columns = data.draw(st.sampled_from([COLUMNS, "topic,queue_id,queue_offset,physical_offset"]))
    rows = read(root, columns=columns, topics="T0,T1", failOnDataLoss="false", maxBytesPerPartition=4096)
    if columns == COLUMNS:
        good, _ = split(rows)
        found = {row["physical_offset"]: row["body"] for row in good}
        assert len(found) == len(good)
        for one in made.messages:
            first = one["queue_offset"] * 20
            if (one["topic"], one["queue_id"]) != ("T0", 0):
                assert found.pop(one["physical_offset"]) == one["body"]
            elif first + 20 <= at or first >= at + len(content):
                found.pop(one["physical_offset"], None)
        assert all(
            body == next(one["body"] for one in made.messages if one["physical_offset"] == place)
            for place, body in found.items()
        )


@pytest.mark.parametrize("entries", [range(160), range(96, 112), range(90, 103), range(192, 195), range(194, 199)])
def test_holes_in_a_queue(tmp_path: Path, entries: range) -> None:
    """Files of the queue have 16 entries."""
    made = make(tmp_path / "store", 200, topics=1, queues=1)
    for number in entries:
        with (made.root / "consumequeue" / "T0" / "0" / f"{number // 16 * 320:020d}").open("r+b") as file:
            file.seek(number % 16 * 20)
            file.write(bytes(20))
    for since in (0, 80):
        options: dict[str, Any] = {"topic": "T0", "columns": COLUMNS, "startingTimestamp": made.messages[since]["time"]}
        with pytest.raises(DataLost, match=r"entries of T0, queue 0, are gone .*store repair makes"):
            read(made.root, **options)
        left = [one["physical_offset"] for one in made.messages[since:] if one["queue_offset"] not in entries]
        for size in ("1k", "128m"):
            assert places(read(made.root, failOnDataLoss=False, maxBytesPerPartition=size, **options)) == left
        # A walk needs queues only to know where it may be split.
        options = {"columns": COLUMNS, "maxBytesPerPartition": "1k", "startingTimestamp": options["startingTimestamp"]}
        assert places(read(made.root, **options)) == [one["physical_offset"] for one in made.messages[since:]]


def test_the_first_record_is_damaged_and_an_id_is_looked_for(made: Made, tmp_path: Path) -> None:
    """The index covers all but the first byte: such a part of the log is shorter than what ends a record."""
    root = copy(made, tmp_path / "store")
    damage(root, 4, b"\1\2\3\4")
    wanted = made.messages[60]
    [row] = Read(root, filters=[EqualTo(("message_id",), wanted["message_id"])], columns=COLUMNS).rows()
    assert row["physical_offset"] == wanted["physical_offset"]


def test_the_defaults_of_offsets_restrict_nothing(made: Made, tmp_path: Path) -> None:
    root = copy(made, tmp_path / "store")
    middle(made, root, at=0, content=b"\x7f")
    assert read(root, columns=COLUMNS, startingOffsets="earliest", endingOffsets="latest") == read(
        root, columns=COLUMNS
    )
