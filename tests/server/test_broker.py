from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.server.broker.broker import Broker
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.server.net.addresses import HostUnknown
from rocketwire.store.errors import StoreNotWritable
from rocketwire.store.tables.consumer_filters import ConsumerFilter, ConsumerFilterTable
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.addresses import Address
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.send import SendMessageRequestHeader
from tests.server.harness import (
    Clock,
    FakePeer,
    consumer,
    mock_clock,
    run_inline,
    send_ext,
    settle,
    small_config,
    subscription,
)
from tests.server.timer.support import timer_draft
from tests.store.support import bodies


def opened_broker(store: Path, routes: RouteTable | None = None, host: str = "127.0.0.1", **changes: Any) -> Broker:
    return Broker(
        small_config(store, **changes),
        advertised=Address(host=host, port=10911),
        routes=routes or RouteTable(),
        metrics=Metrics(),
        clock=Clock(),
        choose=lambda bound: 0,
        run_sync=run_inline,
        run_flush=run_inline,
    )


async def test_a_host_name_becomes_its_address_in_message_ids(tmp_path: Path) -> None:
    broker = opened_broker(tmp_path, host="localhost")
    assert broker.base.store_host in {
        bytes([127, 0, 0, 1]) + (10911).to_bytes(4, "big"),
        bytes(15) + b"\x01" + (10911).to_bytes(4, "big"),
    }
    broker.close()


def test_a_name_without_an_address_is_refused_before_the_store_is_opened(tmp_path: Path) -> None:
    with pytest.raises(HostUnknown, match=r"^host nosuchhost\.invalid \(--advertise, brokerIP1\): "):
        opened_broker(tmp_path / "store", host="nosuchhost.invalid")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("clean", [True, False])
async def test_the_result_of_recovery_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture, clean: bool) -> None:
    caplog.set_level(logging.INFO, "rocketwire")
    broker = opened_broker(tmp_path)
    fields = decode_ext(SendMessageRequestHeader, send_ext("BenchmarkTest"), short=True)
    prepared = broker.sends.sending.drafts.message(fields, memoryview(b"x"), broker.base.store_host, "peer")
    broker.sends.storing.append_and_report(prepared.drafts, lambda *_: None, wait=False)
    end = broker.base.store.max_physical_offset
    broker.close()
    if not clean:
        (tmp_path / "abort").touch()
    caplog.clear()
    opened_broker(tmp_path).close()
    lines = [message for message in caplog.messages if message.startswith("recover")]
    recovering = [f"recovering {tmp_path}: its last stop was not a clean one"]
    assert lines == [*([] if clean else recovering), f"recovered 1 records from offset 0 to {end} in 0.0 s"]


@pytest.mark.parametrize(("kind", "waits"), [("ASYNC_FLUSH", False), ("SYNC_FLUSH", True)])
async def test_there_is_a_group_commit_only_under_sync_flush(tmp_path: Path, kind: str, waits: bool) -> None:
    broker = opened_broker(tmp_path, flush_disk_type=kind)
    assert (broker.sends.flush is not None) is waits
    broker.close()


async def test_all_services_forget_a_closed_connection(tmp_path: Path) -> None:
    broker = opened_broker(tmp_path)
    peer = FakePeer()
    clients = broker.clients
    clients.register_consumer(peer, "id", consumer("G", subscription("T")), language="JAVA", version=407)
    broker.peer_closed(peer)
    assert clients.consumer("G") is None
    broker.close()


async def test_closing_saves_the_offsets_and_leaves_a_clean_store(tmp_path: Path) -> None:
    broker = opened_broker(tmp_path)
    broker.tables.offsets.commit("G", "T", 0, 7)
    assert (tmp_path / "abort").exists()
    broker.close()
    assert not (tmp_path / "abort").exists()
    assert "T@G" in (tmp_path / "config" / "consumerOffset.json").read_text()


