"""An account that may use its own topic and group only sends every served request about those of another account."""

from __future__ import annotations

import base64
import contextlib
import hmac
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from rocketwire.server.acl.access_rules import ADMIN_CODES
from rocketwire.server.registry import BROKER_FAMILIES
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.assignment import QueryAssignmentRequestBody
from rocketwire.wire.bodies.client import LockBatchRequestBody, MessageModel, MessageQueue
from rocketwire.wire.bodies.pop import BatchAck, BatchAckMessageRequestBody, encode_bit_set
from rocketwire.wire.facts.codes import RequestCode, SerializeType
from rocketwire.wire.frame import Frame
from rocketwire.wire.java import string_hash
from rocketwire.wire.message_id import parse_offset_message_id
from rocketwire.wire.recall_handle import encode_recall_handle
from tests.server.harness import (
    NOW,
    Client,
    Server,
    consumer,
    heartbeat,
    properties_text,
    pull_ext,
    records,
    send_ext,
    serving,
    subscription,
    topic_ext,
)

KEY: Final = "secret-of-everybody"
ADMIN, OWNER, OTHER = "admin-account", "owner-account", "other-account"
ACCOUNTS: Final = f"""\
accounts:
- accessKey: {ADMIN}
  secretKey: {KEY}
  admin: true
- accessKey: {OWNER}
  secretKey: {KEY}
  topicPerms: [Hidden=PUB|SUB]
  groupPerms: [hidden=SUB]
- accessKey: {OTHER}
  secretKey: {KEY}
  topicPerms: [Own=PUB|SUB]
  groupPerms: [own=SUB]
"""
PROOF: Final = b"for the owner's eyes"
RETRY, DEAD = "%RETRY%hidden", "%DLQ%hidden"
HALF, SCHEDULE, TIMER, REPLIES = (
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "SCHEDULE_TOPIC_XXXX",
    "rmq_sys_wheel_timer",
    "C_REPLY_TOPIC",
)
REVIVE: Final = "rmq_sys_REVIVE_LOG_DefaultCluster"
HOLDING: Final = (HALF, SCHEDULE, TIMER, "TRANS_CHECK_MAX_TIME_TOPIC", "%LMQ%hidden")
REFUSED: Final = "org.apache.rocketmq.acl.common.AclException: "
POP: Final = {
    **dict.fromkeys(("queueId", "offset", "pollTime", "bornTime", "initMode"), "0"),
    "maxMsgNums": "9",
    "invisibleTime": "60000",
    "extraInfo": f"0 {NOW} 60000 0 0 broker-a 0 0",
}
"""The header fields of every POP request, for the first message of a queue."""
INVENTED: Final = (
    *(-1, 0, 1, 9, 99, 999, 9999, 32767, 77777, 200057, 200099, 200999, 1 << 30),
    *range(3001, 3011),
    *range(901, 909),
    *range(1001, 1014),
    *range(2001, 2005),
    *range(200070, 200080),
    *(43, 45, 205, 318, 319, 322, 353, 513, 5001, 200056),
)
EVERY_CODE: Final = sorted({*map(int, RequestCode), *INVENTED})
_PLACE: Final = slice(28, 36)  # of a record: its place in the log
NO_TOPIC, NO_GROUP = "No default permission for topic:Hidden", "No default permission for group:hidden"


def signed(account: str, ext: dict[str, str], body: bytes = b"") -> dict[str, str]:
    ext = {**ext, "AccessKey": account}
    data = "".join(ext[name] for name in sorted(ext)).encode() + body
    return {**ext, "Signature": base64.b64encode(hmac.new(KEY.encode(), data, "sha1").digest()).decode()}


class Request(NamedTuple):
    """A request, and why it is refused. Without a reason it is served, and reveals and changes nothing of others."""

    ext: dict[str, str]
    words: str | None
    body: bytes = b""


