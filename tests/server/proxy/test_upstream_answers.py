"""After any answers of name servers and brokers, a proxy and a registering broker live, log no bug, and continue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.part import Check
from tests.fuzz.upstream import ANSWER, answer, opened

NUMBERS = st.one_of(st.integers(0, 20), st.sampled_from([-(1 << 63), -(1 << 31), -1, 1 << 31, (1 << 63) - 1, 1 << 70]))
TEXTS = st.one_of(st.sampled_from(["b", "", "T", "%RETRY%G", "a\x00b", "\x1b[31m", "x" * 300]), st.text(max_size=4))
HOSTS = st.sampled_from(["127.0.0.1", "localhost", "[::1]", "no.such.invalid", "", "\x00", "a" * 70, "0.0.0.0", "-"])
ADDRESSES = st.one_of(
    st.builds("{}:{}".format, HOSTS, st.one_of(st.integers(-1, 65537), st.sampled_from(["", "9" * 5000, "x"]))), TEXTS
)
ODD = st.one_of(st.none(), NUMBERS, TEXTS, st.just([]), st.just({}), st.just([[]]), st.just(1e300))
QUEUES = st.fixed_dictionaries(
    {"brokerName": TEXTS, "readQueueNums": NUMBERS, "writeQueueNums": NUMBERS, "perm": NUMBERS}
)
BROKERS = st.fixed_dictionaries(
    {"brokerName": TEXTS, "cluster": TEXTS, "brokerAddrs": st.dictionaries(NUMBERS.map(str), ADDRESSES, max_size=3)}
)
BODIES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "brokerDatas": st.one_of(st.lists(BROKERS, max_size=3), ODD),
        "queueDatas": st.one_of(st.lists(QUEUES, max_size=3), ODD),
        "brokerAddrTable": st.one_of(st.dictionaries(TEXTS, BROKERS, max_size=3), ODD),
        "clusterAddrTable": ODD,
        "consumerIdList": st.lists(TEXTS, max_size=3),
        "lockOKMQSet": st.lists(
            st.fixed_dictionaries({"topic": TEXTS, "brokerName": TEXTS, "queueId": NUMBERS}), max_size=3
        ),
        "retryQueueNums": NUMBERS,
        "attributes": st.one_of(st.just({"message.type": "FIFO"}), ODD),
    },
)
FIELDS = st.dictionaries(
    st.sampled_from(
        [
            *("msgId", "queueId", "queueOffset", "offset", "minOffset", "maxOffset", "nextBeginOffset"),
            *("popTime", "invisibleTime", "reviveQid", "startOffsetInfo", "msgOffsetInfo", "transactionId"),
        ]
    ),
    st.one_of(NUMBERS.map(str), TEXTS),
    max_size=8,
)
CODES = st.sampled_from([0, 0, 0, 1, 2, 3, 17, 19, 20, 21, 22, 208, 209, 210, -1, 1 << 31])
ANSWERS = st.one_of(
    st.builds(
        lambda body, code, ext: answer(body, code=code, ext=json.dumps(ext)),
        st.one_of(BODIES.map(json.dumps).map(str.encode), st.binary(max_size=40)),
        code=CODES,
        ext=FIELDS,
    ),
    st.just(ANSWER),
    st.binary(max_size=20).map(lambda header: ANSWER + header),
)


@pytest.fixture(scope="module")
def check() -> Iterator[Check]:
    """Receives the answers."""
    with opened() as made:
        yield made


@settings(max_examples=20)
@given(options=st.integers(0, 3), answers=st.lists(ANSWERS, max_size=6), times=st.sampled_from([1, 4, 20]))
def test_no_answer_ends_or_confuses_them(check: Check, options: int, answers: list[bytes], times: int) -> None:
    check(bytes([options]) + b"".join(answers) * times)
