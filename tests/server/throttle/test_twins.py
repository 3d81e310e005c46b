"""Quotas are the same whatever serves a send: the kernel, the fast path in Python or the general one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rocketwire.server.core.metrics import SEND, Metrics
from rocketwire.server.throttle.throttle import FLOW_CONTROL_REMARK
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import BINARY, JSON, batch_body, code_and_remark, properties_text, send_ext, serving

V2 = RequestCode.SEND_MESSAGE_V2
BATCH = RequestCode.SEND_BATCH_MESSAGE
LONG = RequestCode.SEND_MESSAGE
KEY = "__SHARDINGKEY"

Sent = tuple[int, dict[str, str], bytes, int]
"""Code, header, body, and the number of converted messages."""

SENDS: list[Sent] = [
    (V2, send_ext("T"), b"m", 1),
    (V2, send_ext("T"), b"", 1),
    (V2, send_ext("T", queue_id=1), bytes(4096), 1),
    (V2, send_ext("T"), bytes(4097), 2),
    (V2, send_ext("T", properties=properties_text(**{KEY: "k"})), b"m", 3),
    (V2, send_ext("T", properties=properties_text(**{"X" + KEY: "k"})), b"m", 1),
    (V2, send_ext("T", properties=properties_text(TIMER_DELAY_SEC="9")), b"m", 4),
    (V2, send_ext("T", properties=properties_text(TIMER_DELAY_SEC="9", **{KEY: "k"})), bytes(5000), 8),
    (V2, send_ext("T", properties=properties_text(TIMER_DELIVER_MS="1")), b"m", 1),
    (V2, send_ext("T", properties=properties_text(DELAY="2")), b"m", 4),
    (V2, send_ext("T", properties=properties_text(TRAN_MSG="true")), b"m", 2),
    (V2, send_ext("F"), b"m", 3),
    (V2, send_ext("F", properties=properties_text(TIMER_DELAY_SEC="9")), b"m", 4),
    (BATCH, send_ext("T", batch=True), batch_body([b"a", bytes(4097), b"b"]), 4),
    (BATCH, send_ext("T", batch=True), batch_body([b"a", b"b"], properties_text(**{KEY: "k"})), 6),
    (BATCH, send_ext("T", batch=True, properties=properties_text(**{KEY: "k"})), batch_body([b"a", b"b"]), 6),
    (BATCH, send_ext("F", batch=True), batch_body([b"a", b"b"]), 6),
    (LONG, send_ext("T", short=False), b"m", 1),
    (V2, send_ext("T", producer_group="other"), b"m", 1),
    (V2, send_ext("New", queue_id=0), b"m", 1),
]


@pytest.fixture(autouse=True)
def metrics(monkeypatch: pytest.MonkeyPatch) -> Metrics:
    """The counters of the server."""
    made = Metrics()
    monkeypatch.setattr("rocketwire.server.serving.Metrics", lambda: made)
    return made


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("serialize_type", [JSON, BINARY], ids=["json", "binary"])
@pytest.mark.parametrize("seed", range(2))
async def test_the_admitted_sends_and_their_counts_are_equal(
    tmp_path: Path, metrics: Metrics, seed: int, serialize_type: int
) -> None:
    """A separate bucket decides for each send whether it is admitted."""
    chosen = random.Random(seed)
    async with serving(
        tmp_path / "store",
        group_quotas="producers=20/-",
        ordered_factor=3,
        scheduled_factor=4,
        transactional_factor=2,
        throttle_wording="flow-control",
    ) as server:
        client = server.broker()
        await client.create_topic("T", 2)
        await client.create_topic("F", order=True)
        level, passed, refused = 20.0, 0, 0
        for _ in range(400):
            code, ext, body, cost = chosen.choice(SENDS)
            one_way = chosen.random() < 0.1
            if one_way:
                await client.send_oneway(code, ext, body, serialize_type=serialize_type)
                assert await client.arrived() == []
            else:
                answer = await client.request(code, ext, body, serialize_type=serialize_type)
            if ext.get("a") == "other":
                assert one_way or answer.header.code == 0
            elif level > 0:
                level -= cost
                passed += cost
                assert one_way or answer.header.code == 0, answer.header.remark
            else:
                refused += 1
                if not one_way:
                    assert code_and_remark(answer) == (ResponseCode.FLOW_CONTROL, FLOW_CONTROL_REMARK)
                    assert answer.header.ext == {"TRACE_ON": "true", "MSG_REGION": "DefaultRegion"}
            assert (metrics.converted[SEND], metrics.throttled[SEND, "group"]) == (passed, refused)
            seconds = chosen.choice([0, 0, 0.125])
            await server.pass_time(seconds)
            level = min(20.0, level + 20 * seconds)
        assert passed > 100
        assert refused > 100
