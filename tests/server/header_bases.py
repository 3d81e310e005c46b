"""A right request of every code whose header has fields, and the state of the server that makes it right.

`prepared` creates that state: a topic with messages, a connected group with offsets, a half message, values on the name
server. It waits for what Apache's brokers do behind the answer (queue entries, the index, registering topics) by
repeating queries.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

import msgspec

from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import (
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
    SubscriptionData,
)
from rocketwire.wire.facts.codes import RequestCode as Code
from rocketwire.wire.headers import send
from rocketwire.wire.message import decode_record
from rocketwire.wire.properties import decode_properties
from rocketwire.wire.signature import ACCESS_KEY, SIGNATURE, SecretKey, signed_content
from tests.server.header_variants import (
    Base,
    Examination,
    Ext,
    Outcomes,
    Raw,
    Scene,
    ServerAnswer,
    ServerRequest,
    answer_fields,
    by_label,
    examined,
    text_of,
)

CLUSTER: Final = "DefaultCluster"
#: Of these 4.9.7 stores only the first.
_BROKERS_PROPERTIES: Final = frozenset({"CLUSTER", "MSG_REGION", "TRACE_ON"})
TOPIC: Final = "Variants"
GROUP: Final = "VariantGroup"
PRODUCERS: Final = "VariantProducers"
_COPY: Final = "VariantCopy"
CLIENT: Final = "variants@client"
_BORN: Final = 1_700_000_000_000
_LATER: Final = 4_102_444_800_000
_QUEUES: Final = 4
_FULL: Final = 1  # the queue with messages in it
_MESSAGES: Final = 3
_COMMITTED: Final = 2
_TRIES: Final = 5000  # that a query is repeated
_UNIQUE_KEY: Final = "7F0000010000000000000000000000%02X"
_PROPERTIES: Final = "KEYS\x01k\x02UNIQ_KEY\x01" + _UNIQUE_KEY % 255 + "\x02WAIT\x01true"
_REPLY: Final = f"REPLY_TO_CLIENT\x01{CLIENT}\x02CORRELATION_ID\x01c\x02TTL\x013000"


def _send(_scene: Scene | None = None, **changes: str) -> dict[str, str]:
    """The fields of a send, by their long names."""
    return {
        "producerGroup": PRODUCERS,
        "topic": TOPIC,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "queueId": "3",
        "sysFlag": "0",
        "bornTimestamp": str(_BORN),
        "flag": "5",
        "properties": _PROPERTIES,
        "reconsumeTimes": "2",
        "unitMode": "false",
        "maxReconsumeTimes": "3",
        "batch": "false",
        "bname": "broker-a",
        **changes,
    }


_SHORT: Final = {
    field.encode_name: send.SendMessageRequestHeader.SHORT_NAMES[field.name]
    for field in msgspec.structs.fields(send.SendMessageRequestHeader)
}


def _short(fields: Mapping[str, str]) -> dict[str, str]:
    return {_SHORT[name]: value for name, value in fields.items()}


def stored(scene: Scene, ext: Ext, reply: ServerAnswer) -> Generator[ServerRequest, ServerAnswer, dict[str, str]]:
    """The message that a send stored, and the fields of its answer."""
    first = reply.ext["msgId"].partition(",")[0]
    viewed = yield from scene.request(Code.VIEW_MESSAGE_BY_ID, {"offset": str(int(first[-16:], 16))})
    assert viewed.code == 0, viewed
    record = decode_record(viewed.body)
    requested = text_of(ext, "topic", "b")
    queue = "any" if text_of(ext, "queueId", "e") == "-1" else str(record.queue_id)
    properties = decode_properties(record.properties.decode())
    return {
        "topic": "asked" if record.topic == requested else record.topic,
        "queue": queue,
        "flag": str(record.flag),
        "sysFlag": str(record.sys_flag),
        "born": str(record.born_timestamp),
        "tries": str(record.reconsume_times),
        "properties": ",".join(
            f"{name}:{value}" for name, value in sorted(properties.items()) if name not in _BROKERS_PROPERTIES
        ),
        "answer": ",".join(sorted(reply.ext)),
    }


def _options(scene: Scene, ext: Ext, reply: ServerAnswer) -> Generator[ServerRequest, ServerAnswer, dict[str, str]]:
    """The configuration of a created topic."""
    answer = yield from scene.request(Code.GET_ALL_TOPIC_CONFIG, {})
    config = msgspec.json.decode(answer.body)["topicConfigTable"].get(text_of(ext, "topic"), {})
    return {name: str(value) for name, value in config.items() if name != "topicName"}


def _committed(scene: Scene, ext: Ext, reply: ServerAnswer) -> Generator[ServerRequest, ServerAnswer, dict[str, str]]:
    """The offset that the group has after it committed one."""
    requested = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": "2"}
    answer = yield from scene.request(Code.QUERY_CONSUMER_OFFSET, requested)
    return {"offset": answer.ext.get("offset", str(answer.code))}


def _has_body(scene: Scene, ext: Ext, reply: ServerAnswer) -> Generator[ServerRequest, ServerAnswer, dict[str, str]]:
    """The same, and the length of the body."""
    fields = yield from answer_fields(scene, ext, reply)
    return {**fields, "body": str(len(reply.body))}


def _broker_fields(scene: Scene) -> dict[str, str]:
    """A broker that registers with the name server."""
    return {"brokerName": "other", "brokerAddr": "127.0.0.1:1", "clusterName": "Others", "brokerId": "0"}


def _pull(scene: Scene) -> dict[str, str]:
    return {
        "consumerGroup": GROUP,
        "topic": TOPIC,
        "queueId": str(_FULL),
        "queueOffset": "1",
        "maxMsgNums": "1",
        "sysFlag": "4",  # with a subscription, and not to be held
        "commitOffset": "0",
        "suspendTimeoutMillis": "1000",
        "subVersion": "0",
        "subscription": "*",
        "expressionType": "TAG",
        "bname": "broker-a",
    }


def _always(**fields: str) -> Callable[[Scene], dict[str, str]]:
    return lambda _scene: dict(fields)


def _queue(**fields: str) -> Callable[[Scene], dict[str, str]]:
    return _always(topic=TOPIC, queueId=str(_FULL), bname="broker-a", **fields)


_OF_NEW_TOPICS: Final = ("producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "unitMode")
_OF_RETRIES: Final = ("reconsumeTimes", "maxReconsumeTimes", "unitMode")
_RETRY: Final = f"%RETRY%{GROUP}"
_BODY: Final = b"body"
_ADMIN: Final = "admin-key"
_SECRET: Final = "secret-of-admin"
ACCOUNTS: Final = f"accounts:\n- accessKey: {_ADMIN}\n  secretKey: {_SECRET}\n  admin: true\n"
"""The accounts' file of the broker that gets `GUARDED`."""
_BATCH: Final = encode_batch([BatchItem(flag=0, body=_BODY, properties=b"")] * 2)

