from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.offline.read.directory import StoreDirectory, StoreState, discover
from rocketwire.store.offline.read.scan import ReadProblem, scan
from rocketwire.store.store import MessageStore
from tests.store.support import Golden, draft, kill, open_store, small

BODY = 88


def offsets(directory: StoreDirectory, **options: Any) -> tuple[list[int], list[ReadProblem]]:
    troubles: list[ReadProblem] = []
    found = [
        place
        for block in scan(directory, troubles.append, **options)
        for place in block.records.physical_offset.tolist()
    ]
    return found, troubles


def overwrite(root: Path, offset: int, data: bytes, file_size: int = 4096) -> None:
    start = offset - offset % file_size
    with (root / "commitlog" / f"{start:020d}").open("r+b") as file:
        file.seek(offset - start)
        file.write(data)


def filled(root: Path, count: int = 60) -> tuple[MessageStore, list[int]]:
    store = open_store(small(root))
    return store, [each.physical_offset for each in store.append([draft(number) for number in range(count)])]


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_all_of_a_log_of_apache(version: str, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    expected = [line["physicalOffset"] for line in golden.lines("expected.jsonl") if line["type"] == "message"]
    directory = discover(str(golden.untouched))
    assert offsets(directory) == (expected, [])
    assert offsets(directory, start=expected[600]) == (expected[600:], [])
    part, _ = offsets(directory, start=expected[3], end=expected[9])
    assert part[:6] == expected[3:9]
    assert offsets(directory, start=directory.commit_log[-1].end) == ([], [])


@pytest.mark.parametrize("damage", [b"\xff" * 8, bytes(8), b"\0\0\0\x50", b"\x7f\xff\xff\xff"])
def test_one_damaged_record_costs_one_record(damage: bytes, tmp_path: Path) -> None:
    store, written = filled(tmp_path)
    store.close()
    for victim in (0, 7, 22):
        overwrite(tmp_path, written[victim], damage)
    found, troubles = offsets(discover(str(tmp_path)))
    assert found == [place for number, place in enumerate(written) if number not in (0, 7, 22)]
    assert [(trouble.physical_offset, trouble.gone) for trouble in troubles] == [
        (written[number], False) for number in (0, 7, 22)
    ]
    assert troubles[0].path == f"{tmp_path}/commitlog/{0:020d}"
    assert str(troubles[1]).startswith(f"{troubles[1].path}: at physical offset {written[7]}: ")


def test_damaged_bodies_one_after_the_other_are_reported_each(tmp_path: Path) -> None:
    store, written = filled(tmp_path)
    store.close()
    for victim in (3, 4, 5):
        overwrite(tmp_path, written[victim] + BODY, b"?")
    found, troubles = offsets(discover(str(tmp_path)))
    assert len(found) == 57
    assert [trouble.physical_offset for trouble in troubles] == written[3:6]
    assert all("CRC" in trouble.reason for trouble in troubles)


def test_damage_before_the_end_of_a_file_leads_to_the_next(tmp_path: Path) -> None:
    store, written = filled(tmp_path)
    store.close()
    last = max(place for place in written if place < 4096)
    for garbage in (b"\xff" * (4096 - last), bytes(4096 - last)):
        overwrite(tmp_path, last, garbage)
        found, troubles = offsets(discover(str(tmp_path)))
        assert found == [place for place in written if place != last]
        assert [trouble.physical_offset for trouble in troubles] == [last]


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    store, written = filled(tmp_path, 80)
    store.close()
    (tmp_path / "commitlog" / f"{4096:020d}").unlink()
    found, troubles = offsets(discover(str(tmp_path)))
    assert found == [place for place in written if not 4096 <= place < 8192]
    assert [(trouble.physical_offset, trouble.reason) for trouble in troubles] == [
        (4096, "the 4096 bytes of the log before this file are missing")
    ]


def test_a_file_removed_meanwhile_is_no_damage(tmp_path: Path) -> None:
    store, written = filled(tmp_path)
    directory = discover(str(tmp_path))
    (tmp_path / "commitlog" / f"{0:020d}").unlink()
    found, troubles = offsets(directory)
    assert found == [place for place in written if place >= 4096]
    assert [(trouble.physical_offset, trouble.gone) for trouble in troubles] == [(0, True)]
    kill(store)


def test_a_file_made_ahead_may_be_removed_meanwhile(tmp_path: Path) -> None:
    store, written = filled(tmp_path, 5)
    directory = discover(str(tmp_path))
    store.close()
    assert [trouble.gone for trouble in offsets(directory)[1]] == [True]
    assert offsets(directory)[0] == written


def test_a_file_removed_while_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    store, written = filled(tmp_path)
    troubles: list[ReadProblem] = []
    blocks = scan(discover(str(tmp_path)), troubles.append)
    found = next(blocks).records.physical_offset.tolist()
    (tmp_path / "commitlog" / f"{0:020d}").unlink()
    found += [place for block in blocks for place in block.records.physical_offset.tolist()]
    assert (found, troubles) == (written, [])
    kill(store)


def test_a_half_written_record_of_a_live_store_is_waited_for(tmp_path: Path) -> None:
    store, written = filled(tmp_path, 5)
    whole = (tmp_path / "commitlog" / f"{0:020d}").read_bytes()
    overwrite(tmp_path, written[4] + BODY, b"??")
    pauses: list[int] = []

    def pause() -> None:
        pauses.append(1)
        if len(pauses) == 2:
            overwrite(tmp_path, 0, whole)

    directory = discover(str(tmp_path))
    assert directory.state is StoreState.LIVE
    assert offsets(directory, pause=pause) == (written, [])
    assert len(pauses) == 2
    kill(store)


def test_a_record_that_stays_damaged_is_reported_after_a_while(tmp_path: Path) -> None:
    store, written = filled(tmp_path, 5)
    overwrite(tmp_path, written[4] + BODY, b"??")
    pauses: list[int] = []
    found, troubles = offsets(discover(str(tmp_path)), pause=lambda: pauses.append(1))
    assert found == written[:4]
    assert [trouble.physical_offset for trouble in troubles] == [written[4]]
    assert len(pauses) == 4
    kill(store)


def test_a_torn_end_after_a_crash_is_reported_at_once(tmp_path: Path) -> None:
    store, written = filled(tmp_path, 5)
    kill(store)
    overwrite(tmp_path, written[4] + BODY, b"??")
    found, troubles = offsets(discover(str(tmp_path)))
    assert found == written[:4]
    assert len(troubles) == 1


def test_a_live_log_may_roll_while_it_is_read(tmp_path: Path) -> None:
    """The end of a file was reached when nothing followed; then its broker continued in the next file."""
    store, written = filled(tmp_path, 5)
    directory = discover(str(tmp_path))
    assert len(directory.commit_log) == 2  # one is made ahead
    troubles: list[ReadProblem] = []
    blocks = scan(directory, troubles.append, pause=lambda: None)
    found = next(blocks).records.physical_offset.tolist()
    written += [each.physical_offset for each in store.append([draft(number) for number in range(5, 40)])]
    found += [place for block in blocks for place in block.records.physical_offset.tolist()]
    assert troubles == []
    assert found == [place for place in written if place < 8192]
    store.close()


def test_a_log_of_nothing(tmp_path: Path) -> None:
    open_store(small(tmp_path)).close()
    assert offsets(discover(str(tmp_path))) == ([], [])
    (tmp_path / "commitlog" / f"{0:020d}").touch()
    assert offsets(discover(str(tmp_path))) == ([], [])
    os.truncate(tmp_path / "commitlog" / f"{0:020d}", 4096)
    assert offsets(discover(str(tmp_path))) == ([], [])
