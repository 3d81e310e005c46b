"""Receives of one read that are served together, with the result of the general path."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from rocketwire import native
from rocketwire.server.grpc.consuming.kernel_receives import KernelReceives
from rocketwire.server.messages.message_writer import NOT_STORED, MessageWriter
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.consuming.test_receiving import SOON, change, codes, messages, receive_in_time, receive_now
from tests.server.grpc.sdk import SERVICE, Sdk, code_of, counted_serves, create_group, receive_request
from tests.server.harness import Client, Server, serving_topic

pytestmark = pytest.mark.skipif(native.kernel is None, reason="there is no kernel")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many calls of each read were served together."""
    return counted_serves(monkeypatch, KernelReceives)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[list[Draft]]:
    """The groups of check points that are stored."""
    found: list[list[Draft]] = []
    append = MessageWriter.append

    def noted(self: MessageWriter, drafts: Any) -> Any:
        points = [each for each in drafts if bytes(each.properties).startswith(b"TAGS\1ck")]
        found.extend([points] if points else [])
        return append(self, drafts)

    monkeypatch.setattr(MessageWriter, "append", noted)
    return found


async def receive_all(sdk: Sdk, *requests: s.ReceiveMessageRequest) -> list[list[s.ReceiveMessageResponse]]:
    """Receive in one read, by one call each; the responses of each."""
    return await sdk.call_each("ReceiveMessage", *requests, headers=SOON)


def bodies(responses: list[s.ReceiveMessageResponse]) -> list[bytes]:
    return [each.body for each in messages(responses)]


async def send(broker: Client, messages: int, queues: int = 1) -> None:
    for number in range(messages):
        await broker.send("T", b"%d" % number, queue_id=number % queues, tags="a", unique_key=f"id{number}")


@pytest.mark.parametrize("changes", [{"most": 2}, {"most": 3, "auto_renew": True, "invisible": 0}])
async def test_records_and_responses_equal_those_of_the_general_path(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    served: list[int],
    stored: list[list[Draft]],
    changes: dict[str, Any],
) -> None:
    async def answers(store: Path) -> list[s.ReceiveMessageResponse]:
        async with serving_topic(store, queues=2) as (server, broker):
            await send(broker, 8, queues=2)
            requests = [receive_request(expression=each, **changes) for each in ("*", "a||b", "*")]
            with Sdk(server.broker_address) as sdk:
                found = await receive_all(sdk, *requests)
            responses = [each for one in found for each in one]
            for each in messages(responses):
                each.system_properties.ClearField("store_host")  # the port of the server
            return responses

    together = await answers(tmp_path / "group_size")
    assert served == [3]
    points = [each.body for group in stored for each in group]
    stored.clear()
    monkeypatch.setattr(KernelReceives, "serve", lambda *_: 0)
    assert await answers(tmp_path / "general") == together
    assert [each.body for group in stored for each in group] == points
    assert len(messages(together)) == min(8, 3 * changes["most"])


async def test_each_receive_from_one_queue_takes_the_messages_behind_the_one_before(
    sdk: Sdk, broker: Client, served: list[int], stored: list[list[Draft]]
) -> None:
    await send(broker, 6)
    found = await receive_all(sdk, *[receive_request(most=2)] * 3)
    assert [bodies(each) for each in found] == [[b"0", b"1"], [b"2", b"3"], [b"4", b"5"]]
    assert served == [3]
    assert [len(each) for each in stored] == [1, 1, 1]  # each is stored before the next one pops


async def test_too_many_receives_for_a_group_make_several_groups(sdk: Sdk, broker: Client, served: list[int]) -> None:
    await send(broker, 20)
    found = await receive_all(sdk, *[receive_request(most=1)] * 20)
    assert [bodies(each) for each in found] == [[b"%d" % number] for number in range(20)]
    assert served == [16, 4]


async def test_receives_from_several_queues_are_one_group(
    tmp_path: Path, served: list[int], stored: list[list[Draft]], monkeypatch: pytest.MonkeyPatch
) -> None:
    coins = count()
    monkeypatch.setattr(Server, "choose", lambda _self, bound: next(coins) % bound)
    async with serving_topic(tmp_path, queues=2) as (server, broker):
        await send(broker, 8, queues=2)
        with Sdk(server.broker_address) as sdk:
            found = await receive_all(sdk, *[receive_request(most=4)] * 2)
    assert sorted(body for each in found for body in bodies(each)) == [b"%d" % number for number in range(8)]
    assert served == [2]
    assert [len(each) for each in stored] == [2]