@dataclass(frozen=True)
class Places:
    """Physical offsets of other accounts' messages: in their topic, and in the topics where messages wait."""

    topic: int
    retry: int
    dead: int
    half: int
    delayed: int
    timed: int
    replies: int
    forged: int

    def all(self) -> dict[int, str]:
        """The expected refusal of a request that names each offset."""
        return {
            self.topic: NO_TOPIC,
            self.retry: NO_GROUP,
            self.dead: f"No default permission for topic:{DEAD}",
            self.half: NO_TOPIC,
            self.delayed: NO_TOPIC,
            self.timed: NO_TOPIC,
            self.replies: f"No default permission for topic:{REPLIES}",
            # Offsets where no record begins, and where the bytes look like one.
            self.topic + 1: f"no message begins at offset {self.topic + 1} of the commit log",
            self.forged: f"no message begins at offset {self.forged} of the commit log",
            1 << 40: f"no message begins at offset {1 << 40} of the commit log",
            -1: "no message begins at offset -1 of the commit log",
        }


def sends(*, short: bool, batch: bool = False) -> list[Request]:
    found = []
    for topic, words in (
        ("Hidden", NO_TOPIC),
        (RETRY, NO_GROUP),
        (DEAD, f"No default permission for topic:{DEAD}"),
        (HALF, f"No default permission for topic:{HALF}"),
        (TIMER, f"No default permission for topic:{TIMER}"),
        ("ns%%RETRY%hidden", "No default permission for topic:ns%%RETRY%hidden"),
        ("%RETRY%ns%hidden", "No default permission for group:ns%hidden"),
        ("%RETRY%%RETRY%own", "No default permission for group:%RETRY%own"),
        ("%retry%own", "No default permission for topic:%retry%own"),
    ):
        for group in ("own", "hidden"):
            ext = send_ext(topic, short=short, producer_group=group, batch=batch)
            found += [Request(ext, words, b"x"), Request({**ext, "group": "own"}, words, b"x")]
    return found


def reads(**more: str) -> list[Request]:
    """Reads of a topic by a group, one of which belongs to another account."""

    def fields(topic: str, group: str) -> dict[str, str]:
        return {**pull_ext(topic, consumer_group=group), "group": group, "commitOffset": "7", "timestamp": "0", **more}

    found = [Request(fields("Hidden", "own"), NO_TOPIC), Request(fields("Own", "hidden"), NO_GROUP)]
    found += [Request(fields(RETRY, "own"), NO_GROUP), Request(fields("%RETRY%own%", "own"), "group:own%")]
    found += [Request(fields(topic, "own"), f"topic:{topic}") for topic in (DEAD, *HOLDING)]
    return found


def of_topic(**more: str) -> list[Request]:
    found = [Request({"topic": "Hidden", **more}, NO_TOPIC), Request({"topic": RETRY, **more}, NO_GROUP)]
    return found + [Request({"topic": topic, **more}, f"topic:{topic}") for topic in (DEAD, *HOLDING, REPLIES)]


def of_group(name: str, **more: str) -> list[Request]:
    return [Request({name: "hidden", "clientId": "owner", **more}, NO_GROUP)]


def of_place(places: Places, name: str, **more: str) -> list[Request]:
    return [Request({name: str(at), **more}, words) for at, words in places.all().items()]


def of_message(places: Places, server: Server) -> list[Request]:
    """309: the message is named by an id, and is sent to a consumer of another group."""

    def ids(at: int) -> str:
        return f"7F000001{server.advertised.port:08X}{at & ((1 << 64) - 1):016X}"

    own = {"consumerGroup": "own", "clientId": "other"}
    found = [Request({**own, "msgId": ids(at)}, words) for at, words in places.all().items()]
    return found + of_group("consumerGroup", msgId=ids(places.topic))


def of_statistics() -> list[Request]:
    gets = {"statsName": "GROUP_GET_NUMS"}
    return [
        Request({"statsName": "TOPIC_PUT_NUMS", "statsKey": "Hidden"}, NO_TOPIC),
        Request({**gets, "statsKey": "Hidden@own"}, NO_TOPIC),
        Request({**gets, "statsKey": "Own@hidden"}, NO_GROUP),
        Request({"statsName": "BROKER_PUT_NUMS", "statsKey": "Hidden"}, "not exist"),
    ]


