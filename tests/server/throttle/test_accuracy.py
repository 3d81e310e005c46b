"""In any ten seconds after the begin of an overload, the rate is within 2 % of the quota."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import pytest

from rocketwire.server.throttle.throttle import RECEIVE_REMARK, SEND_REMARK
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from tests.server.harness import (
    BINARY,
    JSON,
    Client,
    Server,
    batch_body,
    code_and_remark,
    pull_ext,
    records,
    send_ext,
    serving,
)

STEP = 0.025
PER_SECOND = round(1 / STEP)
SECONDS = 12
QUOTA = 200
OVERLOAD = 10
BATCH = 4
PULLED = 4

pytestmark = pytest.mark.usefixtures("driver")

Requests = Callable[[Client], list[bytes]]


def singles(serialize_type: int) -> Requests:
    def made(client: Client) -> list[bytes]:
        count = OVERLOAD * QUOTA // PER_SECOND
        ext = send_ext("T")
        return [
            client.frame(RequestCode.SEND_MESSAGE_V2, ext, b"m", serialize_type=serialize_type) for _ in range(count)
        ]

    return made


def batches(client: Client) -> list[bytes]:
    count = OVERLOAD * QUOTA // PER_SECOND // BATCH
    ext, body = send_ext("T", batch=True), batch_body([b"m"] * BATCH)
    return [client.frame(RequestCode.SEND_BATCH_MESSAGE, ext, body) for _ in range(count)]


def pulls(client: Client) -> list[bytes]:
    count = OVERLOAD * QUOTA // PER_SECOND // PULLED
    ext = pull_ext("T", max_msg_nums=PULLED)
    return [client.frame(RequestCode.PULL_MESSAGE, ext) for _ in range(count)]


async def overload(
    server: Server, client: Client, made: Requests, counts: Callable[[Frame], int], refusal: tuple[int, str]
) -> list[int]:
    """How many converted messages pass in each step."""
    passed = []
    for _ in range(SECONDS * PER_SECOND):
        frames = made(client)
        await client.write(b"".join(frames))
        answers = await client.arrived()
        assert len(answers) == len(frames)
        taken = [answer for answer in answers if answer.header.code == 0]
        assert all(code_and_remark(answer) == refusal for answer in answers if answer not in taken)
        passed.append(sum(map(counts, taken)))
        await server.pass_time(STEP)
    return passed


def check(passed: Sequence[int]) -> None:
    """Compare all windows of ten seconds with the quota."""
    sums = [0, *accumulate(passed)]
    length = 10 * PER_SECOND
    windows = [sums[at + length] - sums[at] for at in range(PER_SECOND, len(sums) - length)]
    assert len(windows) > PER_SECOND // 2
    assert min(windows) >= 0.98 * 10 * QUOTA
    assert max(windows) <= 1.02 * 10 * QUOTA
    assert sums[PER_SECOND] <= 2 * QUOTA + BATCH, "the first second has another second's worth at most"
    assert sums[length] <= 11 * QUOTA + BATCH, "and so have the first ten seconds"
    assert sums[length] >= 10.8 * QUOTA, "the bucket was full"


@pytest.mark.parametrize(
    ("made", "each"),
    [(singles(JSON), 1), (singles(BINARY), 1), (batches, BATCH)],
    ids=["json", "binary", "batch"],
)
async def test_sends_keep_the_quota(tmp_path: Path, made: Requests, each: int) -> None:
    async with serving(tmp_path / "store", topic_quotas=f"T={QUOTA}/-") as server:
        client = server.broker()
        await client.create_topic("T")
        check(await overload(server, client, made, lambda _: each, (ResponseCode.FLOW_CONTROL, SEND_REMARK)))


async def test_receives_keep_the_quota(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", group_quotas=f"G=-/{QUOTA}") as server:
        client = server.broker()
        await client.create_topic("T")
        for _ in range(PULLED):
            await client.send("T")
        refusal = ResponseCode.FLOW_CONTROL, RECEIVE_REMARK
        check(await overload(server, client, pulls, lambda answer: len(records(answer.body)), refusal))


async def test_other_clients_are_served_as_before(tmp_path: Path) -> None:
    """Those below their quota, and those without, while one client sends and receives ten times too much."""
    quotas = f"T={QUOTA}/{QUOTA},below=100/100"
    passed: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    steps, step = 2 * PER_SECOND, 1 / 30
    async with serving(tmp_path / "store", topic_quotas=quotas) as server:
        neighbour, other = server.broker(), server.broker()
        for topic in ("T", "below", "free"):
            await other.create_topic(topic)
        for _ in range(steps):
            sent, pulled = singles(JSON)(neighbour), pulls(neighbour)
            await neighbour.write(b"".join(sent + pulled))
            for topic in ("below", "free"):
                assert (await other.send(topic)).header.code == 0
                assert (await other.pull(topic, max_msg_nums=1)).header.code == 0
            answers = sorted(await neighbour.arrived(), key=lambda answer: answer.header.opaque)
            assert len(answers) == len(sent) + len(pulled)
            for number, answer in enumerate(answers):
                kind = "send" if number < len(sent) else "pull"
                refused[kind] += answer.header.code == ResponseCode.FLOW_CONTROL
                passed[kind] += (1 if kind == "send" else len(records(answer.body))) if answer.header.code == 0 else 0
            await server.pass_time(step)
    earned = QUOTA + QUOTA * step * (steps - 1)
    for kind in ("send", "pull"):
        assert earned <= passed[kind] <= earned + PULLED
        assert refused[kind] > steps
