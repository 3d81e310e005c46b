"""A proxy with edge accounts in front of Apache's broker, which lets in the proxy's account only."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import pytest
import trio

from compat_tests import acl_cases
from compat_tests.acl_cases import Question, Who, signed
from compat_tests.proxied import ALSO_GRPC, APACHE_4, APACHE_5, OURS, Proxied, users_of_5_5
from compat_tests.remoting import Answer, Connection
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.endpoint import running
from rocketwire.wire.addresses import Address, parse_address
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.sdk import Sdk, code_of, message, send_request, topic
from tests.server.grpc.test_access import signed as signed_call

_SECRET: Final = "secret-of-everybody"
_ACCOUNTS: Final = f"""\
accounts:
- accessKey: edge-admin
  secretKey: {_SECRET}
  admin: true
- accessKey: owner-account
  secretKey: {_SECRET}
  topicPerms: [Hidden=PUB|SUB]
  groupPerms: [hidden=SUB]
- accessKey: other-account
  secretKey: {_SECRET}
  topicPerms: [Own=PUB|SUB]
  groupPerms: [own=SUB]
- accessKey: default-account
  secretKey: {_SECRET}
  defaultTopicPerm: PUB|SUB
  defaultGroupPerm: SUB
  topicPerms: [Hidden=DENY]
  groupPerms: [hidden=DENY]