def locks() -> list[Request]:
    queue = MessageQueue(topic="Hidden", broker_name="broker-a", queue_id=0)
    return [
        Request(
            {}, NO_GROUP, encode_body(LockBatchRequestBody(consumer_group="hidden", client_id=who, mq_set=(queue,)))
        )
        for who in ("other", "owner")
    ]


def recalls() -> list[Request]:
    handle = encode_recall_handle("Hidden", "broker-a", NOW + 60_000, "TIMED").decode()
    return [
        Request({"topic": "Hidden", "recallHandle": handle}, NO_TOPIC),
        Request({"topic": "Own", "recallHandle": handle}, "topic not match"),
    ]


def heartbeats() -> list[Request]:
    return [
        Request({"x": "1"}, NO_GROUP, heartbeat("other", consumer("hidden", subscription("Own")))),
        Request({"x": "1"}, NO_TOPIC, heartbeat("other", consumer("own", subscription("Own"), subscription("Hidden")))),
        Request({"x": "1"}, NO_GROUP, heartbeat("other", consumer("own", subscription(RETRY)))),
        Request({"x": "1"}, f"topic:{HALF}", heartbeat("other", consumer("own", subscription(HALF)))),
        Request({"x": "1"}, None, heartbeat("other", producers=["owners"])),
    ]


def pops() -> list[Request]:
    """Every POP request of a topic and a group. A retry topic counts as that of the group whose messages it holds."""
    retries = ("%RETRY%own_Hidden", "%RETRY%own+Hidden")
    return [
        *reads(**POP),
        *(Request({"topic": topic, "consumerGroup": "own", **POP}, NO_TOPIC) for topic in retries),
        *of_hidden_retries(**POP),
    ]


def of_hidden_retries(**more: str) -> list[Request]:
    retries = ("%RETRY%hidden_Own", "%RETRY%hidden+Own", "%RETRY%hidden_Hidden")
    return [
        Request({"topic": topic, "consumerGroup": "own", **more}, f"No default permission for group:{topic[7:]}")
        for topic in retries
    ]


def acks() -> list[Request]:
    """200151: its body names messages of several topics and groups."""

    def acked(*popped: tuple[str, str, str], words: str) -> Request:
        acks = [
            BatchAck(
                consumer_group=group,
                topic=topic,
                retry=kind,
                pop_time=NOW,
                invisible_time=1,
                bit_set=encode_bit_set([0]),
            )
            for topic, group, kind in popped
        ]
        body = encode_body(BatchAckMessageRequestBody(broker_name="broker-a", acks=tuple(acks)))
        return Request({"x": "1"}, words, body)

    found = []
    for kind in ("0", "1", "2"):
        found += [acked(("Hidden", "own", kind), words=NO_TOPIC), acked(("Own", "hidden", kind), words=NO_GROUP)]
        found.append(acked(("Own", "own", kind), ("Own", "hidden", kind), words=NO_GROUP))
        found.append(acked(("%RETRY%own_Hidden", "own", kind), words=NO_TOPIC))
        found.append(acked((RETRY, "own", kind), words=NO_GROUP))
        found.append(acked((TIMER, "own", kind), words=f"topic:{TIMER}"))
    return found


def assignments() -> list[Request]:
    return [
        Request(
            {"x": "1"},
            words,
            encode_body(
                QueryAssignmentRequestBody(topic=topic, consumer_group=group, client_id="owner", strategy_name="AVG")
            ),
        )
        for topic, group, words in (("Hidden", "own", NO_TOPIC), ("Own", "hidden", NO_GROUP), (RETRY, "own", NO_GROUP))
    ]


def end(places: Places) -> list[Request]:
    common = {"producerGroup": "owners", "tranStateTableOffset": "0", "msgId": "m", "commitOrRollback": "8"}
    found = of_place(places, "commitLogOffset", **common)
    return found + of_place(places, "commitLogOffset", **{**common, "commitOrRollback": "12"})


