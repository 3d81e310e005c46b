"""/metrics of a whole server, read by prometheus_client's parser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire import __version__
from rocketwire.server.core.metrics import ACL_REASONS, SEND, Metrics
from rocketwire.server.faults.grammar import parse_rule
from rocketwire.server.faults.keys import FaultKeys
from rocketwire.server.faults.rule import COUNTED
from rocketwire.server.limits.limits import LIMIT_NAMES
from rocketwire.server.maintenance.keys import SYNC_FLUSH
from rocketwire.server.monitoring import groups, quotas
from rocketwire.server.monitoring.groups import ScrapeSlices
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import consumer, serving, settle, subscription
from tests.server.monitoring.scraping import Described, scraped, value
from tests.server.monitoring.test_health import HTTP
from tests.server.net.tls.support import secured

DOCS = Path(__file__).parents[3] / "docs" / "monitoring.md"


async def test_requests_and_messages_are_counted(tmp_path: Path, driver: str) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        client = server.broker()
        await client.create_topic("T", 2)
        for _ in range(3):
            await client.send("T", b"x" * 100)
        await client.pull("T")
        await client.hold("T", 3)
        await client.request(9999)
        server.name_server()
        await client.write(b"\x00\x00\x10\x00\x00\x00\x00\x05abc")
        await settle()
        samples = await scraped(server)
    assert driver in {"hub", "task"}
    assert value(samples, "requests_total", code="SEND_MESSAGE_V2") == 3
    assert value(samples, "requests_total", code="PULL_MESSAGE") == 2
    assert value(samples, "requests_total", code="SEND_BATCH_MESSAGE") == 0
    assert value(samples, "requests_total", code="unserved") == 1
    assert value(samples, "stored_messages_total") == value(samples, "delivered_messages_total") == 3
    assert value(samples, "stored_bytes_total") == value(samples, "delivered_bytes_total") > 300
    assert value(samples, "connections", listener="broker") == 1
    assert value(samples, "connections", listener="name server") == 1
    assert value(samples, "held_pulls") == 1
    assert value(samples, "in_flight_bytes") >= 11
    assert value(samples, "build_info", version=__version__, **_runs(samples)) == 1
    assert samples["process_resident_memory_bytes", ()] > 1e7


def _runs(samples: Any) -> dict[str, str]:
    ((_, labels),) = [key for key in samples if key[0] == "rocketwire_build_info"]
    return {name: text for name, text in labels if name != "version"}


async def test_latencies_of_requests_that_python_serves_are_counted(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        await server.broker().create_topic("T")
        await server.name_server().request(RequestCode.GET_BROKER_CLUSTER_INFO)
        samples = await scraped(server)
    for code in ("UPDATE_AND_CREATE_TOPIC", "GET_BROKER_CLUSTER_INFO"):
        assert value(samples, "request_duration_seconds_bucket", code=code, le="+Inf") == 1
        assert value(samples, "request_duration_seconds_count", code=code) == 1
        assert value(samples, "request_duration_seconds_sum", code=code) == 0  # the clock stands still


async def test_latencies_of_requests_that_the_kernel_serves_are_counted(tmp_path: Path, driver: str) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        client = server.broker()
        await client.create_topic("T")
        for _ in range(5):
            await client.send("T")
        for _ in range(2):
            samples = await scraped(server)
            assert value(samples, "request_duration_seconds_bucket", code="SEND_MESSAGE_V2", le="+Inf") == 5
            seconds = value(samples, "request_duration_seconds_sum", code="SEND_MESSAGE_V2")
            assert (0 < seconds < 1) == (driver == "hub")  # Python's clock stands still


async def test_flushes_that_sends_wait_for_are_counted(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP, flush_disk_type=SYNC_FLUSH) as server:
        await server.broker().create_topic("T")
        await server.broker().send("T")
        assert value(await scraped(server), "flush_duration_seconds_count") == 1


async def test_refusals_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = Metrics()
    monkeypatch.setattr("rocketwire.server.serving.Metrics", lambda: metrics)
    async with serving(tmp_path, http=HTTP) as server:
        metrics.converted[SEND] += 5
        metrics.throttled[SEND, "topic"] += 2
        metrics.limited['max"\n'] += 3
        metrics.acl_refused["signature"] += 4
        metrics.faults["drop"] += 6
        samples = await scraped(server)
    assert value(samples, "converted_messages_total", direction="send") == 5
    assert value(samples, "converted_messages_total", direction="receive") == 0
    assert value(samples, "throttled_requests_total", direction="send", kind="topic") == 2
    assert value(samples, "limit_refusals_total", limit='max"\n') == 3
    assert value(samples, "acl_refusals_total", reason="signature") == 4
    assert value(samples, "injected_faults_total", action="drop") == 6


async def test_tls_connections_are_counted(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        client = secured(server)
        await client.create_topic("T")
        bad = server.broker()
        await bad.write(b"\x16" + bytes(1000))
        assert await bad.ended()
        samples = await scraped(server)
        assert value(samples, "tls_connections") == 1
        assert value(samples, "tls_handshake_failures_total") == 1
        client.close()
        await settle()
        assert value(await scraped(server), "tls_connections") == 0


async def test_reasons_of_refusals_have_their_series_from_the_start(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        samples = await scraped(server)
    known = {("limit_refusals", "limit"): LIMIT_NAMES, ("acl_refusals", "reason"): ACL_REASONS}
    for (name, label), values in {**known, ("injected_faults", "action"): COUNTED}.items():
        assert [value(samples, f"{name}_total", **{label: each}) for each in values] == [0] * len(values)
    assert {"maxTopics", "serverChannelMaxIdleTimeSeconds"} <= set(LIMIT_NAMES)
    assert {"drop", "undelayed"} <= set(COUNTED)


async def test_fault_rules_in_force_are_counted(tmp_path: Path) -> None:
    async with serving(tmp_path / "without", http=HTTP) as server:
        assert value(await scraped(server), "fault_rules") == 0
    rules = tuple(map(parse_rule, ("answer:2,topic=T,count=1", "drop,topic=T")))
    async with serving(tmp_path / "with", http=HTTP, faults=FaultKeys(rules=rules)) as server:
        assert value(await scraped(server), "fault_rules") == 2
        assert (await server.broker().send("T")).header.code == 2
        samples = await scraped(server)
        assert value(samples, "fault_rules") == 1
        assert value(samples, "injected_faults_total", action="answer") == 1


async def test_quotas_have_series(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP, instance_tps=20, topic_quotas="T=5/-") as server:
        client = server.broker()
        await client.create_topic("T")
        codes = [(await client.send("T", b"x" * 4097)).header.code for _ in range(5)]
        samples = await scraped(server)
    assert codes == [0, 0, 0, 215, 215]
    of_topic = {"direction": "send", "kind": "topic", "name": "T"}
    of_all = {"direction": "send", "kind": "instance", "name": ""}
    assert value(samples, "quota_messages_per_second", **of_topic) == 5
    assert value(samples, "quota_messages_per_second", **of_all) == 10
    assert value(samples, "quota_used_messages_total", **of_topic) == 6
    assert value(samples, "quota_used_messages_total", **of_all) == 6
    assert value(samples, "throttled_requests_total", direction="send", kind="topic") == 2
    assert value(samples, "throttled_requests_total", direction="receive", kind="cold") == 0
    assert value(samples, "converted_messages_total", direction="send") == 6


async def test_written_quotas_have_a_series_though_clients_invent_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "MOST_UNWRITTEN", 3)
    async with serving(
        tmp_path, http=HTTP, auto_create_topic_enable=False, topic_quotas="T=7/-,*=5/-", group_quotas="G=-/6"
    ) as server:
        client = server.broker()
        await client.create_topic("used")
        for number in range(5):
            await client.send(f"invented{number}")
        await client.send("used")
        samples = await scraped(server)
        rates = {key[1]: rate for key, rate in samples.items() if key[0] == "rocketwire_quota_messages_per_second"}
        of_t = {"direction": "send", "kind": "topic", "name": "T"}
        assert value(samples, "quota_messages_per_second", **of_t) == 7
        assert value(samples, "quota_used_messages_total", **of_t) == 0
        assert value(samples, "quota_messages_per_second", direction="receive", kind="group", name="G") == 6
        assert value(samples, "quota_used_messages_total", direction="send", kind="topic", name="used") == 1
        assert len(rates) == 2 + 3
        await client.create_topic("T")
        await client.send("T")
        assert value(await scraped(server), "quota_used_messages_total", **of_t) == 1


# --- groups ---


async def test_backlog_and_lag_are_shown(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        client = server.broker()
        await client.create_topic("T", 3)
        for queue_id in (0, 0, 1, 1, 1, 2):
            await client.send("T", queue_id=queue_id)
            server.clock.now += 1000
        await client.commit(1)
        await client.commit(3, queue_id=1)
        await client.commit(3, queue_id=7)  # there is no such queue
        await client.commit(0, group="all", queue_id=2)
        await client.commit(0, "no topic")
        await client.commit(0, group="CID_RMQ_SYS_X")
        samples = await scraped(server)
    assert {key[1] for key in samples if key[0] == "rocketwire_group_backlog_messages"} == {
        (("group", "G"), ("topic", "T")),
        (("group", "all"), ("topic", "T")),
    }
    assert value(samples, "group_backlog_messages", group="G", topic="T") == 1
    assert value(samples, "group_lag_seconds", group="G", topic="T") == 5
    assert value(samples, "group_backlog_messages", group="all", topic="T") == 1
    assert value(samples, "group_lag_seconds", group="all", topic="T") == 1


async def test_a_connected_group_has_a_lag_only_where_it_subscribes(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        client = server.broker()
        for topic in ("S", "T"):
            await client.create_topic(topic)
            await client.send(topic)
            await client.commit(0, topic)
        await client.heartbeat("c", consumer("G", subscription("S")))
        samples = await scraped(server)
    assert [dict(key[1])["topic"] for key in samples if key[0] == "rocketwire_group_backlog_messages"] == ["S"]


async def test_groups_with_smaller_lags_share_a_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MOST_SERIES", 3)
    async with serving(tmp_path, http=HTTP) as server:
        client = server.broker()
        await client.create_topic("T")
        for _ in range(5):
            await client.send("T")
            server.clock.now += 1000
        for offset in range(5):
            await client.commit(offset, group=f"G{offset}")
        samples = await scraped(server)
    backlog = {dict(key[1])["group"]: count for key, count in samples.items() if "group_backlog" in key[0]}
    assert backlog == {"G0": 5, "G1": 4, groups.OTHERS: 3 + 2 + 1}
    assert value(samples, "group_lag_seconds", group=groups.OTHERS, topic=groups.OTHERS) == 3


async def test_offsets_are_read_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if there are many, of existing and missing queues; meanwhile some are removed."""
    tables: list[OffsetTable] = []
    pauses = 0
    keys_of = OffsetTable.keys

    def keys(table: OffsetTable) -> list[str]:
        tables.append(table)
        return keys_of(table)

    async def pause(_: ScrapeSlices) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 3:  # within the first group's queues
            await trio.lowlevel.checkpoint()
            for group in ("many", "few"):
                tables[0].remove(group, "T")

    monkeypatch.setattr(OffsetTable, "keys", keys)
    monkeypatch.setattr(ScrapeSlices, "pause", pause)
    async with serving(tmp_path, http=HTTP) as server:
        client = server.broker()
        await client.create_topic("T")
        await client.send("T")
        for queue_id in range(50, -1, -1):
            await client.commit(0, group="many", queue_id=queue_id)
        for group in ("few", "last"):
            await client.commit(0, group=group)
        samples = await scraped(server)
    assert pauses >= 50
    backlog = {dict(key[1])["group"]: count for key, count in samples.items() if "group_backlog" in key[0]}
    assert backlog["last"] == 1
    assert backlog.get("few", 0) == 0


