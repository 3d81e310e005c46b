from __future__ import annotations

import pytest

from rocketwire.server.acl.plain_bodies import check_one_reading
from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import consumer, heartbeat, subscription


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        heartbeat("c", consumer("G", subscription("T"), subscription("U")), consumer("H"), producers=["P"]),
        b'{"clientId":"c","consumerGroup":"G","mqSet":[{"topic":"T","brokerName":"b","queueId":0}],"onlyThisBroker":true}',
        b'{"brokerName":"b","acks":[{"c":"G","t":"T","r":"0","so":1,"q":0,"rq":0,"pt":1,"it":1,"b":"AQ=="}]}',
        b'{"consumerDataSet":[{"groupName":"G"}],"heartbeatFingerprint":0,"withoutSub":false}',
    ],
)
def test_bodies_of_clients_have_one_reading(body: bytes) -> None:
    code = RequestCode.HEART_BEAT if b"clientID" in body else RequestCode.LOCK_BATCH_MQ
    check_one_reading(code, memoryview(body))


@pytest.mark.parametrize(("code", "name"), [(34, "clientId"), (41, "clientID"), (400, "clientID"), (34, "client_id")])
def test_a_client_id_is_read_as_the_broker_reads_it(code: int, name: str) -> None:
    with pytest.raises(BodyInvalid):
        check_one_reading(code, memoryview(f'{{"{name}":"c"}}'.encode()))


@pytest.mark.parametrize(
    "body",
    [
        b'{"consumerGroup":"own","consumerGroup":"hidden"}',
        b'{"consumerGroup":"own","ConsumerGroup":"hidden"}',
        b'{"consumerGroup":"own","consumer_group":"hidden"}',
        b'{"consumerGroup":"own","isConsumerGroup":"hidden"}',
        b'{"consumerGroup":"own","\\u0063onsumerGroup":"hidden"}',
        b'{"CONSUMERGROUP":"hidden"}',
        b'{"acks":[{"c":"own","C":"hidden"}]}',
        b'{"acks":[{"c":"own","T":"Hidden"}]}',
        b'{"acks":[{"c":"own","c\\u0000":"hidden"}]}',
        b'{"acks":[{"c":"own","unheardOf":"hidden"}]}',
        b'{"acks":[{"c":-0}]}',
        b'{"acks":[{"t":1e2}]}',
        b'{"acks":"[]"}',
        b'{"consumerGroup":null}',
        b'{"consumerDataSet":[{"groupName":"own","subscriptionDataSet":[{"Topic":"Hidden"}]}]}',
        b'{"consumerDataSet":[{"$ref":"$.producerDataSet[0]"}]}',
        b'{"consumerDataSet":[{"@type":"x"}]}',
        b"{consumerGroup:'own'}",
        b'{"consumerGroup":"own"}{"consumerGroup":"hidden"}',
        b'{"consumerGroup":"own"/*,"consumerGroup":"hidden"*/}',
        b'{"consumerGroup":"\xff"}',
        b"\xff\xfe{\0}\0",
        b"[" * 100_000,
    ],
)
def test_ambiguous_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(BodyInvalid):
        check_one_reading(RequestCode.HEART_BEAT, memoryview(body))
