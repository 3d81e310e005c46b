"""The topic of a message that is named by its physical offset, queried from brokers of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.acl.control import AccessControl
from rocketwire.server.acl.message_owner import NoMessageThere
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import TransactionNotFound
from rocketwire.server.core.guard_errors import AccessRefused
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.remote_calls.message_places import MessageNotShown, MessagePlaces
from rocketwire.server.remote_calls.queries import RemoteQueries
from rocketwire.server.upstream.connecting import RequestNotSent, UpstreamConnectionError
from rocketwire.store.disk.files import FileSystem
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.progress import ConsumeQueueData, QueryConsumeQueueResponseBody
from rocketwire.wire.header import Header
from rocketwire.wire.headers import WireHeader, encode_ext
from rocketwire.wire.message import MessageRecord, encode_record
from tests.server.acl.test_every_code import ACCOUNTS, KEY, OTHER, OWNER
from tests.server.harness import FakePeer, mock_clock, settle

BROKER = Address(host="127.0.0.1", port=1)
PLACE = 700
VIEW, ENTRIES, END_TRANSACTION = 33, 321, 37
END = {"producerGroup": "P", "tranStateTableOffset": "5", "commitLogOffset": str(PLACE), "commitOrRollback": "8"}
HALF = "RMQ_SYS_TRANS_HALF_TOPIC"
ACL = "org.apache.rocketmq.acl.common.AclException: "


def record(topic: str, *, place: int = PLACE, properties: str = "") -> bytes:
    return encode_record(
        MessageRecord(
            topic=topic,
            queue_id=2,
            queue_offset=5,
            physical_offset=place,
            body=b"body",
            properties=properties.encode(),
        )
    )


def entry(place: int) -> Response:
    body = encode_body(QueryConsumeQueueResponseBody(queue_data=(ConsumeQueueData(physic_offset=place),)))
    return Response(0, None, {}, body)


class FakePool:
    """Answers requests by their codes; of several answers the next one each time, and the last one without end."""

    def __init__(self, *, signs: bool = True, **answers: list[Response | UpstreamConnectionError]) -> None:
        self.signs = signs
        self.codes: list[int] = []
        self._answers = {VIEW: answers["view"], ENTRIES: answers.get("entries", [entry(PLACE)])}

    async def send_request(self, address: Address, request: ClientRequest) -> Response:
        assert address == BROKER
        assert isinstance(request.fields, WireHeader)
        code, ext = request.code, encode_ext(request.fields)
        assert ext == (
            {"offset": str(PLACE)}
            if code == VIEW
            else {"topic": ext["topic"], "queueId": "2", "index": "5", "count": "1"}
        )
        self.codes.append(code)
        found = self._answers[code]
        answer = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(answer, UpstreamConnectionError):
            raise answer
        return answer


@pytest.fixture
def decide(tmp_path: Path) -> Callable[..., Any]:
    """Decides whether an account may read the message."""
    file = tmp_path / "plain_acl.yml"
    file.write_text(ACCOUNTS)
    access = AccessControl(
        str(file),
        FileSystem(),
        lambda: 0,
        Metrics(),
        limit_keys=LiveGroup(LimitKeys()),
        owner_at=None,
        reply_topic="R",
        region="here",
    )

    async def decided(pool: FakePool, account: str = OTHER, code: int = VIEW) -> None:
        header = Header(code=code, opaque=1, ext={**END, "offset": str(PLACE), "AccessKey": account})
        peer: Any = FakePeer()
        faked: Any = pool
        places = MessagePlaces(access, faked)
        assert places.to_decide(peer, header) == PLACE
        await places.decide(peer, header, PLACE, BROKER)

    return decided


def shown(topic: str, **how: Any) -> list[Response | UpstreamConnectionError]:
    return [Response(0, None, {}, record(topic, **how))]


async def test_the_topic_of_the_message_decides(decide: Callable[..., Any]) -> None:
    await decide(FakePool(view=shown("Own")))
    await decide(FakePool(view=shown("Hidden")), OWNER)
    await decide(FakePool(view=shown("RMQ_SYS_TRANS_HALF_TOPIC", properties="REAL_TOPIC\x01Own")))
    for view in (shown("Hidden"), shown("RMQ_SYS_TRANS_HALF_TOPIC", properties="REAL_TOPIC\x01Hidden")):
        with pytest.raises(AccessRefused, match="No default permission for topic:Hidden"):
            await decide(FakePool(view=view))


@pytest.mark.parametrize("half", [HALF, "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC"])
async def test_a_transaction_is_ended_by_its_half_message(decide: Callable[..., Any], half: str) -> None:
    await decide(FakePool(view=shown(half, properties="REAL_TOPIC\x01Own")), code=END_TRANSACTION)


async def test_no_message_of_a_topic_is_ended_as_a_half_message(decide: Callable[..., Any]) -> None:
    """Apache's brokers would store it in the topic that its properties name."""
    pool = FakePool(view=shown("Own", properties="REAL_TOPIC\x01Hidden\x02REAL_QID\x010"))
    with pytest.raises(TransactionNotFound):
        await decide(pool, code=END_TRANSACTION)
    with pytest.raises(AccessRefused, match="No default permission for topic:Hidden"):
        await decide(FakePool(view=shown("Hidden")), code=END_TRANSACTION)


