"""Every call of 5.x clients that names another account's objects: at a broker, and at a proxy that signs for it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from google.protobuf.message import Message

from rocketwire.wire.addresses import Address
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.grpc.methods import METHODS
from rocketwire.wire.recall_handle import encode_recall_handle
from tests.server.acl.test_every_code import (
    ADMIN,
    DEAD,
    HALF,
    KEY,
    OTHER,
    OWNER,
    PROOF,
    RETRY,
    SCHEDULE,
    TIMER,
    Places,
    done,
    hidden,
    state,
)
from tests.server.grpc.sdk import (
    CLIENT,
    DIALLED,
    SERVICE,
    Sdk,
    code_of,
    consumer_settings,
    message,
    producer_settings,
    receive_request,
    send_request,
    topic,
)
from tests.server.grpc.test_access import signed
from tests.server.harness import NOW, Client, Server, send_ext, topic_ext
from tests.server.proxy.test_lent_account import proxy_with_owner

REFUSED: Final = frozenset(
    {
        Code.UNAUTHORIZED,
        Code.FORBIDDEN,
        Code.INTERNAL_SERVER_ERROR,
        Code.INVALID_TRANSACTION_ID,
        Code.NOT_IMPLEMENTED,
        Code.ILLEGAL_TOPIC,
        Code.TOPIC_NOT_FOUND,  # as name servers answer every client
        Code.ILLEGAL_CONSUMER_GROUP,
        Code.BAD_REQUEST,
        Code.MESSAGE_NOT_FOUND,
    }
)
ROUTES: Final = frozenset({"QueryRoute", "QueryAssignment"})
"""They return the queues of a topic, as name servers do to every client."""
MINUTE: Final = timedelta(seconds=60)
TRANSACTION: Final = "01" + "7" * 32


class Placed(NamedTuple):
    """The owner's objects.

    Attributes:
        address: Where clients connect to.
        owner: The owner's connection of the remoting protocol to the broker.
        places: Of the messages in the log.
    """

    address: Address
    owner: Client
    places: Places


@contextlib.asynccontextmanager
async def placed(folder: Path, *, through_proxy: bool) -> AsyncIterator[Placed]:
    if through_proxy:
        async with proxy_with_owner(folder) as (server, owner, places, proxy):
            await _make_transactional(server)
            yield Placed(proxy.standing.listened, owner, places)
    else:
        async with hidden(folder) as (server, owner, places):
            await _make_transactional(server)
            yield Placed(server.broker_address, owner, places)


async def _make_transactional(server: Server) -> None:
    for name in ("Hidden", "Own"):
        attributes = {"attributes": "+message.type=MIXED"}
        await done(server.broker(), ADMIN, 17, topic_ext(name, 1) | attributes)


def by(account: str) -> dict[str, str]:
    return signed(account, KEY)


def handle(place: int, *, kind: str = "0", revive: int = 0) -> str:
    """A receipt handle, as any client can write it."""
    return f"0 {NOW} 60000 {revive} {kind} broker-a 0 0 {place}"


def group(name: str) -> d.Resource:
    return d.Resource(name=name)


def mixed() -> list[tuple[str, str]]:
    """Topics and groups of which one at least belongs to the owner."""
    return [
        ("Hidden", "hidden"),
        ("Hidden", "own"),
        ("Own", "hidden"),
        ("Own", "unheard-of"),
        (RETRY, "own"),
        (DEAD, "own"),
        (HALF, "own"),
        (SCHEDULE, "own"),
        (TIMER, "own"),
        ("%RETRY%own_Hidden", "own"),
        ("%RETRY%hidden_Own", "own"),
        ("%RETRY%hidden+Hidden", "own"),
    ]


def unary(places: Places) -> dict[str, list[Message]]:
    """The unary calls, by name."""
    recalled = encode_recall_handle("Hidden", "broker-a", NOW + 60_000, "TIMED").decode()
    ids = [*(place for place in places.all() if place >= 0), 0, 4, 8]
    return {
        "QueryRoute": [s.QueryRouteRequest(topic=topic("Hidden"), endpoints=DIALLED)],
        "QueryAssignment": [
            s.QueryAssignmentRequest(topic=topic("Hidden"), group=group("hidden"), endpoints=DIALLED),
        ],
        "Heartbeat": [s.HeartbeatRequest(group=group("hidden"), client_type=d.PUSH_CONSUMER)],
        "SendMessage": [
            send_request(*(message(b"x", f"01{number:032d}", to=name) for number in range(many)))
            for name in ("Hidden", RETRY, DEAD, HALF, TIMER, SCHEDULE)
            for many in (1, 2)
        ],
        "AckMessage": [
            s.AckMessageRequest(
                topic=topic(name),
                group=group(who),
                entries=[
                    s.AckMessageEntry(message_id=str(each), receipt_handle=handle(places.topic, kind=kind))
                    for each in range(many)
                ],
            )
            for name, who in mixed()
            for kind in "012"
            for many in (1, 2)
        ],
        "ChangeInvisibleDuration": [
            s.ChangeInvisibleDurationRequest(
                topic=topic(name),
                group=group(who),
                receipt_handle=handle(places.topic, kind=kind),
                invisible_duration=MINUTE,
            )
            for name, who in mixed()
            for kind in "012"
        ],
        "ForwardMessageToDeadLetterQueue": [
            *(
                s.ForwardMessageToDeadLetterQueueRequest(
                    topic=topic("Own"), group=group("own"), receipt_handle=handle(place), message_id="m"
                )
                for place in ids
            ),
            *(
                s.ForwardMessageToDeadLetterQueueRequest(
                    topic=topic(name), group=group(who), receipt_handle=handle(places.topic), message_id="m"
                )
                for name, who in mixed()
            ),
        ],
        "EndTransaction": [
            s.EndTransactionRequest(
                topic=topic(name), message_id=TRANSACTION, transaction_id=transaction, resolution=resolution
            )
            for name in ("Hidden", "Own")
            for transaction in (TRANSACTION, "H")
            for resolution in (d.COMMIT, d.ROLLBACK)
        ],
        "RecallMessage": [
            s.RecallMessageRequest(topic=topic(name), recall_handle=recalled) for name in ("Hidden", "Own", RETRY)
        ],
        "NotifyClientTermination": [s.NotifyClientTerminationRequest(group=group("hidden"))],
        "SyncLiteSubscription": [s.SyncLiteSubscriptionRequest(topic=topic("Hidden"), group=group("hidden"))],
    }


UNIMPLEMENTED: Final = ("PullMessage", "UpdateOffset", "GetOffset", "QueryOffset")


def test_every_call_is_listed() -> None:
    names = {path.removeprefix(SERVICE) for path in METHODS if path.startswith(SERVICE)}
    places = Places(*range(8))
    assert names == {*unary(places), *UNIMPLEMENTED, "ReceiveMessage", "Telemetry"}


async def receive(sdk: Sdk, request: Message, headers: Mapping[str, str]) -> list[Any]:
    return await sdk.receive(request, {"grpc-timeout": "8S", **headers})


@pytest.mark.slow
@pytest.mark.parametrize("through_proxy", [False, True], ids=["serve", "proxy"])
async def test_no_call_reveals_or_changes_what_belongs_to_another_account(
    tmp_path: Path, *, through_proxy: bool
) -> None:
    async with placed(tmp_path, through_proxy=through_proxy) as (address, owner, places):
        with Sdk(address) as its, Sdk(address, "thief@1@0@x") as thief:
            half = send_request(message(PROOF, TRANSACTION, to="Hidden", message_type=d.TRANSACTION))
            assert code_of(await its.call("SendMessage", half, by(OWNER))) is Code.OK
            with Sdk(address, "first@1@0@x") as first:  # now the group exists
                await receive(first, receive_request("own", to="Own", polling=5), by(OTHER))
            before = await state(owner)
            for name, calls in unary(places).items():
                for request in calls:
                    for headers in (by(OTHER), {}, by("unknown-account")):
                        response = await thief.call(name, request, headers)
                        shown = (name, headers, request, response)
                        assert PROOF not in response.SerializeToString(), shown
                        if name not in ROUTES and name != "NotifyClientTermination":  # no client has that id
                            codes = (
                                {code_of(response), *(Code(each.status.code) for each in response.entries)}
                                if (name == "AckMessage")
                                else {code_of(response)}
                            )
                            assert codes <= REFUSED, shown
                assert await state(owner) == before, name
            for name, who in mixed():
                responses = await receive(thief, receive_request(who, to=name, polling=5), by(OTHER))
                assert not any(each.HasField("message") for each in responses), (name, who)
                assert code_of(responses[0]) in REFUSED, (name, who)
            for settings in (consumer_settings("hidden", to="Own"), consumer_settings("own", to="Hidden")):
                ended = await thief.wait_until_over(await thief.telemetry(settings, by(OTHER)))
                assert ended.status != 0
            assert await state(owner) == before
            # The owner still has it.
            end = s.EndTransactionRequest(
                topic=topic("Hidden"), message_id=TRANSACTION, transaction_id=TRANSACTION, resolution=d.COMMIT
            )
            assert code_of(await its.call("EndTransaction", end, by(OWNER))) is Code.OK


@pytest.mark.slow
@pytest.mark.parametrize("through_proxy", [False, True], ids=["serve", "proxy"])
async def test_the_owner_may_make_the_same_calls(tmp_path: Path, *, through_proxy: bool) -> None:
    async with placed(tmp_path, through_proxy=through_proxy) as (address, _, _):
        with Sdk(address, CLIENT) as sdk:
            account = by(OWNER)
            await sdk.command(await sdk.telemetry(producer_settings("Hidden"), account))
            for number in range(4):
                request = send_request(message(b"%d" % number, f"02{number:032d}", to="Hidden"))
                assert code_of(await sdk.call("SendMessage", request, account)) is Code.OK
            responses = await receive(sdk, receive_request("hidden", to="Hidden", polling=5), account)
            got = [each.message for each in responses if each.HasField("message")]
            handles = [each.system_properties.receipt_handle for each in got]
            assert len(handles) >= 4
            names: dict[str, Any] = {"topic": topic("Hidden"), "group": group("hidden")}
            acks = [s.AckMessageEntry(message_id="m", receipt_handle=each) for each in handles[:2]]
            assert code_of(await sdk.call("AckMessage", s.AckMessageRequest(**names, entries=acks), account)) is Code.OK
            changed = s.ChangeInvisibleDurationRequest(**names, receipt_handle=handles[2], invisible_duration=MINUTE)
            assert code_of(await sdk.call("ChangeInvisibleDuration", changed, account)) is Code.OK
            dead = s.ForwardMessageToDeadLetterQueueRequest(**names, receipt_handle=handles[3], message_id="m")
            assert code_of(await sdk.call("ForwardMessageToDeadLetterQueue", dead, account)) is Code.OK
            half = send_request(message(PROOF, TRANSACTION, to="Hidden", message_type=d.TRANSACTION))
            assert code_of(await sdk.call("SendMessage", half, account)) is Code.OK
            end = s.EndTransactionRequest(
                topic=topic("Hidden"), message_id=TRANSACTION, transaction_id=TRANSACTION, resolution=d.COMMIT
            )
            assert code_of(await sdk.call("EndTransaction", end, account)) is Code.OK


@pytest.mark.parametrize("through_proxy", [False, True], ids=["serve", "proxy"])
async def test_the_owner_makes_a_redelivered_message_a_dead_letter(tmp_path: Path, *, through_proxy: bool) -> None:
    """It is in POP's retry topic then, which is named by group and topic."""
    async with proxy_with_owner(tmp_path) as (server, _, _, proxy):
        await _make_transactional(server)
        address = proxy.standing.listened if through_proxy else server.broker_address
        names: dict[str, Any] = {"topic": topic("Hidden"), "group": group("hidden")}
        with Sdk(address, CLIENT) as sdk:
            await sdk.call("SendMessage", send_request(message(to="Hidden")), by(OWNER))
            responses = await receive(sdk, receive_request("hidden", to="Hidden", polling=5), by(OWNER))
            first = next(each.message for each in responses if each.HasField("message"))
            changed = s.ChangeInvisibleDurationRequest(
                **names,
                receipt_handle=first.system_properties.receipt_handle,
                invisible_duration=timedelta(seconds=10),
            )
            assert code_of(await sdk.call("ChangeInvisibleDuration", changed, by(OWNER))) is Code.OK
            request = receive_request("hidden", to="Hidden", polling=20)
            stream = await sdk.begin("ReceiveMessage", request, {"grpc-timeout": "30S", **by(OWNER)})
            await sdk.rest()
            await server.pass_time(14, step=1)
            responses = (await sdk.wait_until_over(stream)).messages(s.ReceiveMessageResponse)
            second = next(each.message for each in responses if each.HasField("message"))
            assert second.system_properties.delivery_attempt == 2
            dead = s.ForwardMessageToDeadLetterQueueRequest(
                **names, receipt_handle=second.system_properties.receipt_handle, message_id="m"
            )
            assert code_of(await sdk.call("ForwardMessageToDeadLetterQueue", dead, by(OTHER))) is Code.UNAUTHORIZED
            assert code_of(await sdk.call("ForwardMessageToDeadLetterQueue", dead, by(OWNER))) is Code.OK


