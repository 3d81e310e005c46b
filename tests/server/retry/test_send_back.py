"""The record of a message sent back, as in the golden store of a 4.9.7 broker, and the refusals of the store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.configuration import LiveConfig
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.errors import NameInvalid, SystemBusy
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.messages.keys import PageCacheKeys
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.messages.page_cache import PageCacheGuard
from rocketwire.server.messages.stored_message import StoredMessage, stored_message
from rocketwire.server.retry.send_back import SendBack, SendBackFailed, refusal
from rocketwire.server.statistics.counters import Counters
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.retry_topics import RetryTopics
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.append.drafts import Draft
from rocketwire.store.errors import DiskFull, PropertiesTooLong, RecordTooLarge, StoreError, TopicUnusable
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH, RECORD_HEADS
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.properties import decode_properties
from tests.server.harness import Clock, small_config
from tests.server.messages.test_stored_message import golden_messages

SCHEDULE = "SCHEDULE_TOPIC_XXXX"
HOST = encode_host("127.0.0.1", 1)
FILE_SIZE = 1 << 20


class Setup:
    def __init__(self, folder: Path) -> None:
        self.clock = clock = Clock()
        self.live = LiveConfig(small_config(folder), clock)
        self.topics = BrokerTopics(TopicTable.open(folder / "topics.json", clock=clock), self.live[TopicKeys])
        self.topics.make_system_topics(self.live.current.broker, 18)
        groups = SubscriptionGroups(
            GroupTable.open(folder / "groups.json", clock=clock), self.live[TopicKeys], self.live[LimitKeys]
        )
        settings = StoreSettings(root=folder / "store", commit_log_file_size=FILE_SIZE, consume_queue_file_size=2000)
        self.store = MessageStore.open(settings, clock=clock, store_host=HOST)
        self.page_cache = PageCacheGuard(self.live[PageCacheKeys], now=lambda: 0.0)
        retries = RetryTopics(groups, self.topics)
        self._storing = MessageWriter(self.store, flush=None, metrics=Metrics(), page_cache=self.page_cache)
        invalidation = CacheInvalidation()
        for changed in (self.live.changed, self.topics.table.changed, groups.table.changed):
            changed.subscribe(invalidation.invalidate)
        self.service = SendBack(
            broker_keys=self.live[BrokerKeys],
            store=self.store,
            retries=retries,
            choose=lambda bound: bound - 1,
            invalidation=invalidation,
            counters=Counters(),
        )

    def put(self, draft: Draft) -> int:
        """Store a message as it is; its physical offset."""
        (appended,) = self.store.append([draft])
        return appended.physical_offset

    def send_back(self, offset: int, *, group: str = "G", level: int = 0, limit: int = 16) -> StoredMessage:
        """The record that is stored for a message sent back."""
        fields = ConsumerSendMsgBackRequestHeader(
            offset=offset, group=group, delay_level=level, max_reconsume_times=limit
        )
        end = self.store._log.position
        target = self.service.destination(group, unit_mode=False)
        assert target is not None
        _, refusals = self._storing.append([self.service.draft(target, fields, 407)])
        for error in refusals.values():
            raise refusal(error) from error
        record = self.store.record_at(end)
        assert record is not None
        return stored_message(record)


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path)
    yield made
    made.store.close()


def draft(body: bytes = b"body", properties: bytes = b"", **changes: Any) -> Draft:
    values: dict[str, Any] = {"flag": 0, "sys_flag": 0, "born_timestamp": 1, "born_host": HOST, **changes}
    return Draft("T", 0, body, properties, **values)


def test_messages_are_stored_again_as_by_apache(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each golden message that was retried is sent back, with the golden records in place of this store's."""
    group = "golden_cg_retry"
    by_offset = {message.physical_offset: (message, row) for message, row in golden_messages()}
    compared = 0
    for message, row in by_offset.values():
        properties = message.decoded_properties()
        if not properties.get("ORIGIN_MESSAGE_ID") or message.topic.startswith("%RETRY%"):
            continue
        if message.topic == SCHEDULE:
            before = by_offset[int(properties["ORIGIN_MESSAGE_ID"][16:], 16)][0]
        else:
            unique_key = properties["UNIQ_KEY"]
            (before,) = (
                each
                for each, _ in by_offset.values()
                if each.topic == f"%RETRY%{group}" and each.decoded_properties()["UNIQ_KEY"] == unique_key
            )
        with monkeypatch.context() as patched:
            patched.setattr(
                "rocketwire.server.retry.send_back.SendBack._message", lambda _self, _offset, found=before: found
            )
            after = setup.send_back(before.physical_offset, group=group, limit=1)
        assert after.decoded_properties() == decode_properties(row["propertiesAsStored"])
        assert (after.topic, after.queue_id, after.reconsume_times) == (
            message.topic,
            message.queue_id,
            message.reconsume_times,
        )
        assert (after.body, after.flag, after.sys_flag) == (message.body, message.flag, message.sys_flag)
        assert (after.born_timestamp, after.born_host) == (message.born_timestamp, message.born_host)
        compared += 1
    assert compared == 5


