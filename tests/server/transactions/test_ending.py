"""Commit and rollback: one outcome for each half message, whatever producers send later or to its former copies."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire.server.core.errors import MessageIllegal, ServiceUnavailable, TransactionNotFound, TransactionWrong
from rocketwire.server.transactions.half import HALF, OP
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.errors import DiskFull
from rocketwire.wire.errors import HeaderFieldInvalid
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import RECORD_HEADS
from rocketwire.wire.message import MessageRecord, encode_record
from tests.server.transactions.setup import BORN, COMMIT, REAL, ROLLBACK, Setup, place_of
from tests.store.support import kill

NOT_FOUND = "Find prepared transaction message failed"


async def check(setup: Setup) -> None:
    """Let a minute pass, and run one round of the back-check."""
    setup.clock.now += 60_000
    await setup.transactions.check()


def test_a_committed_message_is_visible_to_consumers(setup: Setup) -> None:
    place = setup.send(body=b"one")
    assert setup.bodies() == []
    setup.decide(place)
    (message,) = setup.messages(REAL)
    assert (bytes(message.body), message.flag, message.queue_offset) == (b"one", 7, 0)
    assert message.sys_flag == SysFlag.TRANSACTION_COMMIT
    assert message.prepared_offset == place.physical_offset
    assert setup.bodies(OP) == [b"0"]
    assert setup.undecided == []


@pytest.mark.parametrize("decision", [SysFlag.TRANSACTION_PREPARED, 99, -1])
def test_an_unknown_decision_is_refused(setup: Setup, decision: int) -> None:
    with pytest.raises(HeaderFieldInvalid, match="the field commitOrRollback"):
        setup.decide(setup.send(), decision)
    assert setup.bodies(OP) == []
    assert setup.undecided == [0]


@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
@pytest.mark.parametrize("second", [COMMIT, ROLLBACK])
@pytest.mark.parametrize("restarted", [False, True])
def test_the_first_decision_counts(setup: Setup, first: int, second: int, restarted: bool) -> None:
    place = setup.send(body=b"one")
    setup.decide(place, first)
    if restarted:
        setup.reopen()
    setup.decide(place, second)
    assert setup.bodies() == ([b"one"] if first == COMMIT else [])
    assert setup.bodies(OP) == [b"0"]


@pytest.mark.parametrize(
    ("changes", "error", "remark"),
    [
        ({"producer_group": "Q"}, TransactionWrong, "The producer group wrong"),
        ({"tran_state_table_offset": 1}, TransactionWrong, "The transaction state table offset wrong"),
        ({"commit_log_offset": 1}, TransactionNotFound, NOT_FOUND),
        ({"commit_log_offset": 1 << 40}, TransactionNotFound, NOT_FOUND),
        ({"commit_log_offset": -1}, TransactionNotFound, NOT_FOUND),
    ],
)
def test_a_decision_of_another_message_is_refused(
    setup: Setup, changes: dict[str, Any], error: type[Exception], remark: str
) -> None:
    place = setup.send()
    with pytest.raises(error) as refusal:
        setup.decide(place, **changes)
    assert str(refusal.value) == remark
    assert setup.undecided == [0]


def test_a_message_that_is_no_half_message_cannot_be_decided(setup: Setup) -> None:
    setup.decide(setup.send())
    (message,) = setup.messages(REAL)
    with pytest.raises(TransactionNotFound):
        setup.decide(place_of(message))


def test_a_half_message_without_a_queue_cannot_be_committed_but_rolled_back(setup: Setup) -> None:
    setup.send()
    (half,) = setup.messages(HALF)
    properties = {name: value for name, value in half.decoded_properties().items() if name != "REAL_QID"}
    (place,) = setup.store.append([half.draft(*HALF, properties)])
    with pytest.raises(TransactionNotFound):
        setup.decide(place)
    setup.decide(place, ROLLBACK)
    assert setup.undecided == [0]


def test_a_damaged_half_message_cannot_be_decided(setup: Setup) -> None:
    place = setup.send()
    segment = setup.store._log.segments.find(place.physical_offset)
    assert segment is not None
    segment.mapping[place.physical_offset + 84] = 0x7F  # the body's length
    with pytest.raises(TransactionNotFound):
        setup.decide(place)


def test_a_full_disk_leaves_a_transaction_undecided(setup: Setup) -> None:
    place = setup.send(body=b"one")
    setup.store.disk_refusal = DiskFull("store", "full")
    with pytest.raises(ServiceUnavailable, match="full"):
        setup.decide(place)
    setup.store.disk_refusal = None
    assert setup.undecided == [0]
    setup.decide(place)
    assert setup.bodies() == [b"one"]


async def test_a_decision_with_the_first_offsets_counts_for_the_newest_copy(setup: Setup) -> None:
    place = setup.send(body=b"one")
    for _ in range(2):
        await check(setup)
    assert setup.undecided == [2]
    setup.decide(place)
    assert setup.bodies() == [b"one"]
    assert setup.undecided == []
    assert setup.bodies(OP) == [b"0", b"1", b"2"]
    for half in setup.messages(HALF):
        setup.decide(place_of(half), COMMIT)
    assert setup.bodies() == [b"one"]


async def test_the_newest_copy_is_found_after_a_start_too(setup: Setup) -> None:
    place = setup.send(body=b"one")
    await check(setup)
    for number in range(100):
        setup.send(f"other {number}")
    setup.reopen()
    setup.decide(place)
    assert setup.bodies() == [b"one"]
    assert setup.undecided == list(range(2, 102))


async def test_two_sends_of_one_message_are_two_transactions(setup: Setup) -> None:
    """A producer that got no answer sends again, with the same UNIQ_KEY."""
    first = setup.send(body=b"one")
    setup.clock.now += 1000
    second = setup.send(body=b"one")
    await check(setup)
    setup.decide(second)
    setup.decide(second)
    assert setup.undecided == [2]
    setup.decide(first, ROLLBACK)
    assert setup.undecided == []
    assert setup.bodies() == [b"one"]


async def test_a_message_without_a_key_is_decided_with_its_newest_offsets_only(setup: Setup) -> None:
    place = setup.send(None)
    await check(setup)
    setup.decide(place)
    assert setup.bodies() == []
    setup.decide(place_of(setup.messages(HALF)[1]))
    assert setup.bodies() == [b"body"]


async def test_a_dropped_message_counts_as_decided(setup: Setup) -> None:
    place = setup.send()
    setup.live.update({"transactionCheckMax": "1"})
    for _ in range(2):
        await check(setup)
    setup.decide(place)
    assert setup.bodies() == []


def forged(setup: Setup, queue_id: str) -> AppendResult:
    """The physical offset of a half message's record that is the body of another message."""

    def record(place: int) -> bytes:
        text = f"PGROUP\x01P\x02REAL_TOPIC\x01T\x02REAL_QID\x01{queue_id}".encode()
        return encode_record(
            MessageRecord(topic=HALF[0], queue_id=HALF[1], body=b"x", properties=text, physical_offset=place)
        )

    at = setup.store.max_physical_offset + RECORD_HEADS[0].size
    setup.store.append([Draft(*REAL, record(at), b"", 0, 0, 1, BORN)])
    return AppendResult(at, 0, 0)


