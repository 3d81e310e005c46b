from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.config.keys import ConfigError
from rocketwire.server.configuration import ServerConfig
from rocketwire.server.core.metrics import RECEIVE, SEND
from rocketwire.server.throttle.quotas import NO_QUOTA, Quota, instance_quota, read_quotas

RATES = st.none() | st.integers(0, 999_999_999)


def rate_text(rate: int | None) -> str:
    return "-" if rate is None else str(rate)


@given(
    st.dictionaries(st.from_regex(r"[%|a-zA-Z0-9_-]{1,8}|\*", fullmatch=True), st.tuples(RATES, RATES)),
    st.sampled_from([",", " ", ", ", "\t"]),
)
def test_quotas_are_read_as_documented(quotas: dict[str, tuple[int | None, int | None]], between: str) -> None:
    text = between.join(f"{name}={rate_text(send)}/{rate_text(receive)}" for name, (send, receive) in quotas.items())
    config = ServerConfig().updated({"topicQuotas": text})
    read = read_quotas(config.throttle.topic_quotas)
    for name, (send, receive) in quotas.items():
        if name != "*":
            assert read.of(name) == Quota(send, receive)
    assert read.of("none of these") == Quota(*quotas.get("*", NO_QUOTA))
    assert read.any_of(SEND) == any(send is not None for send, _ in quotas.values())
    assert read.any_of(RECEIVE) == any(receive is not None for _, receive in quotas.values())


def test_the_last_of_equal_names_counts() -> None:
    assert read_quotas("A=1/2,A=-/3").of("A") == Quota(None, 3)


@pytest.mark.parametrize(
    "text", ["A", "A=1", "A=1/", "A=/1", "A=-1/2", "A=1/2/3", "A=1000000000/1", "=1/1", "A B=1/1", "A=1/1;B=1/1"]
)
def test_malformed_quotas_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"groupQuotas=.*NAME=SEND/RECEIVE"):
        ServerConfig().updated({"groupQuotas": text})


@pytest.mark.parametrize(
    ("tps", "ratio", "quota"),
    [
        (1000, "1:1", Quota(500, 500)),
        (1000, "1:4", Quota(200, 800)),
        (1000, "0:1", Quota(0, 1000)),
        (1000, "7:0", Quota(1000, 0)),
        (10, "1:2", Quota(3, 7)),
        (1, "1:1", Quota(1, 1)),
        (50, "1:99", Quota(1, 50)),
        (50, "9999:1", Quota(49, 1)),
        (1, "1:0", Quota(1, 0)),
        (0, "1:1", NO_QUOTA),
    ],
)
def test_the_quota_of_a_broker_is_divided(tps: int, ratio: str, quota: Quota) -> None:
    assert instance_quota(tps, ServerConfig().updated({"sendReceiveRatio": ratio}).throttle.send_receive_ratio) == quota


@pytest.mark.parametrize("ratio", ["0:0", "1", "1:1:1", "-1:1", "a:b", "12345:1", ""])
def test_malformed_ratios_are_refused(ratio: str) -> None:
    with pytest.raises(ConfigError, match="sendReceiveRatio="):
        ServerConfig().updated({"sendReceiveRatio": ratio})