def test_a_body_stays_compressed_and_addresses_stay(setup: Setup) -> None:
    host = encode_host("2001:db8::1", 9)
    flag = SysFlag.COMPRESSED | SysFlag.COMPRESSION_LZ4 | SysFlag.MULTI_TAGS
    after = setup.send_back(setup.put(draft(b"packed", sys_flag=flag, born_host=host)))
    assert (bytes(after.body), after.sys_flag) == (b"packed", flag | SysFlag.BORN_HOST_V6)
    assert (after.born_host, after.store_host) == (host, HOST)


def test_a_blank_origin_is_ignored(setup: Setup) -> None:
    offset = setup.put(draft(properties=b"ORIGIN_MESSAGE_ID\x01 "))
    assert setup.send_back(offset).decoded_properties()["ORIGIN_MESSAGE_ID"] == f"{HOST.hex().upper()}{offset:016X}"


@pytest.mark.parametrize("level", [0, -1])
def test_a_half_message_is_refused(setup: Setup, level: int) -> None:
    """No consumer gets one, but its offset may be guessed."""
    offset = setup.put(draft(sys_flag=SysFlag.TRANSACTION_PREPARED))
    after = setup.send_back(offset, level=level)
    assert after.topic == ("%DLQ%G" if level else "%RETRY%G")
    assert after.sys_flag & SysFlag.TRANSACTION_PREPARED
    assert setup.store.max_offset(after.topic, 0) == 0


def test_a_committed_message_waits_like_others(setup: Setup) -> None:
    offset = setup.put(draft(sys_flag=SysFlag.TRANSACTION_COMMIT, prepared_offset=7))
    after = setup.send_back(offset)
    assert (after.topic, after.sys_flag, after.prepared_offset) == (SCHEDULE, SysFlag.TRANSACTION_COMMIT, 0)


def test_a_damaged_record_is_refused(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup.store, "record_at", lambda _: memoryview(bytes(100)))
    with pytest.raises(SendBackFailed, match=r"^look message by offset failed, 5$"):
        setup.send_back(5)


@pytest.mark.parametrize(("size", "refused"), [(MAX_PROPERTIES_LENGTH - 300, False), (MAX_PROPERTIES_LENGTH, True)])
def test_properties_need_room_for_those_of_a_retry(setup: Setup, size: int, refused: bool) -> None:
    offset = setup.put(draft(properties=b"k\x01" + b"v" * (size - 2)))
    if refused:
        with pytest.raises(SendBackFailed, match=r"^PROPERTIES_SIZE_EXCEEDED$"):
            setup.send_back(offset)
    else:
        assert len(setup.send_back(offset).properties) > size


def test_a_message_that_no_longer_fits_a_file_is_refused(setup: Setup) -> None:
    offset = setup.put(draft(b"x" * (FILE_SIZE - 120)))
    with pytest.raises(SendBackFailed, match=r"^MESSAGE_ILLEGAL$"):
        setup.send_back(offset)


@pytest.mark.parametrize("error", [RecordTooLarge(2, 1), PropertiesTooLong(2, 1), TopicUnusable("/")])
def test_all_refusals_of_a_draft_have_one_remark(error: Exception) -> None:
    assert str(refusal(error)) == "MESSAGE_ILLEGAL"


def test_other_errors_of_the_store_are_unknown() -> None:
    assert str(refusal(StoreError())) == "UNKNOWN_ERROR"


def test_a_full_disk_is_reported(setup: Setup) -> None:
    offset = setup.put(draft())
    setup.store.disk_refusal = DiskFull("store", "no room")
    with pytest.raises(SendBackFailed, match=r"^SERVICE_NOT_AVAILABLE$"):
        setup.send_back(offset)


def test_a_slow_append_is_reported(setup: Setup) -> None:
    offset = setup.put(draft())
    setup.page_cache.is_busy = True
    with pytest.raises(SystemBusy):
        setup.send_back(offset)