def requests(code: int, places: Places, server: Server) -> list[Request] | None:
    """Requests of one code about topics, groups and messages of others; None: brokers do not know this code."""
    if code in ADMIN_CODES:
        words = f"Need admin permission for request code={code}, but accessKey={OTHER} is not"
        return [Request({**topic_ext("Hidden"), "groupName": "hidden"}, words)]
    made: dict[int, Callable[[], Sequence[Request]]] = {
        10: lambda: sends(short=False),
        310: lambda: sends(short=True),
        320: lambda: sends(short=True, batch=True),
        324: lambda: sends(short=False),
        325: lambda: sends(short=True),
        11: reads,
        361: reads,
        12: lambda: of_topic(key="K", maxNum="9", beginTimestamp="0", endTimestamp=str(1 << 60)),
        14: reads,
        15: reads,
        28: lambda: [Request({"x": "1"}, None)],
        29: lambda: of_topic(queueId="0", timestamp="0"),
        30: lambda: of_topic(queueId="0"),
        31: lambda: of_topic(queueId="0"),
        32: lambda: of_topic(queueId="0"),
        33: lambda: of_place(places, "offset"),
        34: heartbeats,
        35: lambda: [
            Request({"clientID": "owner", "consumerGroup": "hidden"}, NO_GROUP),
            Request({"clientID": "owner", "producerGroup": "owners"}, "client id owner belongs to another account"),
        ],
        36: lambda: [
            *of_place(places, "offset", group="own", delayLevel="0", originTopic="Own"),
            *of_group("group", offset=str(places.topic), delayLevel="0"),
        ],
        37: lambda: end(places),
        38: lambda: of_group("consumerGroup"),
        41: locks,
        42: locks,
        46: lambda: [
            Request({"x": "1"}, None, b'{"group":"hidden","subscriptionData":{"topic":"Hidden","subString":"*"}}')
        ],
        202: of_topic,
        203: lambda: of_group("consumerGroup"),
        204: lambda: [Request({"producerGroup": "owners"}, "No default permission for group:owners")],
        208: lambda: [*of_group("consumerGroup"), Request({"consumerGroup": "own", "topic": "Hidden"}, NO_TOPIC)],
        222: lambda: reads(isForce="true"),
        223: reads,
        300: of_topic,
        303: reads,
        307: lambda: of_group("consumerGroup"),
        309: lambda: of_message(places, server),
        315: of_statistics,
        370: recalls,
        400: assignments,
        200050: pops,
        200051: pops,
        200052: pops,
        200053: pops,
        200054: pops,
        200055: pops,
        200151: acks,
    }
    make = made.get(code)
    return None if make is None else list(make())


def unserved(code: int, words: str) -> list[Request]:
    """A request of a code that brokers of this program do not serve, and why it is refused."""
    ext = {**topic_ext("Hidden"), "groupName": "hidden", "namespace": "N", "key": "k", "value": "v", "offset": "0"}
    if code in ADMIN_CODES:
        words = f"Need admin permission for request code={code}, but accessKey={OTHER} is not"
    return [Request(ext, words)]


async def signed_request(
    client: Client, account: str, code: int, ext: dict[str, str], body: bytes = b"", **options: int
) -> Frame:
    return await client.request(code, signed(account, ext, body), body, **options)


async def done(client: Client, account: str, code: int, ext: dict[str, str], body: bytes = b"") -> Frame:
    answer = await signed_request(client, account, code, ext, body)
    assert answer.header.code == 0, (code, answer.header.remark)
    return answer


def place_of(answer: Frame) -> int:
    assert answer.header.ext is not None
    return parse_offset_message_id(answer.header.ext["msgId"])[1]


async def stored(client: Client, topic: str, **properties: str) -> int:
    ext = send_ext(topic, properties=properties_text(**properties))
    return place_of(await done(client, OWNER, 310, ext, PROOF))


async def last_place(client: Client, topic: str) -> int:
    answer = await signed_request(client, ADMIN, 11, pull_ext(topic, consumer_group="A"))
    return records(bytes(answer.body))[-1].physical_offset


