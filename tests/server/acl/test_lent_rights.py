"""No account acts with the rights of another: signatures, outcomes of transactions and permissions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocketwire.wire.facts.codes import PullSysFlag
from rocketwire.wire.recall_handle import encode_recall_handle
from tests.server.acl.test_every_code import (
    ACCOUNTS,
    ADMIN,
    KEY,
    NO_TOPIC,
    OTHER,
    OWNER,
    POP,
    PROOF,
    REFUSED,
    REPLIES,
    done,
    hidden,
    place_of,
    signed,
    signed_request,
)
from tests.server.harness import NOW, consumer, heartbeat, properties_text, pull_ext, records, send_ext, subscription


@pytest.mark.parametrize("code", [307, 309])
async def test_no_member_of_a_group_gets_the_signature_of_a_request_that_is_passed_on(
    tmp_path: Path, code: int
) -> None:
    """The code of a request is not signed: a member could request all secret keys with the same fields."""
    async with hidden(tmp_path) as (server, _, _):
        member, admin = server.broker(), server.broker()
        await done(member, OTHER, 34, {"x": "1"}, heartbeat("member", consumer("own", subscription("Own"))))
        message = place_of(await done(member, OTHER, 310, send_ext("Own"), b"x"))
        ext = {"consumerGroup": "own", "clientId": "member", "jstackEnable": "true"}
        ext |= {"msgId": f"7F000001{server.advertised.port:08X}{message:016X}"} if code == 309 else {}
        await admin.write(admin.frame(code, signed(ADMIN, ext)))
        await member.arrived()
        pushed = next(frame for frame in member.pushes if frame.header.code == code)
        fields = pushed.header.ext or {}
        replayed = await member.request(54, {name: value for name, value in fields.items() if name != "brokerName"})
        assert replayed.header.remark == f"{REFUSED}No accessKey is configured"
        assert {name: fields.get(name) for name in ext} == ext
        assert {"AccessKey", "Signature"}.isdisjoint(fields)


async def test_no_account_ends_anothers_transaction_with_a_similar_message(tmp_path: Path) -> None:
    async with hidden(tmp_path) as (server, owner, places):
        # The half message is stored again, and its former offset may end it nevertheless.
        await server.pass_time(70)
        thief = server.broker()
        alike = send_ext("Own", properties=properties_text(TRAN_MSG="true", PGROUP="thieves", UNIQ_KEY="H"))
        sent = await done(thief, OTHER, 310, alike, b"mine")
        end = {"producerGroup": "thieves", "msgId": "m", "commitOrRollback": "12"}
        end |= {"tranStateTableOffset": (sent.header.ext or {})["queueOffset"], "commitLogOffset": str(place_of(sent))}
        for _ in range(2):  # the second end finds only one of the equal messages undecided
            await done(thief, OTHER, 37, end)
        end |= {"producerGroup": "owners", "commitOrRollback": "8"}
        end |= {"tranStateTableOffset": "0", "commitLogOffset": str(places.half)}
        await done(owner, OWNER, 37, end)
        found = records((await done(owner, OWNER, 11, pull_ext("Hidden", consumer_group="hidden"))).body)
        assert places.half in [message.prepared_transaction_offset for message in found]
        assert {message.body for message in found} == {PROOF}


HELD_PULL = pull_ext("Hidden", 1, consumer_group="hidden", sys_flag=PullSysFlag.SUSPEND | PullSysFlag.SUBSCRIPTION)
HELD_POP = {"topic": "Hidden", "consumerGroup": "hidden", **POP, "pollTime": "20000", "bornTime": str(NOW)}


@pytest.mark.parametrize(
    ("code", "waiting", "end"),
    [(11, HELD_PULL, (19, "OFFSET_OVERFLOW_ONE")), (200050, HELD_POP, (210, "NO_MESSAGE_IN_QUEUE"))],
    ids=["pull", "pop"],
)
async def test_a_held_request_delivers_nothing_after_the_permission_is_withdrawn(
    tmp_path: Path, code: int, waiting: dict[str, str], end: tuple[int, str]
) -> None:
    async with hidden(tmp_path) as (server, owner, _):
        file = tmp_path / "plain_acl.yml"
        await owner.write(owner.frame(code, signed(OWNER, waiting)))
        assert await owner.arrived() == []
        file.write_text(ACCOUNTS.replace("topicPerms: [Hidden=PUB|SUB]", "topicPerms: [Hidden=PUB]"))
        os.utime(file, (1, 1))
        await server.pass_time(1)
        ended = await owner.arrived()
        await done(server.broker(), OWNER, 310, send_ext("Hidden"), PROOF)
        assert [bytes(frame.body) for frame in await owner.arrived()] == []
        assert [(frame.header.code, frame.header.remark) for frame in ended] == [end]
        assert (await signed_request(owner, OWNER, code, waiting)).header.remark == REFUSED + NO_TOPIC


async def test_an_account_that_may_read_topics_by_default_reads_no_replies_of_others(tmp_path: Path) -> None:
    """One topic holds the replies to requests of all topics."""
    async with hidden(tmp_path) as (server, _, places):
        file = tmp_path / "plain_acl.yml"
        readers = f"- accessKey: {OTHER}\n  secretKey: {KEY}\n  defaultTopicPerm: PUB|SUB\n  defaultGroupPerm: SUB\n"
        client = server.broker()
        query = {"topic": REPLIES, "key": "K", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(1 << 60)}
        for perms, remark in (
            ("Hidden=DENY", f"{REFUSED}No default permission for topic:{REPLIES}"),
            (f"{REPLIES}=SUB", "FOUND"),
        ):
            file.write_text(f"accounts:\n{readers}  topicPerms: [{perms}]\n")
            os.utime(file, (len(perms), 1))
            await server.pass_time(1)
            answer = await signed_request(client, OTHER, 11, pull_ext(REPLIES, consumer_group="G"))
            assert answer.header.remark == remark
            named = remark == "FOUND"
            assert (PROOF in bytes(answer.body)) is named
            assert (
                (await signed_request(client, OTHER, 33, {"offset": str(places.replies)})).header.code == 0
            ) is named
            assert ((await signed_request(client, OTHER, 12, query)).header.remark != remark) is named
            # Any account may answer.
            reply = send_ext(REPLIES, properties=properties_text(REPLY_TO_CLIENT="gone"))
            assert "channel of <gone> not found" in (
                (await signed_request(client, OTHER, 325, reply)).header.remark or ""
            )


async def test_no_account_cancels_a_message_of_anothers_topic_by_its_unique_key(tmp_path: Path) -> None:
    async with hidden(tmp_path) as (server, owner, _):
        thief = server.broker()
        at = str(NOW + 60_000)
        recalled = encode_recall_handle("Own", "broker-a", NOW + 60_000, "TIMED").decode()
        await done(thief, OTHER, 370, {"topic": "Own", "recallHandle": recalled})
        for more in ({}, {"REAL_TOPIC": "Hidden"}):
            marker = properties_text(TIMER_DELIVER_MS=at, TIMER_DEL_UNIQKEY="TIMED", UNIQ_KEY="M", **more)
            await signed_request(thief, OTHER, 310, send_ext("Own", properties=marker), b"x")
        await server.pass_time(70)
        found = records((await done(owner, OWNER, 11, pull_ext("Hidden", consumer_group="hidden"))).body)
        assert [b"UNIQ_KEY\x01TIMED" in message.properties for message in found].count(True) == 1
