"""Half messages that stayed undecided, and are checked again (323)."""

from __future__ import annotations

import pytest

from rocketwire.server.core.errors import CheckNotResumed
from rocketwire.server.transactions.half import HALF
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.message_id import offset_message_id
from tests.server.harness import Client, code_and_remark
from tests.server.transactions.setup import GAVE_UP, HOST, REAL, Setup, place_of


def named(offset: int) -> str:
    return offset_message_id(HOST, offset)


async def moved_to_max_time_topic(setup: Setup) -> str:
    """A half message that was never decided; its id in TRANS_CHECK_MAX_TIME_TOPIC."""
    setup.send(body=b"one", TRANSACTION_CHECK_TIMES="15")
    setup.clock.now += 3_600_000
    await setup.transactions.check()
    assert setup.undecided == []
    (message,) = setup.messages(GAVE_UP)
    return named(message.physical_offset)


@pytest.mark.parametrize("restart", [False, True])
async def test_it_is_undecided_again_and_can_be_committed(setup: Setup, restart: bool) -> None:
    setup.transactions.resuming.resume(await moved_to_max_time_topic(setup))
    if restart:
        setup.reopen()
        list(setup.state.undecided())
    *_, copy = setup.messages(HALF)
    assert setup.undecided == [copy.queue_offset]
    assert copy.decoded_properties()["TRANSACTION_CHECK_TIMES"] == "0"
    assert setup.bodies(REAL) == []
    setup.decide(place_of(copy))
    assert (setup.bodies(REAL), setup.undecided) == ([b"one"], [])


async def test_the_first_offsets_decide_it_too(setup: Setup) -> None:
    """A producer may decide with the offsets that its send returned."""
    first = setup.send(body=b"one", TRANSACTION_CHECK_TIMES="15")
    setup.clock.now += 3_600_000
    await setup.transactions.check()
    (message,) = setup.messages(GAVE_UP)
    setup.decide(first)
    assert setup.bodies(REAL) == []  # it was moved to that topic
    setup.transactions.resuming.resume(named(message.physical_offset))
    setup.decide(first)
    assert (setup.bodies(REAL), setup.undecided) == ([b"one"], [])


async def test_only_half_messages_are_resumed(setup: Setup) -> None:
    message_id = await moved_to_max_time_topic(setup)
    for wrong in ("", "no id", message_id[:-4] + "FFFF", named(1)):
        with pytest.raises(CheckNotResumed, match="is not the id of a half message"):
            setup.transactions.resuming.resume(wrong)
    setup.decide(setup.send(body=b"two"))
    (real,) = setup.messages(REAL)
    with pytest.raises(CheckNotResumed, match="is not the id of a half message"):
        setup.transactions.resuming.resume(named(real.physical_offset))


async def test_a_malformed_id_is_refused(broker: Client) -> None:
    answer = await broker.request(RequestCode.RESUME_CHECK_HALF_MESSAGE, {"msgId": "x"})
    text = "Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed: x is not the id of a half message"
    assert code_and_remark(answer) == (1, text)
