"""The codec of recordings: what is written is read again, and of a damaged file all that is whole."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.capture.errors import NotARecording, RecordingUnwritable
from rocketwire.capture.file.events import (
    ConnectionOpened,
    CutParts,
    Event,
    FrameSent,
    RecordingStarted,
    RecordingStopped,
    Role,
    StreamEnded,
    StreamSource,
    UnreadableBytes,
)
from rocketwire.capture.file.layout import EVENT, encode_block, encode_event, encode_head
from rocketwire.capture.file.reader import events_of
from rocketwire.capture.file.writer import RecordingWriter

TIMES = st.integers(0, 2**64 - 1)
NUMBERS = st.integers(0, 2**32 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SIDES = st.sampled_from(StreamSource)
STARTED = st.builds(
    RecordingStarted,
    time=TIMES,
    wall=st.integers(-(2**63), 2**63 - 1),
    upstream=TEXTS,
    program=TEXTS,
    bodies=st.booleans(),
    secrets=st.booleans(),
)
OTHERS = st.one_of(
    st.builds(ConnectionOpened, time=TIMES, connection=NUMBERS, role=st.sampled_from(Role), client=TEXTS, server=TEXTS),
    st.builds(
        FrameSent,
        time=TIMES,
        connection=NUMBERS,
        source=SIDES,
        left=st.integers(0, 7).map(CutParts),
        size=NUMBERS,
        data=st.binary(max_size=80),
    ),
    st.builds(UnreadableBytes, time=TIMES, connection=NUMBERS, source=SIDES, size=NUMBERS, data=st.binary(max_size=30)),
    st.builds(StreamEnded, time=TIMES, connection=NUMBERS, source=SIDES, reason=TEXTS),
)
STOPPED = st.builds(RecordingStopped, time=TIMES)
BLOCKS = st.lists(st.lists(OTHERS, min_size=1, max_size=4), min_size=1, max_size=4)


def written(blocks: list[list[Event]]) -> tuple[bytes, list[int]]:
    """The bytes of a file with these blocks, and where each of them ends."""
    data, ends = encode_head(), []
    for number, block in enumerate(blocks):
        data += encode_block(number, b"".join(map(encode_event, block)))
        ends.append(len(data))
    return data, ends


@given(started=STARTED, blocks=BLOCKS, stopped=STOPPED)
def test_what_is_written_is_read(
    started: RecordingStarted, blocks: list[list[Event]], stopped: RecordingStopped
) -> None:
    whole: list[list[Event]] = [[started], *blocks, [stopped]]
    complaints: list[str] = []
    assert events_of(written(whole)[0], complaints.append) == [each for block in whole for each in block]
    assert complaints == []


@given(started=STARTED, blocks=BLOCKS)
def test_of_a_file_cut_at_any_byte_all_whole_blocks_are_read(
    started: RecordingStarted, blocks: list[list[Event]]
) -> None:
    whole: list[list[Event]] = [[started], *blocks]
    data, ends = written(whole)
    for size in range(len(data)):
        complaints: list[str] = []
        expected = [each for block, end in zip(whole, ends, strict=True) if end <= size for each in block]
        if not expected:
            with pytest.raises(NotARecording):
                events_of(data[:size], complaints.append)
            continue
        assert events_of(data[:size], complaints.append) == expected
        assert "cut off" in complaints[-1]
        assert (size in ends) == (len(complaints) == 1)


@given(started=STARTED, blocks=BLOCKS, stopped=STOPPED, where=st.data())
def test_a_flipped_bit_costs_its_block_only(
    started: RecordingStarted, blocks: list[list[Event]], stopped: RecordingStopped, where: st.DataObject
) -> None:
    whole: list[list[Event]] = [[started], *blocks, [stopped]]
    data, ends = written(whole)
    bit = where.draw(st.integers(8 * len(encode_head()), 8 * len(data) - 1))
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    hit = next(number for number, end in enumerate(ends) if bit // 8 < end)
    complaints: list[str] = []
    assert events_of(bytes(damaged), complaints.append) == [
        each for number, block in enumerate(whole) for each in block if number != hit
    ]
    assert any("damaged" in line for line in complaints)


@given(st.binary(max_size=60))
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(NotARecording):
        events_of(data, lambda _: None)


def test_a_later_version_is_refused() -> None:
    with pytest.raises(NotARecording, match="its version is 2"):
        events_of(encode_head().replace(b"\0\1\0\0", b"\0\2\0\0"), lambda _: None)


def test_events_of_later_versions_are_skipped() -> None:
    unknown = EVENT.build({"kind": 99, "time": 1, "connection": 1, "content": b"new"})
    stopped = RecordingStopped(time=2)
    complaints: list[str] = []
    data = encode_head() + encode_block(0, unknown + encode_event(stopped))
    assert events_of(data, complaints.append) == [stopped]
    assert complaints == ["the beginning is missing: times of the day are not known"]


def test_a_missing_block_is_reported() -> None:
    data = encode_head() + b"".join(encode_block(n, encode_event(RecordingStopped(time=n))) for n in (0, 2))
    complaints: list[str] = []
    assert len(events_of(data, complaints.append)) == 2
    assert any("blocks 1 to 1 are missing" in line for line in complaints)


def test_the_file_is_new_and_the_owners(tmp_path: Path) -> None:
    path = tmp_path / "session"
    with RecordingWriter(str(path)) as writer:
        writer.add(RecordingStopped(time=5))
        assert path.read_bytes() == encode_head()
        writer.flush()
        assert events_of(path.read_bytes(), lambda _: None) == [RecordingStopped(time=5)]
        writer.flush()
    assert writer.written == path.stat().st_size
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(RecordingUnwritable, match="exists already"):
        RecordingWriter(str(path))
    with pytest.raises(RecordingUnwritable, match="No such file"):
        RecordingWriter(str(tmp_path / "none" / "session"))


def test_a_full_block_is_written_at_once(tmp_path: Path) -> None:
    path = tmp_path / "session"
    with RecordingWriter(str(path)) as writer:
        writer.add(UnreadableBytes(time=0, connection=1, source=StreamSource.CLIENT, size=1, data=bytes(300 << 10)))
        assert path.stat().st_size > 300 << 10