@contextlib.asynccontextmanager
async def hidden(folder: Path) -> AsyncIterator[tuple[Server, Client, Places]]:
    """A broker with a topic and a group of one account in all states, and the owner's connection, which is on line."""
    file = folder / "plain_acl.yml"
    file.write_text(ACCOUNTS)
    async with serving(folder / "store", acl_enable=True, acl_file=str(file)) as server:
        owner = server.broker()
        for topic in ("Hidden", "Own"):
            await done(owner, ADMIN, 17, topic_ext(topic))
        body = heartbeat("owner", consumer("hidden", subscription("Hidden")), producers=["owners"])
        await done(owner, OWNER, 34, {"x": "1"}, body)
        at = await stored(owner, "Hidden", KEYS="K", UNIQ_KEY="U")
        await done(owner, OWNER, 200050, {"topic": "Hidden", "consumerGroup": "hidden", **POP, "maxMsgNums": "1"})
        half = await stored(owner, "Hidden", TRAN_MSG="true", PGROUP="owners", UNIQ_KEY="H")
        delayed = await stored(owner, "Hidden", DELAY="18", UNIQ_KEY="D")
        timed = await stored(owner, "Hidden", TIMER_DELIVER_MS=str(NOW + 60_000), UNIQ_KEY="TIMED")
        for level in ("-1", "1"):
            await done(owner, OWNER, 36, {"offset": str(at), "group": "hidden", "delayLevel": level})
        await done(owner, OWNER, 310, send_ext(RETRY, producer_group="CLIENT_INNER_PRODUCER", reconsume_times=1), PROOF)
        reply = send_ext(REPLIES, properties=properties_text(REPLY_TO_CLIENT="gone"))
        await signed_request(owner, OWNER, 325, reply, PROOF)
        lock = LockBatchRequestBody(
            consumer_group="hidden",
            client_id="owner",
            mq_set=(MessageQueue(topic="Hidden", broker_name="broker-a", queue_id=0),),
        )
        await done(owner, OWNER, 41, {}, encode_body(lock))
        offset = {"consumerGroup": "hidden", "topic": "Hidden", "queueId": "0", "commitOffset": "1"}
        await done(owner, OWNER, 15, offset)
        places = Places(
            topic=at,
            retry=await last_place(owner, RETRY),
            dead=await last_place(owner, DEAD),
            half=half,
            delayed=delayed,
            timed=timed,
            replies=await last_place(owner, REPLIES),
            forged=await forged(owner),
        )
        yield server, owner, places


async def forged(client: Client) -> int:
    """The offset of a forged record in the body of a message of the account's own topic."""
    answer = await done(client, ADMIN, 310, send_ext("Own"), b"x")
    record = bytearray((await done(client, ADMIN, 33, {"offset": str(place_of(answer))})).body)
    head = record.index(b"x\x03Own")
    first, second = [place_of(await done(client, ADMIN, 310, send_ext("Own"), bytes(record))) for _ in range(2)]
    at = second + (second - first) + head
    record[_PLACE] = at.to_bytes(8)
    await done(client, ADMIN, 310, send_ext("Own"), bytes(record))
    believed = await done(client, ADMIN, 33, {"offset": str(at)})
    assert bytes(believed.body) == record
    return at


async def state(client: Client) -> list[bytes]:
    """All of the broker's state that requests may change, as an administrator sees it."""
    answers = [await done(client, ADMIN, code, {"x": "1"}) for code in (21, 26, 201, 54)]
    topics = ("Hidden", RETRY, DEAD, HALF, SCHEDULE, TIMER, REPLIES, "RMQ_SYS_TRANS_OP_HALF_TOPIC", REVIVE)
    answers += [await signed_request(client, ADMIN, 202, {"topic": topic}) for topic in topics]
    answers += [await done(client, ADMIN, code, {"consumerGroup": "hidden"}) for code in (203, 208, 38)]
    answers.append(await done(client, ADMIN, 204, {"producerGroup": "owners"}))
    return [bytes(answer.body) for answer in answers]


def check_refused(code: int, request: Request, answer: Frame) -> None:
    """Check that an answer refuses as expected, and reveals nothing of others."""
    shown = (code, request.ext, answer.header.remark)
    if request.words is None:
        assert answer.header.code == 0, shown
    else:
        assert request.words in (answer.header.remark or ""), shown
        assert answer.header.code != 0, shown
        assert not answer.body, shown
    assert PROOF not in bytes(answer.body), shown
    assert b"idden" not in bytes(answer.body), shown