@pytest.mark.parametrize("group", ["a.b", "g" * 249])
def test_a_group_whose_retry_topic_may_not_exist_is_refused(setup: Setup, group: str) -> None:
    offset = setup.put(draft())
    with pytest.raises(NameInvalid):
        setup.send_back(offset, group=group)


def test_a_changed_permission_counts_at_once(setup: Setup) -> None:
    offset = setup.put(draft())
    setup.send_back(offset)
    topic = setup.topics.get("%RETRY%G")
    assert topic is not None
    setup.topics.put(replace(topic, perm=4))
    with pytest.raises(Exception, match=r"^the topic\[%RETRY%G\] sending message is forbidden$"):
        setup.send_back(offset)


@pytest.mark.parametrize("tried", [-3, -4, -5000, 2**31 - 3])
def test_a_level_below_one_is_no_delay(setup: Setup, tried: int) -> None:
    after = setup.send_back(setup.put(draft(reconsume_times=tried)), limit=2**31 - 1)
    level = 3 + tried if tried < 0 else tried + 3 - 2**32
    assert (after.topic, after.queue_id, after.decoded_properties()["DELAY"]) == ("%RETRY%G", 0, str(level))
    assert setup.store.max_offset("%RETRY%G", 0) == 1


def test_the_number_of_tries_is_a_java_int(setup: Setup) -> None:
    after = setup.send_back(setup.put(draft(reconsume_times=2**31 - 1)))
    assert (after.topic, after.reconsume_times) == ("%DLQ%G", -(2**31))


@pytest.mark.parametrize("level", [0, -1])
def test_zeros_in_properties_are_not_treated_as_lost_pages(setup: Setup, level: int) -> None:
    """Apache's broker accepts them, and so do requests that name an offset in the body of a message."""
    offset = setup.put(draft(properties=b"\0\0x\x01\0"))
    after = setup.send_back(offset, level=level)
    assert after.properties.startswith(b"\x02\0")
    assert after.decoded_properties()["\0\0x"] == "\0"


def test_a_page_of_zeros_is_not_stored_again(setup: Setup) -> None:
    at = setup.store.max_physical_offset + RECORD_HEADS[0].size
    hidden = MessageRecord(topic="T", queue_id=0, body=b"x", properties=b"p\x01" + bytes(5000), physical_offset=at)
    setup.put(draft(encode_record(hidden)))
    with pytest.raises(SendBackFailed, match=r"^MESSAGE_ILLEGAL$"):
        setup.send_back(at)


def test_a_message_whose_file_is_missing_is_refused(setup: Setup) -> None:
    offset = setup.put(draft())
    while setup.store.max_physical_offset <= 2 * FILE_SIZE:
        setup.put(draft(bytes(FILE_SIZE // 4)))
    setup.store.flush_to(setup.store.max_physical_offset)
    taken = setup.store.retention.detach_log_file(setup.store.last_append_timestamp + 1, 0, forcibly=True)
    assert taken is not None
    with pytest.raises(SendBackFailed, match=rf"^look message by offset failed, {offset}$"):
        setup.send_back(offset)


@pytest.mark.parametrize(
    "text", ["KEYS\x01k\x02UNIQ_KEY\x01u\x02TAGS\x01t", "UNIQ_KEY\x01u\x02a\x01b\x02", "a\x01" + "b" * 2000, ""]
)
@pytest.mark.parametrize(
    "before", ["", "WAIT\x01true", "DELAY\x017", "RETRY_TOPIC\x01R", "REAL_TOPIC\x01x\x02REAL_QID\x019"]
)
@pytest.mark.parametrize("level", [0, 2, -1])
def test_the_properties_of_a_retry_are_added(setup: Setup, text: str, before: str, level: int) -> None:
    stored = "\x02".join(filter(None, [before, text]))
    offset = setup.put(draft(properties=stored.encode()))
    given = decode_properties(stored)
    after = setup.send_back(offset, level=level)
    origin = f"{HOST.hex().upper()}{offset:016X}"
    expected = {"RETRY_TOPIC": "T", **given, "WAIT": "false", "ORIGIN_MESSAGE_ID": origin}
    if level < 0:
        expected["DELAY"] = "0"
    else:
        expected |= {"DELAY": str(level or 3), "REAL_TOPIC": "%RETRY%G", "REAL_QID": "0"}
    assert after.decoded_properties() == expected