# Queries come before changes.
BASES: Final = by_label(
    Base(Code.PULL_MESSAGE, _pull, effect=_has_body),
    Base(
        Code.QUERY_MESSAGE,
        _always(topic=TOPIC, key="k", maxNum="2", beginTimestamp="0", endTimestamp=str(_LATER)),
        effect=_has_body,
    ),
    Base(Code.VIEW_MESSAGE_BY_ID, lambda scene: {"offset": scene.facts["physical"]}, effect=_has_body),
    Base(
        Code.QUERY_CONSUMER_OFFSET,
        lambda _scene: {"consumerGroup": GROUP, "topic": TOPIC, "queueId": str(_FULL), "bname": "broker-a"},
    ),
    Base(Code.SEARCH_OFFSET_BY_TIMESTAMP, _queue(timestamp=str(_LATER))),
    Base(Code.GET_MAX_OFFSET, _queue()),
    Base(Code.GET_MIN_OFFSET, _queue()),
    Base(Code.GET_EARLIEST_MSG_STORETIME, _queue()),
    Base(Code.GET_CONSUMER_LIST_BY_GROUP, _always(consumerGroup=GROUP), effect=_has_body),
    Base(Code.GET_TOPIC_STATS_INFO, _always(topic=TOPIC)),
    Base(Code.GET_CONSUMER_CONNECTION_LIST, _always(consumerGroup=GROUP)),
    Base(Code.GET_PRODUCER_CONNECTION_LIST, _always(producerGroup=PRODUCERS)),
    Base(Code.GET_CONSUME_STATS, _always(consumerGroup=GROUP, topic=TOPIC)),
    Base(Code.QUERY_TOPIC_CONSUME_BY_WHO, _always(topic=TOPIC)),
    Base(Code.QUERY_CONSUME_TIME_SPAN, _always(topic=TOPIC, group=GROUP)),
    Base(Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, _always(topic=TOPIC, group=GROUP, clientAddr=CLIENT)),
    Base(Code.GET_CONSUMER_RUNNING_INFO, _always(consumerGroup=GROUP, clientId=CLIENT, jstackEnable="false")),
    Base(
        Code.CONSUME_MESSAGE_DIRECTLY,
        lambda scene: {
            "consumerGroup": GROUP,
            "clientId": CLIENT,
            "msgId": scene.facts["message"],
            "brokerName": "broker-a",
        },
    ),
    Base(
        Code.UPDATE_CONSUMER_OFFSET,
        _always(consumerGroup=GROUP, topic=TOPIC, queueId="2", commitOffset="0", bname="broker-a"),
        effect=_committed,
    ),
    Base(Code.INVOKE_BROKER_TO_RESET_OFFSET, _always(topic=TOPIC, group=GROUP, timestamp=str(_LATER), isForce="true")),
    Base(Code.SEND_MESSAGE, _send, _BODY, effect=stored),
    Base(Code.SEND_MESSAGE_V2, lambda _scene: _short(_send()), _BODY, effect=stored),
    Base(
        Code.SEND_BATCH_MESSAGE, lambda _scene: _short(_send(batch="true", reconsumeTimes="0")), _BATCH, effect=stored
    ),
    Base(
        Code.SEND_MESSAGE,
        lambda scene: _send(topic=scene.fresh("New")),
        _BODY,
        only=_OF_NEW_TOPICS,
        effect=stored,
        about="to a new topic",
    ),
    Base(
        Code.SEND_MESSAGE_V2,
        lambda scene: _short(_send(topic=scene.fresh("New"))),
        _BODY,
        only=_OF_NEW_TOPICS,
        effect=stored,
        about="to a new topic",
    ),
    Base(
        Code.SEND_MESSAGE,
        lambda _scene: _send(topic=_RETRY, queueId="0"),
        _BODY,
        only=_OF_RETRIES,
        effect=stored,
        about="to a retry topic",
    ),
    Base(
        Code.SEND_MESSAGE_V2,
        lambda _scene: _short(_send(topic=_RETRY, queueId="0")),
        _BODY,
        only=_OF_RETRIES,
        effect=stored,
        about="to a retry topic",
    ),
    Base(
        Code.SEND_REPLY_MESSAGE,
        lambda _scene: _send(topic=f"{CLUSTER}_REPLY_TOPIC", queueId="0", properties=_REPLY),
        _BODY,
    ),
    Base(
        Code.SEND_REPLY_MESSAGE_V2,
        lambda _scene: _short(_send(topic=f"{CLUSTER}_REPLY_TOPIC", queueId="0", properties=_REPLY)),
        _BODY,
    ),
    Base(
        Code.CONSUMER_SEND_MSG_BACK,
        lambda scene: {
            "offset": scene.facts["physical"],
            "group": GROUP,
            "delayLevel": "4",
            "originMsgId": scene.facts["message"],
            "originTopic": TOPIC,
            "unitMode": "false",
            "maxReconsumeTimes": "16",
            "bname": "broker-a",
        },
    ),
    Base(
        Code.END_TRANSACTION,
        lambda scene: {
            "producerGroup": PRODUCERS,
            "tranStateTableOffset": scene.facts["half offset"],
            "commitLogOffset": scene.facts["half physical"],
            "commitOrRollback": "8",
            "fromTransactionCheck": "false",
            "msgId": _UNIQUE_KEY % 254,
            "transactionId": _UNIQUE_KEY % 254,
            "bname": "broker-a",
        },
    ),
    Base(
        Code.UPDATE_AND_CREATE_TOPIC,
        lambda scene: {
            "topic": scene.fresh("Made"),
            "defaultTopic": "TBW102",
            "readQueueNums": "2",
            "writeQueueNums": "3",
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
            "order": "true",
            "topicSysFlag": "0",
        },
        effect=_options,
    ),
    Base(Code.DELETE_SUBSCRIPTIONGROUP, lambda scene: {"groupName": scene.fresh("Removed"), "removeOffset": "true"}),
    Base(Code.DELETE_TOPIC_IN_BROKER, lambda scene: {"topic": scene.fresh("Removed")}),
    Base(
        Code.UNREGISTER_CLIENT, _always(clientID=CLIENT, producerGroup="VariantLeavers", consumerGroup="VariantLeavers")
    ),
    Base(Code.GET_ROUTEINFO_BY_TOPIC, _always(topic=TOPIC)),
    Base(
        Code.REGISTER_BROKER,
        lambda scene: {
            **_broker_fields(scene),
            "haServerAddr": "127.0.0.1:2",
            "compressed": "false",
            "bodyCrc32": "0",
        },
    ),
    Base(Code.QUERY_DATA_VERSION, _broker_fields, b'{"counter":1,"timestamp":1}'),
    Base(Code.UNREGISTER_BROKER, _broker_fields),
    Base(Code.GET_KV_CONFIG, _always(namespace="variants", key="k")),
    Base(Code.GET_KVLIST_BY_NAMESPACE, _always(namespace="variants")),
    Base(Code.PUT_KV_CONFIG, _always(namespace="variants", key="other", value="v")),
    Base(Code.DELETE_KV_CONFIG, lambda scene: {"namespace": "variants", "key": scene.fresh("gone")}),
    Base(Code.DELETE_TOPIC_IN_NAMESRV, lambda scene: {"topic": scene.fresh("Removed")}),
    Base(Code.WIPE_WRITE_PERM_OF_BROKER, _always(brokerName="nobody")),
    Base(Code.ADD_WRITE_PERM_OF_BROKER, _always(brokerName="nobody")),
    Base(
        Code.QUERY_CORRECTION_OFFSET,
        _always(topic=TOPIC, compareGroup=GROUP),
        only=("topic", "compareGroup"),
        effect=_has_body,
    ),
    Base(Code.CLONE_GROUP_OFFSET, _always(srcGroup=GROUP, destGroup=_COPY, topic=TOPIC, offline="true")),
    Base(Code.QUERY_CONSUME_QUEUE, _always(topic=TOPIC, queueId=str(_FULL), index="1", count="1", consumerGroup=GROUP)),
    Base(Code.GET_TOPICS_BY_CLUSTER, _always(cluster="nobody's")),
)