async def test_there_are_requests_for_each_code_that_is_served(tmp_path: Path) -> None:
    async with hidden(tmp_path) as (server, _, places):
        served = {int(route.code) for routes in BROKER_FAMILIES.values() for route in routes}
        assert {code for code in EVERY_CODE if requests(code, places, server)} >= served


async def send_every_code(
    connect: Callable[[], Client],
    unserved_words: Callable[[int], str],
    server: Server,
    owner: Client,
    places: Places,
    serialize_type: int,
) -> None:
    """Send every code about another account's topics and groups; check that this reveals and changes nothing.

    Args:
        connect: Makes a connection.
        unserved_words: Why a code is refused that brokers of this program do not serve.
        server: The broker.
        owner: The connection of the account that owns the topics and groups.
        places: The physical offsets of the owner's messages.
        serialize_type: Of the headers.
    """
    before = await state(owner)
    owner.pushes.clear()
    for code in EVERY_CODE:
        if serialize_type == SerializeType.ROCKETMQ and not -(1 << 15) <= code < 1 << 15:
            continue  # the binary header has 16 bits for the code
        for request in requests(code, places, server) or unserved(code, unserved_words(code)):
            client = connect()
            answer = await signed_request(client, OTHER, code, request.ext, request.body, serialize_type=serialize_type)
            check_refused(code, request, answer)
            client.close()
        assert await state(owner) == before, code
    assert owner.pushes == []


@pytest.mark.slow
@pytest.mark.parametrize("serialize_type", [SerializeType.JSON, SerializeType.ROCKETMQ])
async def test_no_code_reveals_or_changes_what_belongs_to_another_account(tmp_path: Path, serialize_type: int) -> None:
    async with hidden(tmp_path) as (server, owner, places):
        await send_every_code(server.broker, lambda _: "not supported", server, owner, places, serialize_type)


async def test_the_owner_may_send_the_same_requests(tmp_path: Path) -> None:
    """So the refusals above depend on the account, and not on the requests."""
    async with hidden(tmp_path) as (_, owner, places):
        await check_owner_access(owner, places)


async def check_owner_access(owner: Client, places: Places) -> None:
    """Send the requests that only the owner may send."""
    for at in (places.topic, places.retry, places.dead, places.half, places.delayed, places.timed):
        answer = await done(owner, OWNER, 33, {"offset": str(at)})
        assert PROOF in bytes(answer.body)
        await done(owner, OWNER, 36, {"offset": str(at), "group": "hidden", "delayLevel": "0"})
    for topic in ("Hidden", RETRY, DEAD):
        answer = await done(owner, OWNER, 11, pull_ext(topic, consumer_group="hidden"))
        assert PROOF in bytes(answer.body)
        for code in (29, 30, 31, 32, 202, 300):
            await done(owner, OWNER, code, {"topic": topic, "queueId": "0", "timestamp": "0"})
    found = {"topic": "Hidden", "key": "K", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(1 << 60)}
    assert PROOF in bytes((await done(owner, OWNER, 12, found)).body)
    await done(owner, OWNER, 14, {"consumerGroup": "hidden", "topic": "Hidden", "queueId": "0"})
    for code in (203, 208, 38):
        await done(owner, OWNER, code, {"consumerGroup": "hidden"})
    queue = MessageQueue(topic="Hidden", broker_name="broker-a", queue_id=0)
    lock = encode_body(LockBatchRequestBody(consumer_group="hidden", client_id="consumer", mq_set=(queue,)))
    for code in (41, 42):
        await done(owner, OWNER, code, {}, lock)
    assignment = QueryAssignmentRequestBody(
        topic="Hidden",
        consumer_group="hidden",
        client_id="consumer",
        strategy_name="AVG",
        message_model=MessageModel.CLUSTERING,
    )
    await done(owner, OWNER, 400, {}, encode_body(assignment))
    body = heartbeat("consumer", consumer("hidden", subscription("Hidden")), producers=["owners"])
    await done(owner, OWNER, 34, {"x": "1"}, body)
    end = {"producerGroup": "owners", "tranStateTableOffset": "0", "msgId": "m", "commitOrRollback": "8"}
    await done(owner, OWNER, 37, {**end, "commitLogOffset": str(places.half)})
    handle = encode_recall_handle("Hidden", "broker-a", NOW + 60_000, "TIMED").decode()
    await done(owner, OWNER, 370, {"topic": "Hidden", "recallHandle": handle})