"""
_UPSTREAM: Final = "admin-key-1"
_PREPARED, _COMMIT = "4", "8"


def _guarded(folder: Path, kind: str) -> Proxied:
    """Brokers of a kind that demand an account, behind a proxy that has one and demands others."""
    edge = folder / "edge.yml"
    edge.write_text(_ACCOUNTS)
    secret = acl_cases.SECRETS[_UPSTREAM]
    settings: Mapping[str, str]
    if kind == APACHE_4:
        conf = folder / "broker-a" / "home" / "conf"
        conf.mkdir(parents=True)
        shutil.copy(acl_cases.ACCOUNTS, conf / "plain_acl.yml")
        settings = {"aclEnable": "true"}
    elif kind == OURS:
        settings = {"aclEnable": "true", "aclFile": str(acl_cases.ACCOUNTS)}
    else:
        settings = users_of_5_5(folder, _UPSTREAM, secret)
    account = ["--set", f"upstreamAccessKey={_UPSTREAM}", "--set", f"upstreamSecretKey={secret}"]
    options = [*ALSO_GRPC, "--acl", str(edge), *account]
    return Proxied(folder, kind=kind, brokers=1, settings=settings, options=options)


def _send_request(broker: Connection, account: str, code: int, fields: Mapping[str, str], body: str = "") -> Answer:
    request = signed(Question(code, fields, body), Who(account, _SECRET))
    return broker.ask(request.code, request.fields, request.body)


def _done(broker: Connection, account: str, code: int, fields: Mapping[str, str], body: str = "") -> Answer:
    answer = _send_request(broker, account, code, fields, body)
    assert answer.code == 0, (code, fields, answer)
    return answer


def _sent(broker: Connection, topic: str, properties: Sequence[str], *, sys_flag: str = "0") -> Answer:
    account = "owner-account" if topic == "Hidden" else "other-account"
    text = "".join(f"{each.replace('=', chr(1))}{chr(2)}" for each in properties)
    fields = {"a": "P", "b": topic, "c": "TBW102", "d": "4", "e": "0", "f": sys_flag, "g": "1700000000000", "h": "0"}
    return _done(broker, account, 310, {**fields, "i": text, "j": "0", "k": "false", "m": "false"}, f"of {topic}")


def _place(sent: Answer) -> str:
    return str(int(sent.fields["msgId"][-16:], 16))


def _end(half: Answer) -> dict[str, str]:
    places = {"tranStateTableOffset": half.fields["queueOffset"], "commitLogOffset": _place(half)}
    return {"producerGroup": "P", "commitOrRollback": _COMMIT, "msgId": "H", "transactionId": "H", **places}


def _pulled(broker: Connection, topic: str) -> bytes:
    account, group = ("owner-account", "hidden") if topic == "Hidden" else ("other-account", "own")
    fields = {"consumerGroup": group, "topic": topic, "queueId": "0", "queueOffset": "0", "maxMsgNums": "32"}
    fields |= {"sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "1"}
    return _send_request(broker, account, 11, {**fields, "expressionType": "TAG"}).body


def _create_topics(broker: Connection, **more: str) -> None:
    for name in ("Hidden", "Own"):
        config = {"topic": name, "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6"}
        config |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false", **more}
        _done(broker, "edge-admin", 17, config)


@pytest.mark.parametrize("kind", [APACHE_4, APACHE_5, OURS])
def test_a_message_named_by_its_offset_needs_the_permission_of_its_topic(tmp_path: Path, kind: str) -> None:
    guarded = _guarded(tmp_path, kind)
    with running(guarded), Connection(guarded.broker) as broker:
        _create_topics(broker)
        plain = _sent(broker, "Hidden", ["UNIQ_KEY=U"])
        delayed = _sent(broker, "Hidden", ["UNIQ_KEY=D", "DELAY=18"])
        half = _sent(broker, "Hidden", ["UNIQ_KEY=H", "TRAN_MSG=true", "PGROUP=P"], sys_flag=_PREPARED)
        own = _sent(broker, "Own", ["UNIQ_KEY=O"])
        for each in (plain, delayed, half):
            place = {"offset": _place(each)}
            assert b"of Hidden" in _done(broker, "owner-account", 33, place).body
            back = {**place, "group": "own", "delayLevel": "-1", "originMsgId": "m", "originTopic": "Own"}
            for code, fields in ((33, place), (36, back), (37, _end(each))):
                answer = _send_request(broker, "other-account", code, fields)
                assert answer.code != 0
                assert "No default permission for topic:Hidden" in answer.remark
                assert not answer.body
        for account in ("owner-account", "other-account"):
            answer = _send_request(broker, account, 33, {"offset": str(int(_place(plain)) + 1)})
            assert "no message begins at offset" in answer.remark
        assert b"of Own" in _done(broker, "other-account", 33, {"offset": _place(own)}).body
        back = {
            "offset": _place(own),
            "group": "own",
            "delayLevel": "-1",
            "originMsgId": "m",
            "originTopic": "Own",
        }
        _done(broker, "other-account", 36, back)
        assert _pulled(broker, "Hidden").count(b"of Hidden") == 1
        _done(broker, "owner-account", 37, _end(half))
        wait_until(lambda: _pulled(broker, "Hidden").count(b"of Hidden") == 2)
        for code in (43, 45, 205, 318, 353, 513, 901, 1007, 2001, 3001, 3004, 3005, 3010, 5001, 200056, 200074, 77777):
            for account in ("other-account", "owner-account"):
                answer = _send_request(broker, account, code, {"topic": "Hidden", "username": "x"})
                assert answer.code == 1
                assert "not allowed through the proxy" in answer.remark or "Need admin permission" in answer.remark


_GUESSES: Final = 512
_QUESTION: Final = {"consumerGroup": "hidden", "clientId": "member", "jstackEnable": "false"}
_MEMBER: Final = json.dumps(
    {
        "clientID": "member",
        "producerDataSet": [],
        "consumerDataSet": [
            {
                "groupName": "hidden",
                "consumeType": "CONSUME_PASSIVELY",
                "messageModel": "CLUSTERING",
                "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
                "subscriptionDataSet": [{"topic": "Hidden", "subString": "*", "subVersion": 1}],
                "unitMode": False,
            }
        ],
    }
)


@pytest.mark.parametrize("kind", [APACHE_4, APACHE_5])
def test_what_apaches_brokers_take_of_anybody(tmp_path: Path, kind: str) -> None:
    guarded = _guarded(tmp_path, kind)
    with running(guarded), Connection(guarded.broker) as broker:
        _create_topics(broker)
        _sent(broker, "Hidden", ["UNIQ_KEY=U"])
        forged = _sent(broker, "Own", ["UNIQ_KEY=H", "REAL_TOPIC=Hidden", "REAL_QID=0", "PGROUP=P"])
        answer = _send_request(broker, "other-account", 37, _end(forged))
        assert "Find prepared transaction message failed" in answer.remark
        wanted = {"consumerGroup": "own", "topicList": "Hidden"}
        latency = {"statsName": "GROUP_GET_LATENCY", "statsKey": "0@Hidden@hidden"}
        for account, code, fields in (("other-account", 208, wanted), ("default-account", 315, latency)):
            assert "No default permission for " in _send_request(broker, account, code, fields).remark
        revive = {"a": "P", "b": "rmq_sys_REVIVE_LOG_DefaultCluster", "c": "TBW102", "d": "4", "e": "0", "f": "0"}
        revive |= {"g": "1700000000000", "h": "0", "i": "", "j": "0", "k": "false", "m": "false"}
        assert "No default permission for topic" in _send_request(broker, "default-account", 310, revive).remark
        acks = '{"brokerName":"broker-a","acks":[{"c":"own","c\\u0000":"hidden","t":"Own","t\\u0000":"Hidden","r":"0",'
        acks += '"so":0,"q":0,"rq":0,"pt":1700000000000,"it":60000,"b":"AQ=="}]}'
        assert "may be read as another" in _send_request(broker, "other-account", 200151, {"x": "1"}, acks).remark
        assert _pulled(broker, "Hidden").count(b"of ") == 1


@pytest.mark.parametrize("kind", [APACHE_4, APACHE_5])
def test_nobody_answers_what_a_broker_asks_others(tmp_path: Path, kind: str) -> None:
    guarded = _guarded(tmp_path, kind)
    with running(guarded), Connection(guarded.broker) as member, Connection(guarded.broker) as stranger:
        _create_topics(member)
        _done(member, "owner-account", 34, {"x": "1"}, _MEMBER)
        with ThreadPoolExecutor(1) as pool, Connection(guarded.broker) as asking:
            found = pool.submit(_send_request, asking, "edge-admin", 307, _QUESTION)
            opaque = member.question(307)
            for number in range(max(0, opaque - _GUESSES), opaque + _GUESSES):
                stranger.answer(number, b'{"jstack":"of a stranger"}')
            assert _send_request(stranger, "other-account", 30, {"topic": "Own", "queueId": "0"}).code == 0
            member.answer(opaque, b'{"jstack":"of the member"}')
            assert found.result().body == b'{"jstack":"of the member"}'


_TRANSACTION: Final = "01" + "7" * 32


@pytest.mark.parametrize("kind", [APACHE_4, APACHE_5])
def test_clients_of_5_x_need_the_permission_of_the_messages_topic(tmp_path: Path, kind: str) -> None:
    guarded = _guarded(tmp_path, kind)
    with running(guarded):
        with Connection(guarded.broker) as broker:
            _create_topics(broker, attributes="+message.type=TRANSACTION")
            places = [int(_place(_sent(broker, topic, [f"UNIQ_KEY={topic}"]))) for topic in ("Hidden", "Own")]
        trio.run(partial(_call, parse_address(guarded.grpc), *places))


async def _call(address: Address, of_hidden: int, of_own: int) -> None:
    owner, other = (signed_call(account, _SECRET) for account in ("owner-account", "other-account"))
    with Sdk(address) as client:
        half = send_request(message(b"of Hidden", _TRANSACTION, to="Hidden", message_type=d.TRANSACTION))
        assert code_of(await client.call("SendMessage", half, owner)) is Code.OK
        end = s.EndTransactionRequest(
            topic=topic("Hidden"), message_id=_TRANSACTION, transaction_id=_TRANSACTION, resolution=d.COMMIT
        )
        assert code_of(await client.call("EndTransaction", end, other)) is Code.UNAUTHORIZED
        assert code_of(await client.call("EndTransaction", end, owner)) is Code.OK
        now = int(time.time() * 1000)
        for place, code in ((of_hidden, Code.UNAUTHORIZED), (of_own + 1, Code.INTERNAL_SERVER_ERROR)):
            dead = s.ForwardMessageToDeadLetterQueueRequest(
                topic=topic("Own"),
                group=topic("own"),
                receipt_handle=f"0 {now} 60000 0 0 broker-a 0 0 {place}",
                message_id="m",
            )
            assert code_of(await client.call("ForwardMessageToDeadLetterQueue", dead, other)) is code
