"""Groups whose offsets clients may not commit. What a commit is kept for is tested with the handlers."""

from __future__ import annotations

from rocketwire.wire.facts.codes import PullSysFlag, RequestCode, ResponseCode
from tests.server.harness import Client, code_and_remark

GROUP = "CID_RMQ_SYS_TRANS"
REFUSAL = (ResponseCode.NO_PERMISSION, "the offsets of group[CID_RMQ_SYS_TRANS] are the broker's own")


async def test_no_client_moves_the_offsets_of_transactions(broker: Client) -> None:
    """A half message before such an offset would count as decided at the next start."""
    where = {"consumerGroup": GROUP, "topic": "RMQ_SYS_TRANS_HALF_TOPIC", "queueId": "0"}
    answer = await broker.request(RequestCode.UPDATE_CONSUMER_OFFSET, {**where, "commitOffset": "7"})
    assert code_and_remark(answer) == REFUSAL
    answer = await broker.request(RequestCode.QUERY_CONSUMER_OFFSET, {**where, "setZeroIfNotFound": "false"})
    assert answer.header.code == ResponseCode.QUERY_NOT_FOUND


async def test_no_pull_moves_the_offsets_of_transactions(broker: Client) -> None:
    await broker.send("T", b"body")
    flags = PullSysFlag.SUBSCRIPTION | PullSysFlag.COMMIT_OFFSET
    answer = await broker.pull("T", commit_offset=7, consumer_group=GROUP, sys_flag=flags)
    assert code_and_remark(answer) == REFUSAL
    answer = await broker.pull("T", consumer_group=GROUP)
    assert answer.header.code == 0
