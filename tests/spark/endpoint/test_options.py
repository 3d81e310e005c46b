from __future__ import annotations

import pickle

import pytest

from rocketwire.remoting.credentials import Credentials
from rocketwire.spark.endpoint.options import EndpointOptions, endpoint_options, write_options
from rocketwire.spark.errors import OptionInvalid


def test_how_an_endpoint_is_reached() -> None:
    assert endpoint_options({"NAMESRV": " h:1;i:2 ", "columns": "body"}) == EndpointOptions(
        name_servers="h:1;i:2", timeout=15
    )
    given = {"namesrv": "h:1", "accessKey": "a", "secretKey": "s", "endpointTimeoutMs": "1500", "consumerGroup": "g"}
    found = endpoint_options(given)
    account = Credentials(access_key="a", secret_key="s")
    assert found == EndpointOptions(name_servers="h:1", timeout=1.5, credentials=account, group="g")
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "the option namesrv is missing"),
        ({"namesrv": "h:1", "accessKey": "a"}, "one of the options accessKey and secretKey is missing"),
        ({"namesrv": "h:1", "consumerGroup": "a b"}, "option consumerGroup cannot be 'a b'"),
        ({"namesrv": "h:1", "endpointTimeoutMs": "0"}, "option endpointTimeoutMs cannot be '0'"),
    ],
)
def test_what_cannot_be(given: dict[str, str], text: str) -> None:
    with pytest.raises(OptionInvalid, match=text):
        endpoint_options(given)


def test_how_messages_are_sent() -> None:
    found = write_options({"namesrv": "h:1", "checkpointLocation": "/tmp/c", "path": ""})
    assert (found.topic, found.retries, found.max_batch_bytes, found.max_message_size) == (None, 3, 1 << 20, 4 << 20)
    found = write_options(
        {"namesrv": "h:1", "TOPIC": "T", "retries": "0", "maxBatchBytes": "64k", "maxMessageSize": "1"}
    )
    assert (found.topic, found.retries, found.max_batch_bytes, found.max_message_size) == ("T", 0, 64 << 10, 1)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"namesrv": "h:1", "topics": "T"}, r"there is no option topics of writing. Did you mean topic\?"),
        ({"namesrv": "h:1", "zzz": "T"}, "docs/spark.md lists the options"),
        ({"path": "/data"}, "messages cannot be written to the path /data. Give the option namesrv, and no path"),
        ({"namesrv": "h:1", "retries": "-1"}, "option retries cannot be '-1'"),
    ],
)
def test_what_a_write_refuses(given: dict[str, str], text: str) -> None:
    with pytest.raises(OptionInvalid, match=text):
        write_options(given)