async def test_the_first_receive_without_messages_is_held(
    sdk: Sdk, server: Server, broker: Client, served: list[int]
) -> None:
    await send(broker, 1)
    streams = [await sdk.begin("ReceiveMessage", receive_request(polling=5), SOON) for _ in range(2)]
    await sdk.rest()
    assert [sdk.incoming[each].over for each in streams] == [True, False]
    assert sum(served) == 1
    await broker.send("T", b"later")
    assert bodies((await sdk.wait_until_over(streams[1])).messages(s.ReceiveMessageResponse)) == [b"later"]
    assert server is not None


async def test_the_general_path_refuses_calls(sdk: Sdk, broker: Client, served: list[int]) -> None:
    await send(broker, 2)
    wrong = receive_request(to="TBW102")
    found = await receive_all(sdk, receive_request(most=1), wrong, receive_request(most=1))
    assert served == [1]
    assert [codes(each) for each in found] == [[Code.OK], [Code.ILLEGAL_TOPIC], [Code.OK]]
    assert [bodies(each) for each in found] == [[b"0"], [], [b"1"]]


async def test_messages_whose_check_point_the_store_refuses_are_received_by_others(
    sdk: Sdk, broker: Client, monkeypatch: pytest.MonkeyPatch, served: list[int]
) -> None:
    await send(broker, 1)
    append = MessageWriter.append

    def refusing(_self: MessageWriter, drafts: Any) -> Any:
        return [NOT_STORED] * len(drafts), {0: OSError("the disk is full")}

    monkeypatch.setattr(MessageWriter, "append", refusing)
    ((refused, last),) = await receive_all(sdk, receive_request())
    assert served == [1]
    assert code_of(refused) is not Code.OK
    assert refused.status.message == "the disk is full"
    assert last.HasField("delivery_timestamp")
    monkeypatch.setattr(MessageWriter, "append", append)
    assert [each.body for each in await receive_now(sdk)] == [b"0"]


async def test_ordered_and_redelivered_messages_are_not_received_together(
    sdk: Sdk, server: Server, broker: Client, served: list[int]
) -> None:
    await send(broker, 1)
    (first,) = await receive_now(sdk)
    assert served == [1]
    assert code_of(await sdk.call("ChangeInvisibleDuration", change(first, 1))) is Code.OK
    await server.pass_time(2, step=0.5)
    (again,) = await receive_in_time(sdk, server)
    assert again.system_properties.delivery_attempt == 2
    await create_group(broker, "G", consume_message_orderly=True)
    await send(broker, 1)
    assert len(await receive_now(sdk)) == 1
    assert sum(served) == 1


async def test_messages_for_a_cancelled_call_are_visible_again_at_once(
    server: Server, broker: Client, served: list[int]
) -> None:
    await send(broker, 3)
    with Sdk(server.broker_address, window=0) as sdk, Sdk(server.broker_address, "other") as other:
        streams = []
        for _ in range(2):
            streams.append(sdk.open(f"{SERVICE}ReceiveMessage", SOON))
            sdk.put(streams[-1], receive_request(most=1))
        sdk.http2.reset_stream(streams[0], 8)  # in the same read
        await sdk.send_out()
        await sdk.rest()
        assert served == [2]
        await sdk.cancel(streams[1])
        await sdk.rest()
        found = [each.body for _ in range(3) for each in await receive_in_time(other, server)]
        assert sorted(found) == [b"0", b"1", b"2"]


async def test_a_change_of_topic_or_group_counts_at_once(sdk: Sdk, broker: Client, served: list[int]) -> None:
    await send(broker, 2)
    assert len(await receive_now(sdk, most=1)) == 1
    await broker.create_topic("T", 2, perm=2)
    ((refused, *_),) = await receive_all(sdk, receive_request(most=1))
    assert code_of(refused) is Code.FORBIDDEN
    await broker.create_topic("T", 2)
    await create_group(broker, "G", consume_enable=False)
    ((refused, *_),) = await receive_all(sdk, receive_request(most=1))
    assert code_of(refused) is Code.FORBIDDEN
    assert sum(served) == 1


async def test_a_deadline_that_comes_too_soon_is_refused_after_other_calls_too(
    sdk: Sdk, broker: Client, served: list[int]
) -> None:
    await send(broker, 2)
    assert len(await receive_now(sdk, most=1)) == 1
    first, *_ = await sdk.receive(receive_request(most=1), {"grpc-timeout": "1S"})
    assert code_of(first) is Code.ILLEGAL_POLLING_TIME
    assert sum(served) == 1