async def test_changed_tables_are_saved_at_their_intervals_and_at_the_stop(tmp_path: Path) -> None:
    broker = opened_broker(tmp_path, flush_delay_offset_interval=2000)
    folder = tmp_path / "config"
    async with trio.open_nursery() as nursery:
        broker.start(nursery)
        await settle()
        delay_offsets, filters = (
            table for table, what, _ in broker.tables._saved if what in {"delay offsets", "consumer filters"}
        )
        assert isinstance(delay_offsets, DelayOffsetTable)
        assert isinstance(filters, ConsumerFilterTable)
        delay_offsets.put(3, 4)
        filters.put(ConsumerFilter(topic="T", consumer_group="G"))
        tables = [folder / name for name in ("delayOffset.json", "consumerFilter.json", "consumerOffset.json")]
        for seconds, written in ((1.9, tables[:0]), (0.2, tables[:1]), (8.0, tables[:2])):
            mock_clock().jump(seconds)
            await settle()
            assert [path for path in tables if path.exists()] == written
        delay_offsets.put(3, 5)
        nursery.cancel_scope.cancel()
    broker.close()
    assert DelayOffsetTable.open(folder / "delayOffset.json").get(3) == 5


@pytest.mark.parametrize("name", ["delayOffset.json", "consumerFilter.json", "consumerOrderInfo.json", "timermetrics"])
async def test_files_of_apache_that_we_do_not_use_are_unchanged(tmp_path: Path, name: str) -> None:
    path = tmp_path / "config" / name
    path.parent.mkdir()
    path.write_bytes(b'{\n\t"offsetTable":{1:2\n\t},"filterDataByTopic":{},"more":1}')
    before = path.read_bytes(), path.stat().st_mtime_ns
    broker = opened_broker(tmp_path)
    broker.close()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert not path.with_name(name + ".bak").exists()


async def test_the_store_is_closed_even_if_the_offsets_cannot_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: OffsetTable) -> None:
        raise StoreNotWritable("here", "disk full")

    broker = opened_broker(tmp_path)
    monkeypatch.setattr(OffsetTable, "persist", full)
    (filters,) = (table for table, _, _ in broker.tables._saved if isinstance(table, ConsumerFilterTable))
    filters.put(ConsumerFilter(topic="T", consumer_group="G"))
    with pytest.raises(StoreNotWritable):
        broker.close()
    assert not (tmp_path / "abort").exists()
    assert (tmp_path / "config" / "consumerFilter.json").exists()


async def test_the_loop_yields_while_clients_wait_for_the_disk(tmp_path: Path) -> None:
    for kind in ("SYNC_FLUSH", "ASYNC_FLUSH"):
        broker = opened_broker(tmp_path / kind, flush_disk_type=kind)
        assert not broker.sends.others_are_due
        if broker.sends.flush is not None:
            broker.sends.flush.wait_durable(1, lambda _: None)
            assert broker.sends.others_are_due
        broker.close()


async def test_timer_messages_are_delivered_by_a_broker(tmp_path: Path) -> None:
    broker = opened_broker(tmp_path)
    store, clock = broker.base.store, broker.base.clock
    assert isinstance(clock, Clock)
    async with trio.open_nursery() as nursery:
        broker.start(nursery)
        await settle()
        assert store.append([timer_draft(b"a", clock.now + 2500, key="a")])
        await settle()
        clock.now += 2500
        mock_clock().jump(2.5)
        await settle()
        assert bodies(store, "T") == [b"a"]
        assert broker.delays.timer is not None
        assert broker.delays.timer.counts.delivered == 1
        nursery.cancel_scope.cancel()
    broker.close()
    assert (tmp_path / "config" / "timercheck").exists()


async def test_a_broker_without_a_timer_does_not_change_its_files(tmp_path: Path) -> None:
    broker = opened_broker(tmp_path, timer_wheel_enable=False)
    assert broker.delays.timer is None
    async with trio.open_nursery() as nursery:
        broker.start(nursery)
        await settle()
        nursery.cancel_scope.cancel()
    broker.close()
    assert not (tmp_path / "config" / "timercheck").exists()
