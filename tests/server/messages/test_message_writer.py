"""Storing of prepared messages, and reports of the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from rocketwire.server.core.errors import ServiceUnavailable
from rocketwire.server.messages.message_writer import NOT_STORED, append_group, refusal_of
from rocketwire.store.append.drafts import AppendResult
from rocketwire.store.append.group_commit import GroupCommit
from rocketwire.store.errors import DiskFull, PropertiesTooLong, RecordTooLarge, StoreError, TopicUnusable
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.codes import ResponseCode
from tests.server.harness import FakePeer, batch_body
from tests.server.send_setup import HOST, Setup, body, fields


def prepared_drafts(setup: Setup, count: int = 2) -> list[Any]:
    return [setup.sending.drafts.message(fields(), body(), HOST, "peer").drafts[0] for _ in range(count)]


def test_a_commit_is_reported_and_counted(setup: Setup) -> None:
    setup.storing.append_and_report(prepared_drafts(setup), setup.outcome, wait=True)
    assert setup.outcomes == [(2, ResponseCode.SUCCESS)]
    assert setup.metrics.messages_in == 2
    assert setup.metrics.bytes_in == setup.store.max_physical_offset


@pytest.mark.parametrize(("durable", "code"), [(True, ResponseCode.SUCCESS), (False, ResponseCode.FLUSH_DISK_TIMEOUT)])
def test_under_sync_flush_the_disk_decides(setup: Setup, durable: bool, code: ResponseCode) -> None:
    storing = setup.made(flush=setup.flush)
    storing.append_and_report(prepared_drafts(setup), setup.outcome, wait=True)
    assert setup.outcomes == []
    ((offset, callback),) = setup.flush.waiting
    assert offset == setup.store.max_physical_offset
    callback(durable)
    assert setup.outcomes == [(2, code)]


def test_a_message_that_need_not_wait_for_the_disk_does_not(setup: Setup) -> None:
    storing = setup.made(flush=setup.flush)
    storing.append_and_report(prepared_drafts(setup), setup.outcome, wait=False)
    assert setup.outcomes == [(2, ResponseCode.SUCCESS)]
    assert setup.flush.waiting == []


def test_a_refusal_of_a_closed_store_is_reported(setup: Setup) -> None:
    setup.store.close()
    drafts = prepared_drafts(setup)
    setup.storing.append_and_report(drafts, setup.outcome, wait=True)
    assert setup.outcomes == [(0, ResponseCode.SUCCESS)]
    assert setup.metrics.messages_in == 0
    assert setup.refused.keys() == {0, 1}
    assert "is closed]" in setup.refused[0]
    assert setup.refusal_codes == {ResponseCode.SERVICE_NOT_AVAILABLE}


@pytest.mark.parametrize("too_large", [{0}, {1}, {3}, {0, 1}, {1, 3}, {2, 3}, {0, 1, 2, 3}], ids=str)
@pytest.mark.parametrize("flush", [False, True])
def test_a_message_that_can_never_be_stored_does_not_refuse_the_others(
    setup: Setup, too_large: set[int], flush: bool
) -> None:
    drafts = prepared_drafts(setup, 4)
    for at in too_large:
        drafts[at].body = bytes(1 << 20)
    storing = setup.made(flush=setup.flush) if flush else setup.storing
    storing.append_and_report(drafts, setup.outcome, wait=True)
    stored = 4 - len(too_large)
    for offset, callback in setup.flush.waiting:
        assert offset == setup.store.max_physical_offset
        setup.store.append(drafts[:0])  # another group's append must not remove the reason
        callback(True)
    assert setup.outcomes == [(stored, ResponseCode.SUCCESS)]
    assert setup.refused.keys() == too_large
    assert all("does not fit into a commit log file" in text for text in setup.refused.values())
    assert setup.refusal_codes == {ResponseCode.MESSAGE_ILLEGAL}
    assert setup.metrics.messages_in == setup.store.max_offset("T", 0) == stored
    assert setup.metrics.bytes_in == setup.store.max_physical_offset


def test_a_batch_larger_than_a_commit_log_file_is_refused_whole(setup: Setup) -> None:
    batch = setup.sending.drafts.batch(fields(), body(batch_body([bytes(300_000)] * 4)), HOST, "peer").drafts
    before, after = prepared_drafts(setup)
    setup.storing.append_and_report([before, *batch, after], setup.outcome, wait=False)
    assert setup.outcomes == [(2, ResponseCode.SUCCESS)]
    assert setup.refused.keys() == {1, 2, 3, 4}
    assert setup.refusal_codes == {ResponseCode.MESSAGE_ILLEGAL}
    assert setup.store.max_offset("T", 0) == 2


def test_a_topic_name_that_no_directory_can_have_is_refused(setup: Setup) -> None:
    drafts = prepared_drafts(setup)
    drafts[0].topic = "a/b"
    setup.storing.append_and_report(drafts, setup.outcome, wait=False)
    assert setup.outcomes == [(1, ResponseCode.SUCCESS)]
    assert setup.refused.keys() == {0}
    assert setup.refused[0].startswith("'a/b' cannot be ")
    assert setup.refusal_codes == {ResponseCode.MESSAGE_ILLEGAL}


def test_a_full_disk_behind_a_message_that_can_never_be_stored_refuses(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = MessageStore.append

    def closing(store: MessageStore, drafts: Any) -> Any:
        if len(drafts) < 4:  # the second try
            store.close()
        return real(store, drafts)

    monkeypatch.setattr(MessageStore, "append", closing)
    drafts = prepared_drafts(setup, 4)
    drafts[1].body = bytes(1 << 20)
    setup.storing.append_and_report(drafts, setup.outcome, wait=False)
    assert setup.outcomes == [(1, ResponseCode.SUCCESS)]
    assert setup.refused.keys() == {1, 2, 3}
    assert "does not fit" in setup.refused[1]
    assert "is closed]" in setup.refused[2]


async def test_messages_that_became_durable_together_are_answered_together(setup: Setup) -> None:
    commit = GroupCommit()
    storing = setup.made(flush=commit)
    peers = [FakePeer("1"), FakePeer("2")]
    written: list[str] = []
    for peer in (peers[0], peers[1], peers[0], None):
        drafts = setup.sending.drafts.message(fields(), body(), HOST, "peer").drafts
        name = peer.name if peer else "none"
        storing.append_and_report(drafts, lambda *_, name=name: written.append(name), wait=True, peer=peer)
    assert written == []
    setup.store.flush_to(setup.store.max_physical_offset)
    commit._answer(list(commit._waiting), durable=True)
    assert written == ["1", "2", "1", "none"]
    assert [peer.flushed for peer in peers] == [1, 1]
    commit._answer([], durable=True)
    assert [peer.flushed for peer in peers] == [1, 1]


LARGE = RecordTooLarge(2, 1)
BAD_TOPIC = TopicUnusable("/")
LONG = PropertiesTooLong(2, 1)
FULL = DiskFull("here", "full")


class Planned(NamedTuple):
    """A draft that the store gives that offset, or refuses with that error."""

    outcome: int | StoreError
    group_size: int = 0


class PlannedStore:
    """Stores drafts that are offsets, refuses those that are errors."""

    def __init__(self) -> None:
        self.append_error: StoreError | None = None
        self.groups = 0

    def append(self, drafts: Sequence[Planned]) -> list[AppendResult]:
        self.groups += 1
        self.append_error = None
        appended: list[AppendResult] = []
        for draft in drafts:
            if isinstance(draft.outcome, StoreError):
                self.append_error = draft.outcome
                break
            appended.append(AppendResult(draft.outcome, 1, draft.outcome))
        return appended


@pytest.mark.parametrize(
    ("drafts", "stored", "refused"),
    [
        ([], [], {}),
        ([1, 2], [1, 2], {}),
        ([1, LARGE, 2, BAD_TOPIC, 3], [1, -1, 2, -1, 3], {1: str(LARGE), 3: str(BAD_TOPIC)}),
        ([1, LONG, 2], [1, -1, 2], {1: str(LONG)}),
        ([LARGE, LARGE], [-1, -1], {0: str(LARGE), 1: str(LARGE)}),
        ([1, Planned(LARGE, 3), 2, 3, 4], [1, -1, -1, -1, 4], dict.fromkeys((1, 2, 3), str(LARGE))),
        ([1, FULL, 2], [1, -1, -1], dict.fromkeys((1, 2), str(ServiceUnavailable(str(FULL))))),
        ([LARGE, FULL], [-1, -1], {0: str(LARGE), 1: str(ServiceUnavailable(str(FULL)))}),
    ],
)
def test_each_message_of_a_group_has_its_outcome(drafts: list[Any], stored: list[int], refused: dict[int, str]) -> None:
    store: Any = PlannedStore()
    group: list[Any] = [each if isinstance(each, Planned) else Planned(each) for each in drafts]
    appended, refusals = append_group(store, group)
    assert [each.physical_offset for each in appended] == stored
    assert [at for at, each in enumerate(appended) if each is NOT_STORED] == list(refused)
    assert {at: str(error) for at, error in refusals.items()} == refused


def test_a_group_that_fits_is_one_append() -> None:
    store: Any = PlannedStore()
    drafts: list[Any] = [Planned(1)] * 9
    append_group(store, drafts)
    assert store.groups == 1


def test_a_send_is_refused_for_its_first_refused_draft() -> None:
    refusals = {2: LARGE, 3: FULL}
    assert [refusal_of(refusals, first, first + 2) for first in (0, 1, 2, 4)] == [None, LARGE, LARGE, None]