@pytest.mark.parametrize("queue_id", ["0", "5000000", "99999999999", "9" * 5000])
def test_a_half_message_in_the_body_of_another_is_ignored(setup: Setup, queue_id: str) -> None:
    setup.send(body=b"other")
    place = forged(setup, queue_id)
    with pytest.raises(TransactionNotFound):
        setup.decide(place)
    assert setup.undecided == [0]
    assert len(setup.bodies()) == 1


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
async def test_copies_that_apache_left_undecided_together_are_one_transaction(
    setup: Setup, first: int, decision: int
) -> None:
    """It stores no op messages for copies, and was killed before it saved the offset of its queue."""
    setup.send(body=b"one")
    (half,) = setup.messages(HALF)
    for times in "12":
        copy = half.decoded_properties() | {"TRANSACTION_CHECK_TIMES": times}
        setup.store.append([half.draft(*HALF, copy)])
    setup.send("other")
    setup.reopen()
    halves = setup.messages(HALF)
    setup.decide(place_of(halves[first]), decision)
    assert setup.undecided == [3]
    for half in halves[:3]:
        setup.decide(place_of(half))
    assert setup.bodies() == ([b"one"] if decision == COMMIT else [])
    setup.reopen()
    assert setup.undecided == [3]


def test_a_decision_waits_while_copies_are_read(setup: Setup) -> None:
    places = [setup.send(f"{number}") for number in range(5000)]
    setup.reopen()
    with pytest.raises(ServiceUnavailable, match="being read"):
        setup.decide(places[0])
    setup.decide(setup.send("new"))
    assert setup.bodies() == [b"body"]
    setup.decide(places[0])  # each waiting decision reads some more
    assert len(setup.bodies()) == 2


def with_zeros(setup: Setup, zeros: int) -> AppendResult:
    """A half message that Apache's broker accepted; sends with zeros in properties are refused here."""
    setup.decide(setup.send(), ROLLBACK)
    (half,) = setup.messages(HALF)
    draft = half.draft(*HALF, half.decoded_properties())
    draft.properties += b"\x02x\x01" + bytes(zeros)
    (place,) = setup.store.append([draft])
    return place


def test_zeros_among_the_properties_are_not_treated_as_lost_pages(setup: Setup) -> None:
    setup.decide(with_zeros(setup, 9))
    setup.store.append([Draft(*REAL, b"behind", b"", 0, 0, 1, BORN)])
    kill(setup.store)
    setup.open()
    assert setup.bodies() == [b"body", b"behind"]
    assert setup.messages(REAL)[0].decoded_properties()["x"] == "\0" * 9


def test_a_page_of_zeros_among_the_properties_is_not_stored_again(setup: Setup) -> None:
    place = with_zeros(setup, 5000)
    with pytest.raises(MessageIllegal):
        setup.decide(place)
    setup.decide(place, ROLLBACK)
    assert setup.undecided == []


@pytest.mark.parametrize(("zeros", "kept"), [(9, "\0" * 9), (5000, None)])
async def test_a_copy_is_stored_in_a_form_that_recovery_accepts(setup: Setup, zeros: int, kept: str | None) -> None:
    with_zeros(setup, zeros)
    await check(setup)
    assert setup.undecided == [2]
    assert setup.messages(HALF)[2].decoded_properties().get("x") == kept