async def test_a_topic_that_holds_others_messages_needs_a_permission_by_name(tmp_path: Path) -> None:
    async with hidden(tmp_path) as (server, _, places):
        file = tmp_path / "plain_acl.yml"
        file.write_text(
            f"accounts:\n- accessKey: {OTHER}\n  secretKey: {KEY}\n  defaultTopicPerm: PUB|SUB\n"
            f"  defaultGroupPerm: SUB\n  topicPerms: [{TIMER}=SUB, Hidden=DENY, '{DEAD}=SUB']\n"
            "  groupPerms: [hidden=DENY]\n"
        )
        os.utime(file, (1, 1))
        await server.pass_time(1)
        client = server.broker()

        async def refused(code: int, ext: dict[str, str]) -> str | None:
            return (await signed_request(client, OTHER, code, ext)).header.remark

        assert await refused(30, {"topic": "Own", "queueId": "0"}) is None
        assert await refused(11, pull_ext(TIMER, consumer_group="G")) == "FOUND"
        assert (
            await refused(11, pull_ext(HALF, consumer_group="G")) == f"{REFUSED}No default permission for topic:{HALF}"
        )
        assert await refused(33, {"offset": str(places.timed)}) == REFUSED + NO_TOPIC
        assert await refused(11, pull_ext(DEAD, consumer_group="G")) == "FOUND"
        assert await refused(310, send_ext(DEAD)) == f"{REFUSED}No default permission for topic:{DEAD}"
        assert "topic[%DLQ%G] not exist" in (await refused(11, pull_ext("%DLQ%G", consumer_group="G")) or "")