_ACCOUNTS: Final = 25

# The accounts of DELETE_ACL_CONFIG are those of the lowest numbers, so it comes first.
GUARDED: Final = by_label(
    Base(Code.DELETE_ACL_CONFIG, lambda scene: {"accessKey": scene.fresh("doomed")}),
    Base(
        Code.UPDATE_AND_CREATE_ACL_CONFIG,
        lambda scene: {
            "accessKey": "account",
            "secretKey": "secret-of-account",
            "whiteRemoteAddress": "10.10.103.7",
            "admin": "false",
            "defaultTopicPerm": "DENY",
            "defaultGroupPerm": "SUB",
            "topicPerms": "A=DENY",
            "groupPerms": "G=SUB",
        },
    ),
    Base(Code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, _always(globalWhiteAddrs="10.10.103.*")),
)
"""The requests to a broker that has access control."""


def with_accounts(scene: Scene) -> Examination:
    """Create the state for `GUARDED` on a broker that has the administrator's account alone."""
    scene.sign = _signed
    for number in range(1, _ACCOUNTS):
        account = {"accessKey": f"doomed{number}", "secretKey": "secret-of-account"}
        yield from _until_done(scene, Code.UPDATE_AND_CREATE_ACL_CONFIG, account)


def _signed(ext: Ext, body: bytes) -> Ext:
    named = {**ext, ACCESS_KEY: _ADMIN}
    texts = {name: value for name in named if (value := text_of(named, name)) and named[name] != Raw("null")}
    return {**named, SIGNATURE: SecretKey(_SECRET).sign(signed_content(texts), body).decode()}