async def test_a_group_whose_next_message_has_expired_has_a_lag_of_0_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        client = server.broker()
        await client.create_topic("T")
        await client.send("T")
        await client.commit(0)
        monkeypatch.setattr("rocketwire.store.read.reader.store_time", lambda *_: -1)
        samples = await scraped(server)
    assert value(samples, "group_backlog_messages", group="G", topic="T") == 1
    assert value(samples, "group_lag_seconds", group="G", topic="T") == 0


async def test_the_offset_of_a_group_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = MessageStore.store_time

    def noting(self: MessageStore, topic: str, queue_id: int, offset: int) -> int:
        read.append(offset)
        return real(self, topic, queue_id, offset)

    monkeypatch.setattr(MessageStore, "store_time", noting)
    async with serving(tmp_path, http=HTTP) as server:
        client = server.broker()
        await client.create_topic("T")
        for _ in range(3):
            await client.send("T")
            server.clock.now += 1000
        for offset in (0, 0, 1):
            await client.commit(offset)
            samples = await scraped(server)
            assert value(samples, "group_lag_seconds", group="G", topic="T") == 3 - offset
    assert read == [0, 1]


# --- the store, and what waits in it ---


async def test_the_store_has_metrics(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        client = server.broker()
        await client.create_topic("T")
        await client.send("T")
        samples = await scraped(server)
        end = value(samples, "commit_log_max_offset_bytes")
        assert end > 0
        assert value(samples, "commit_log_unflushed_bytes") == value(samples, "index_behind_bytes") == end
        assert value(samples, "commit_log_min_offset_bytes") == 0
        assert value(samples, "store_writable") == 1
        assert value(samples, "consume_queues") == 1
        assert value(samples, "topics") >= 8
        await client.set_config(diskSpaceWarningLevelRatio=0)
        await server.pass_time(30)
        samples = await scraped(server)
        assert value(samples, "store_writable") == 0
        assert value(samples, "commit_log_unflushed_bytes") == value(samples, "index_behind_bytes") == 0
        for part in ("commit_log", "consume_queues", "index_files"):
            assert 0 < value(samples, "disk_used_ratio", part=part) < 1


async def test_a_store_without_an_index_has_no_metrics_of_it(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP, message_index_enable=False) as server:
        client = server.broker()
        await client.create_topic("T")
        await client.send("T")
        assert value(await scraped(server), "index_behind_bytes") == 0


async def test_delayed_and_timer_messages_have_metrics(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:
        client = server.broker()
        await client.create_topic("T")
        await client.send("T", properties="DELAY\x013")
        await client.send("T", properties=f"TIMER_DELIVER_MS\x01{server.clock.now + 20_000}")
        await server.pass_time(2, step=0.5)
        samples = await scraped(server)
        assert value(samples, "delay_waiting_messages", level="3") == 1
        assert value(samples, "delay_waiting_messages", level="1") == 0
        assert value(samples, "timer_waiting_messages") == 1
        await server.pass_time(30, step=0.5)
        samples = await scraped(server)
        assert value(samples, "delay_waiting_messages", level="3") == value(samples, "timer_waiting_messages") == 0
        assert value(samples, "delay_messages_total", outcome="delivered") == 1
        assert value(samples, "timer_messages_total", outcome="delivered") == 1
        assert value(samples, "timer_overdue_seconds") == value(samples, "timer_not_taken_up_messages") == 0
        assert value(samples, "timer_lateness_seconds") < 1


async def test_half_messages_have_metrics(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP, transaction_time_out=1_000_000) as server:
        client = server.broker()
        await client.create_topic("T")
        sent = [await client.send("T", properties="TRAN_MSG\x01true\x02PGROUP\x01P", sys_flag=4) for _ in range(2)]
        server.clock.now += 7000
        samples = await scraped(server)
        assert value(samples, "transactions_undecided_messages") == 2
        assert value(samples, "transactions_oldest_undecided_seconds") == 7
        for answer in sent:
            ext = answer.header.ext
            assert ext is not None
            place = int(ext["msgId"][16:], 16)
            await client.request(
                RequestCode.END_TRANSACTION,
                {
                    "producerGroup": "P",
                    "tranStateTableOffset": ext["queueOffset"],
                    "commitLogOffset": str(place),
                    "commitOrRollback": "12",
                    "fromTransactionCheck": "false",
                    "msgId": "x",
                },
            )
        samples = await scraped(server)
        assert value(samples, "transactions_undecided_messages") == 0
        assert value(samples, "transactions_oldest_undecided_seconds") == 0


async def test_simultaneous_scrapes_are_served_one_after_the_other(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP) as server:

        async def one() -> None:
            assert value(await scraped(server), "store_writable") == 1

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(one)


# --- the page ---


def documented() -> list[tuple[str, str, tuple[str, ...], str]]:
    text, _, _ = DOCS.read_text().partition("## Of a proxy")  # tests/server/proxy/test_monitoring.py has those
    rows = re.findall(r"^\| `([a-z_]+)` \| ([a-z]+) \| ([a-z_`, ]*) ?\| (.*) \|$", text, re.MULTILINE)
    return [(name, kind, tuple(re.findall(r"`([a-z_]+)`", labels)), text) for name, kind, labels, text in rows]


async def test_the_page_has_each_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = Described(monkeypatch)
    async with serving(tmp_path, http=HTTP) as server:
        names = {name for name, _ in await scraped(server)}
        families = described.families()
    assert documented() == [(each.name, each.kind, each.labels, each.text) for each in families]
    assert {re.sub("_(bucket|count|sum)$", "", name) for name in names} <= {each.name for each in families}


async def test_without_a_timer_there_are_no_metrics_of_it(tmp_path: Path) -> None:
    async with serving(tmp_path, http=HTTP, timer_wheel_enable=False) as server:
        assert not any("_timer_" in name for name, _ in await scraped(server))