@pytest.mark.parametrize("through_proxy", [False, True], ids=["serve", "proxy"])
async def test_a_held_receive_gets_nothing_after_the_permission_is_withdrawn(
    tmp_path: Path, *, through_proxy: bool
) -> None:
    async with proxy_with_owner(tmp_path) as (server, owner, _, proxy):
        address = proxy.standing.listened if through_proxy else server.broker_address
        end = (await done(owner, ADMIN, 30, {"topic": "Own", "queueId": "0"})).header.ext or {}
        offset = {"consumerGroup": "own", "topic": "Own", "queueId": "0", "commitOffset": end["offset"]}
        await done(owner, ADMIN, 15, offset)
        with Sdk(address, "waits@1@0@x") as sdk:
            request = receive_request("own", to="Own", polling=20)
            stream = await sdk.begin("ReceiveMessage", request, {"grpc-timeout": "30S", **by(OTHER)})
            await sdk.rest()
            await server.pass_time(1, step=0.5)
            file = tmp_path / ("edge.yml" if through_proxy else "plain_acl.yml")
            file.write_text(file.read_text().replace("groupPerms: [own=SUB]", "groupPerms: []"))
            await server.pass_time(2, step=0.5)
            await done(server.broker(), ADMIN, 310, send_ext("Own"), PROOF)
            await server.pass_time(30, step=5)
            responses = (await sdk.wait_until_over(stream)).messages(s.ReceiveMessageResponse)
            assert not any(each.HasField("message") for each in responses)
            if through_proxy:
                assert code_of(responses[0]) in REFUSED