def prepared(scene: Scene) -> Examination:
    """Create the state on an empty server."""
    made = {"topic": TOPIC, "defaultTopic": "TBW102", "perm": "6", "order": "false"}
    made |= {"readQueueNums": str(_QUEUES), "writeQueueNums": str(_QUEUES)}
    made |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0"}
    yield from _until_done(scene, Code.UPDATE_AND_CREATE_TOPIC, made)
    yield from joined(scene)
    for number in range(_MESSAGES):
        properties = f"KEYS\x01k\x02UNIQ_KEY\x01{_UNIQUE_KEY % number}"
        fields = _short(_send(queueId=str(_FULL), reconsumeTimes="0", properties=properties))
        sent = yield from _until_done(scene, Code.SEND_MESSAGE_V2, fields, _BODY)
        scene.facts["message"] = sent.ext["msgId"]
        scene.facts["physical"] = _place(sent)
    half = f"TRAN_MSG\x01true\x02PGROUP\x01{PRODUCERS}\x02UNIQ_KEY\x01{_UNIQUE_KEY % 254}"
    sent = yield from _until_done(scene, Code.SEND_MESSAGE_V2, _short(_send(sysFlag="4", properties=half)), _BODY)
    scene.facts["half physical"] = _place(sent)
    scene.facts["half offset"] = sent.ext["queueOffset"]
    for queue in range(_QUEUES):
        committed = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": str(queue)}
        committed["commitOffset"] = str(_COMMITTED if queue == _FULL else 0)
        yield from _until_done(scene, Code.UPDATE_CONSUMER_OFFSET, committed)
    value = {"namespace": "variants", "key": "k", "value": "v"}
    yield from _until_done(scene, Code.PUT_KV_CONFIG, value, to_broker=False)
    yield from _until_done(scene, Code.GET_ROUTEINFO_BY_TOPIC, {"topic": TOPIC}, to_broker=False)
    seen = {"topic": TOPIC, "key": "k", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(_LATER)}
    yield from _until_done(scene, Code.QUERY_MESSAGE, seen)