def of_same_hash(topic: str, other: str) -> str:
    """A key of a topic whose hash is that of `other`, a topic's name, # and a key."""
    length = 7
    wanted = string_hash(other) - string_hash(f"{topic}#") * 31**length - sum(64 * 31**at for at in range(length))
    wanted %= 1 << 32
    digits = [wanted // 31**at % 31 for at in reversed(range(length))]
    key = "".join(chr(64 + digit) for digit in digits)
    assert string_hash(f"{topic}#{key}") == string_hash(other)
    return key


async def test_a_query_finds_no_message_of_another_topic_with_the_same_hash(tmp_path: Path) -> None:
    async with hidden(tmp_path) as (server, owner, _):
        key = of_same_hash("Own", "Hidden#K")
        await done(owner, ADMIN, 310, send_ext("Own", keys=key), b"mine")
        query = {"topic": "Own", "key": key, "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(1 << 60)}
        answer = await done(server.broker(), OTHER, 12, query)
        assert [message.body for message in records(bytes(answer.body))] == [b"mine"]
        query["key"] = of_same_hash("Own", "Hidden#U")
        answer = await signed_request(server.broker(), OTHER, 12, query)
        assert (answer.header.code, answer.body) == (22, b"")


async def test_a_message_that_the_same_read_is_yet_to_store_is_refused(tmp_path: Path) -> None:
    async with hidden(tmp_path) as (server, _, _):
        client = server.broker()
        at = place_of(await done(client, OTHER, 310, send_ext("Own"), b"x"))
        size = place_of(await done(client, OTHER, 310, send_ext("Own"), b"x")) - at
        back = {"offset": str(at + 2 * size), "group": "own", "delayLevel": "0"}
        frames = ((310, send_ext("Own"), b"x"), (36, back, b""), (33, {"offset": str(at + 2 * size)}, b""))
        await client.write(b"".join(client.frame(code, signed(OTHER, ext, body), body) for code, ext, body in frames))
        sent, *others = sorted(await client.arrived(), key=lambda answer: answer.header.opaque)
        assert place_of(sent) == at + 2 * size
        words = f"no message begins at offset {at + 2 * size} of the commit log"
        assert [answer.header.remark for answer in others] == [words, words]
        await done(client, OTHER, 36, back)


@pytest.mark.parametrize("last", ["Own", "Hidden"])
async def test_of_a_topic_that_is_named_twice_the_last_name_counts(tmp_path: Path, last: str) -> None:
    async with hidden(tmp_path) as (server, owner, _):
        before = await state(owner)
        client = server.broker()
        first = {"Own": "Hidden", "Hidden": "Own"}[last]
        frame = client.frame(310, signed(OTHER, send_ext(last), b"x"), b"x")
        header, size = frame[8 : len(frame) - 1], int.from_bytes(frame[4:8])
        assert header[:size] == header
        twice = header.replace(b'"b":"', b'"b":"%b","b":"' % first.encode())
        await client.write((len(twice) + 5).to_bytes(4) + len(twice).to_bytes(4) + twice + b"x")
        answer = await client.receive()
        assert answer.header.remark == (None if last == "Own" else REFUSED + NO_TOPIC)
        assert await state(owner) == before


async def test_only_a_producer_that_may_send_gets_back_checks(tmp_path: Path) -> None:
    async with hidden(tmp_path) as (server, owner, _):
        spy = server.broker()
        await done(spy, OTHER, 34, {"x": "1"}, heartbeat("spy", producers=["owners"]))
        for _ in range(4):
            await server.pass_time(70)
            await done(spy, OTHER, 34, {"x": "1"}, heartbeat("spy", producers=["owners"]))
            await done(owner, OWNER, 34, {"x": "1"}, heartbeat("owner", producers=["owners"]))
        await owner.arrived()
        await spy.arrived()
        checks = [frame for frame in owner.pushes if frame.header.code == 39]
        assert checks
        assert PROOF in bytes(checks[0].body)
        assert spy.pushes == []
        owner.close()
        admin = server.broker()
        await done(admin, ADMIN, 34, {"x": "1"}, heartbeat("admin", producers=["owners"]))
        await server.pass_time(70)
        await admin.arrived()
        assert [frame.header.code for frame in admin.pushes] == [39]


async def test_no_account_locks_or_unlocks_queues_under_the_client_id_of_another(tmp_path: Path) -> None:
    """Even if both may consume with the group."""
    file = tmp_path / "plain_acl.yml"
    file.write_text(ACCOUNTS.replace("[own=SUB]", "[own=SUB, hidden=SUB]"))
    async with serving(tmp_path / "store", acl_enable=True, acl_file=str(file)) as server:
        owner, thief = server.broker(), server.broker()
        await done(owner, OWNER, 34, {"x": "1"}, heartbeat("owner", consumer("hidden")))
        queue = MessageQueue(topic="Hidden", broker_name="broker-a", queue_id=0)
        body = encode_body(LockBatchRequestBody(consumer_group="hidden", client_id="owner", mq_set=(queue,)))
        assert b"Hidden" in bytes((await done(owner, OWNER, 41, {}, body)).body)
        for code in (42, 41):
            answer = await signed_request(thief, OTHER, code, {}, body)
            assert answer.header.remark == f"{REFUSED}client id owner belongs to another account"
        own = encode_body(LockBatchRequestBody(consumer_group="hidden", client_id="thief", mq_set=(queue,)))
        assert b"Hidden" not in bytes((await done(thief, OTHER, 41, {}, own)).body)
        await done(owner, OWNER, 42, {}, body)
        assert b"Hidden" in bytes((await done(thief, OTHER, 41, {}, own)).body)


async def test_no_account_unregisters_the_client_id_of_another(tmp_path: Path) -> None:
    """Apache's brokers behind a proxy forget the id, and replies to it are lost."""
    file = tmp_path / "plain_acl.yml"
    file.write_text(ACCOUNTS)
    async with serving(tmp_path / "store", acl_enable=True, acl_file=str(file)) as server:
        owner, thief = server.broker(), server.broker()
        await done(owner, OWNER, 34, {"x": "1"}, heartbeat("owner", producers=["owners"]))
        leave = {"clientID": "owner", "producerGroup": "owners"}
        answer = await signed_request(thief, OTHER, 35, leave)
        assert answer.header.remark == f"{REFUSED}client id owner belongs to another account"
        await done(owner, OWNER, 35, leave)
