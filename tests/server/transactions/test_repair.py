"""An op message that a power cut removed is written again at the next start: one outcome each."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.server.transactions.half import HALF, OP, committed_draft
from rocketwire.store.errors import DiskFull
from rocketwire.store.store import MessageStore
from rocketwire.wire.properties import split_properties
from tests.server.transactions.setup import GAVE_UP, REAL, ROLLBACK, Setup, place_of
from tests.store import disk_images
from tests.store.crash_disk import CrashDisk
from tests.store.support import kill

PAGE = 4096


def leave_commit(setup: Setup) -> None:
    half = setup.messages(HALF)[-1]
    setup.store.append([committed_draft(half, REAL, split_properties(half.properties), 0)])


def leave_copy(setup: Setup) -> None:
    half = setup.messages(HALF)[-1]
    setup.store.append([half.draft(*HALF, half.decoded_properties() | {"TRANSACTION_CHECK_TIMES": "1"})])


def leave_moved_copy(setup: Setup) -> None:
    half = setup.messages(HALF)[-1]
    setup.store.append([half.draft(*GAVE_UP, half.decoded_properties())])


@pytest.mark.parametrize(
    ("leave", "delivered", "undecided"),
    [(leave_commit, [b"one"], [0]), (leave_copy, [], [0, 2]), (leave_moved_copy, [], [0])],
)
@pytest.mark.parametrize("again", [False, True])
def test_an_outcome_at_the_end_of_the_log_gets_its_op_message(
    setup: Setup, leave: object, delivered: list[bytes], undecided: list[int], again: bool
) -> None:
    setup.send("other")
    place = setup.send(body=b"one")
    assert callable(leave)
    leave(setup)
    kill(setup.store)
    setup.open()
    if again:
        kill(setup.store)
        setup.open()
    assert setup.bodies(OP) == [b"1"]
    assert setup.bodies() == delivered
    assert setup.undecided == undecided
    if delivered:
        setup.decide(place)
        setup.decide(place, ROLLBACK)
        assert setup.bodies() == delivered


def test_other_last_records_are_left_unchanged(setup: Setup) -> None:
    setup.send()
    setup.reopen()
    assert setup.bodies(OP) == []
    setup.send(None)
    leave_copy(setup)
    setup.reopen()
    assert setup.bodies(OP) == []  # without a key it is unknown of which message it is a copy
    half = setup.messages(HALF)[0]
    setup.store.append([half.draft("T", 1, half.decoded_properties())])
    setup.reopen()
    assert setup.bodies(OP) == []
    setup.send("committed long ago")
    leave_commit(setup)
    setup.decide(place_of(setup.messages(HALF)[3]), ROLLBACK)
    setup.reopen()
    assert setup.bodies(OP) == [b"3"]


def test_a_commit_names_a_half_message_without_a_key(setup: Setup) -> None:
    setup.send(None, b"other")
    place = setup.send(None, b"one")
    leave_commit(setup)
    kill(setup.store)
    setup.open()
    assert setup.bodies(OP) == [b"1"]
    setup.decide(place)
    assert setup.bodies() == [b"one"]


def test_an_outcome_whose_half_message_is_decided_is_left_unchanged(setup: Setup) -> None:
    setup.send("other")
    setup.decide(setup.send(), ROLLBACK)
    leave_commit(setup)
    setup.reopen()
    assert setup.bodies(OP) == [b"1"]
    assert setup.undecided == [0]


def test_a_full_disk_does_not_prevent_the_start(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    place = setup.send(body=b"one")
    leave_commit(setup)
    kill(setup.store)
    opened = MessageStore.open

    def full(*args: object, **options: object) -> MessageStore:
        store = opened(*args, **options)  # type: ignore[arg-type]
        store.disk_refusal = DiskFull("store", "full")
        return store

    monkeypatch.setattr(MessageStore, "open", full)
    setup.open()
    setup.store.disk_refusal = None
    setup.decide(place)
    assert setup.bodies() == [b"one"]
    assert setup.undecided == []


def test_a_power_cut_may_remove_the_page_of_the_op_message(tmp_path: Path) -> None:
    """The message that was committed ends with a page, and only the page behind it is lost."""
    disk = CrashDisk(tmp_path)
    setup = Setup(tmp_path / "store", files=disk, commit_log_file_size=4 * PAGE)
    place = setup.send("probe", b"")
    setup.decide(place)
    halved, real = place.size, setup.messages(REAL)[0]
    size = len(setup.store.record_at(real.physical_offset) or b"")
    rest = 2 * PAGE - setup.store.max_physical_offset - halved - size
    place = setup.send("taken", bytes(rest // 2))
    setup.flush()
    setup.decide(place)
    taken = setup.messages(REAL)[1]
    end = taken.physical_offset + size + rest // 2
    assert 2 * PAGE - 1 <= end <= 2 * PAGE
    image = disk.image()
    pages = [(file.path, number) for file, number in disk_images.dirty_pages(image)]
    lost = disk_images.Crash(
        "the note",
        lambda count: count,
        lambda _: [not (path.endswith("0" * 20) and "/commitlog/" in path and n >= 2) for path, n in pages],
    )
    kill(setup.store)
    root = tmp_path / "after"
    root.mkdir()
    disk_images.put(disk_images.after(image, lost), root)
    again = Setup(root / "store", files=CrashDisk(root), commit_log_file_size=4 * PAGE)
    assert again.store.recovered.end == end
    assert again.bodies(OP) == [b"0", b"1"]
    again.decide(place)
    assert len(again.bodies()) == 2
    kill(again.store)


def test_a_message_of_another_topic_is_not_treated_as_an_outcome(setup: Setup) -> None:
    """A sender may choose any key, time, type of message and property."""
    setup.send(body=b"one")
    setup.store.append(
        [
            committed_draft(
                setup.messages(HALF)[0], ("Other", 0), split_properties(setup.messages(HALF)[0].properties), 0
            )
        ]
    )
    kill(setup.store)
    setup.open()
    assert setup.bodies(OP) == []
    assert setup.undecided == [0]