def joined(scene: Scene) -> Examination:
    """Have the connection's client join its groups."""
    heartbeat = HeartbeatData(
        client_id=CLIENT,
        producer_data_set=(ProducerData(group_name=PRODUCERS),),
        consumer_data_set=(
            ConsumerData(
                group_name=GROUP,
                consume_type=ConsumeType.CONSUME_PASSIVELY,
                message_model=MessageModel.CLUSTERING,
                subscription_data_set=(SubscriptionData(topic=TOPIC, sub_string="*", sub_version=1),),
            ),
        ),
    )
    yield from _until_done(scene, Code.HEART_BEAT, None, encode_body(heartbeat))


def _place(sent: ServerAnswer) -> str:
    return str(int(sent.ext["msgId"][-16:], 16))


def _until_done(scene: Scene, code: int, ext: Ext | None, body: bytes = b"", **options: Any) -> Any:
    for _ in range(_TRIES):
        reply = yield from scene.request(code, ext, body, **options)
        if reply.code == 0:
            return reply
    raise AssertionError((code, reply))


NOT_SENT: Final[Mapping[int, str]] = {
    Code.LITE_PULL_MESSAGE: "4.9.7 does not know it",
    Code.RECALL_MESSAGE: "4.9.7 does not know it",
    Code.VIEW_BROKER_STATS_DATA: "its answer depends on what was stored before; both fields are plain texts",
    Code.RESUME_CHECK_HALF_MESSAGE: "its field is a plain text, and Apache puts back any message that it names",
    Code.GET_BROKER_CONSUME_STATS: "its answer depends on all groups; its field is read as those of other codes",
    Code.GET_TOPIC_CONFIG: "4.9.7 does not know it",
    Code.GET_SUBSCRIPTIONGROUP_CONFIG: "4.9.7 does not know it",
    Code.QUERY_TOPICS_BY_CONSUMER: "4.9.7 does not know it",
    Code.QUERY_SUBSCRIPTION_BY_CONSUMER: "4.9.7 does not know it",
    **dict.fromkeys(
        (
            Code.POP_MESSAGE,
            Code.ACK_MESSAGE,
            Code.PEEK_MESSAGE,
            Code.CHANGE_MESSAGE_INVISIBLETIME,
            Code.NOTIFICATION,
            Code.POLLING_INFO,
        ),
        "4.9.7 does not know it",
    ),
}


def examine_all(outcomes: Outcomes) -> Examination:
    """Send all variants of `BASES` to new servers."""
    scene = Scene()
    yield from prepared(scene)
    yield from examined(scene, BASES, outcomes, again=joined)


def examine_with_accounts(outcomes: Outcomes) -> Examination:
    """Send all variants of `GUARDED` to a broker that has `ACCOUNTS`."""
    scene = Scene()
    yield from with_accounts(scene)
    yield from examined(scene, GUARDED, outcomes, again=joined)