@pytest.mark.parametrize(
    "pool",
    [
        FakePool(view=[Response(1, "can not find message by the offset, 700", {}, b"")]),
        FakePool(view=[Response(0, None, {}, b"")]),
        FakePool(view=[Response(0, None, {}, record("Own")[:-1])]),
        FakePool(view=shown("Own", place=PLACE + 1)),
        FakePool(view=shown("Own"), entries=[entry(PLACE + 1)]),  # a record in the body of another message
    ],
)
async def test_an_offset_without_a_message_is_refused(decide: Callable[..., Any], pool: FakePool) -> None:
    with pytest.raises(NoMessageThere):
        await decide(pool)


async def test_an_entry_that_the_broker_has_not_written_yet_is_waited_for(decide: Callable[..., Any]) -> None:
    none = Response(0, "Index 5 of 2@Own is not exist!", {}, b"")
    pool = FakePool(view=shown("Own"), entries=[none, Response(1, "2@Own is not exist!", {}, b""), entry(PLACE)])
    never = FakePool(view=shown("Own"), entries=[none])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(decide, pool)
        for _ in range(2):
            await settle()
            mock_clock().jump(0.02)
    assert pool.codes == [VIEW, ENTRIES, ENTRIES, ENTRIES]
    refused = trio.Event()

    async def decide_once() -> None:
        with pytest.raises(NoMessageThere):
            await decide(never)
        refused.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(decide_once)
        for _ in range(10):
            await settle()
            mock_clock().jump(0.5)
    assert refused.is_set()


@pytest.mark.parametrize(
    "pool",
    [
        FakePool(view=[RequestNotSent("the broker is away")]),
        FakePool(view=[Response(1, f"{ACL}No default permission for topic:Own", {}, b"")]),
        FakePool(view=shown("Own"), entries=[Response(1, f"{ACL}Need admin permission", {}, b"")]),
        FakePool(view=shown("Own"), entries=[Response(0, None, {}, b"no JSON")]),
    ],
)
async def test_a_message_that_the_broker_does_not_return_is_refused(
    decide: Callable[..., Any], pool: FakePool, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(MessageNotShown):
        await decide(pool)
    assert len(caplog.records) == 1


async def test_without_an_account_of_the_proxy_a_broker_with_accounts_decides(decide: Callable[..., Any]) -> None:
    for denied in (
        Response(1, f"{ACL}No accessKey is configured", {}, b""),
        Response(16, "username cannot be null", {}, b""),  # of 5.5.0
    ):
        await decide(FakePool(signs=False, view=[denied]))
        with pytest.raises(MessageNotShown):
            await decide(FakePool(view=[denied]))
    with pytest.raises(AccessRefused):
        await decide(FakePool(signs=False, view=shown("Hidden")))


@pytest.mark.parametrize(
    ("body", "code", "left"),
    [
        (record("Hidden") + record("Own") + record("Hidden"), 0, record("Own")),
        (record("Hidden"), 22, b""),
        (record("Own") + b"\0\0\0\x08rest", 0, record("Own")),
        (b"\0\0\0\0", 22, b""),
        (b"", 22, b""),
    ],
)
async def test_a_query_by_key_gives_messages_of_its_topic_only(body: bytes, code: int, left: bytes) -> None:
    class QueryPool:
        async def send_requests(self, _address: Address, questions: list[Any], **_: Any) -> list[Response]:
            assert questions[0].fields == {"topic": "Own", "key": KEY}
            return [Response(0, None, {"indexLastUpdatePhyoffset": "0"}, body)]

    pool: Any = QueryPool()
    reply = await RemoteQueries(pool).answer(Header(code=12, opaque=1, ext={"topic": "Own", "key": KEY}), BROKER)
    assert reply.code == code
    assert b"".join(map(bytes, reply.body)) == left
    assert reply.ext == {"indexLastUpdatePhyoffset": "0"}
