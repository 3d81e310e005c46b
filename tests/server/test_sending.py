"""What is decided about a send, asked directly; the words and codes are in handlers/test_send.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.appending import Refusals
from rocketwire.server.errors import MessageIllegal, NameInvalid, NotPermitted, TopicNotFound, response_code
from rocketwire.server.live_config import LiveConfig
from rocketwire.server.metrics import Metrics
from rocketwire.server.page_cache import PageCacheGuard
from rocketwire.server.retry_topics import RetryTopics
from rocketwire.server.sending import Sending, topic_text
from rocketwire.server.subscription_groups import SubscriptionGroups
from rocketwire.server.topics import BrokerTopics
from rocketwire.store.flush import GroupCommit
from rocketwire.store.groups import GroupTable
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import Appended, MessageStore
from rocketwire.store.topics import TopicTable
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.codes import ResponseCode
from rocketwire.wire.fast import SendFields
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import encode_host
from tests.server.harness import Clock, FakePeer, batch_body, properties_text, send_ext, small_config

HOST = encode_host("10.0.0.1", 5)


class FakeFlush:
    """A group commit whose disk answers when told."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, Any]] = []

    def wait_durable(self, offset: int, callback: Any) -> None:
        self.waiting.append((offset, callback))


class Setup:
    def __init__(self, folder: Path) -> None:
        clock = Clock()
        self.live = LiveConfig(small_config(folder), clock)
        self.topics = BrokerTopics(TopicTable.open(folder / "topics.json", clock=clock), self.live)
        self.topics.make_system_topics(18)
        self.topics.put(TopicConfig(topic_name="T", read_queue_nums=2, write_queue_nums=2))
        self.groups = SubscriptionGroups(GroupTable.open(folder / "groups.json", clock=clock), self.live)
        settings = StoreSettings(root=folder / "store", commit_log_file_size=1 << 20, consume_queue_file_size=2000)
        self.store = MessageStore.open(settings, clock=clock, store_host=encode_host("127.0.0.1", 1))
        self.metrics = Metrics()
        self.flush: Any = FakeFlush()
        self.sending = self.made(flush=None)
        self.outcomes: list[tuple[int, ResponseCode]] = []
        self.refused: dict[int, str] = {}
        self.refusal_codes: set[ResponseCode] = set()

    def made(self, *, flush: Any) -> Sending:
        return Sending(
            config=self.live,
            topics=self.topics,
            store=self.store,
            flush=flush,
            metrics=self.metrics,
            choose=lambda bound: bound - 1,
            page_cache=PageCacheGuard(self.live, now=lambda: 0.0),
            retries=RetryTopics(self.groups, self.topics),
        )

    def outcome(self, appended: Sequence[Appended], code: ResponseCode, refused: Refusals) -> None:
        self.outcomes.append((len(appended) - len(refused), code))
        self.refused = {at: str(error) for at, error in refused.items()}
        self.refusal_codes = {response_code(error) for error in refused.values()}


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path)
    yield made
    made.store.close()


def fields(topic: str = "T", **changes: Any) -> SendMessageRequestHeader:
    return decode_ext(SendMessageRequestHeader, send_ext(topic, **changes), short=True)


def body(data: bytes = b"body") -> memoryview:
    return memoryview(data)


def test_a_message_becomes_one_draft(setup: Setup) -> None:
    prepared = setup.sending.message(
        fields(tags="标签", keys="k", unique_key="U", queue_id=1, flag=3), body(), HOST, "peer"
    )
    assert (prepared.queue_id, prepared.wait) == (1, True)
    (draft,) = prepared.drafts
    assert (draft.topic, draft.queue_id, bytes(draft.body), draft.flag) == ("T", 1, b"body", 3)
    assert (draft.tags_code, draft.keys, draft.unique_key) == (string_hash("标签"), "k", "U")
    assert bytes(draft.properties).endswith(b"\x02CLUSTER\x01C")
    assert b"WAIT" not in bytes(draft.properties)
    assert draft.born_host == HOST


def test_both_decoders_fields_are_taken(setup: Setup) -> None:
    hot = SendFields(
        producer_group="p",
        topic="T",
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=0,
        born_timestamp=1,
        flag=0,
        properties=None,
    )
    (draft,) = setup.sending.message(hot, body(), HOST, "peer").drafts
    assert bytes(draft.properties) == b"CLUSTER\x01C"
    assert draft.reconsume_times == 0


@pytest.mark.parametrize(("wait", "expected"), [("true", True), ("false", False), ("odd", False)])
def test_the_producer_says_whether_it_waits(setup: Setup, wait: str, expected: bool) -> None:
    text = properties_text(WAIT=wait)
    assert setup.sending.message(fields(properties=text), body(), HOST, "peer").wait is expected
    batch = setup.sending.batch(fields(properties=text), body(batch_body([b"a"])), HOST, "peer")
    assert batch.wait is expected


def test_a_delayed_message_waits_in_the_schedule_topic(setup: Setup) -> None:
    text = properties_text(KEYS="k", UNIQ_KEY="U", WAIT="true", DELAY="99", TAGS="A")
    (draft,) = setup.sending.message(fields(properties=text, queue_id=1), body(), HOST, "peer").drafts
    assert (draft.topic, draft.queue_id) == ("SCHEDULE_TOPIC_XXXX", 17)
    assert (draft.tags_code, draft.keys, draft.unique_key) == (string_hash("A"), "k", "U")
    expected = properties_text(
        KEYS="k", UNIQ_KEY="U", DELAY="18", TAGS="A", CLUSTER="C", WAIT="true", REAL_TOPIC="T", REAL_QID="1"
    )
    assert bytes(draft.properties).decode() == expected


@pytest.mark.parametrize(
    "changes", [{"properties": "DELAY\x010"}, {"properties": "DELAY\x011", "sys_flag": 4}], ids=str
)
def test_what_is_not_delayed_stays_as_it_is(setup: Setup, changes: Any) -> None:
    (draft,) = setup.sending.message(fields(**changes), body(), HOST, "peer").drafts
    assert draft.topic == "T"
    assert bytes(draft.properties).decode() == changes["properties"] + "\x02CLUSTER\x01C"


def test_what_the_broker_adds_may_make_properties_too_long(setup: Setup) -> None:
    text = properties_text(DELAY="1", long="x" * 32_730)
    with pytest.raises(MessageIllegal, match="msg properties length limit 32KB"):
        setup.sending.message(fields(properties=text), body(), HOST, "peer")


def test_a_batch_is_not_delayed_as_a_whole_either(setup: Setup) -> None:
    with pytest.raises(MessageIllegal, match="DELAY"):
        setup.sending.batch(fields(properties=properties_text(DELAY="1")), body(batch_body([b"a"])), HOST, "peer")


def test_a_batch_becomes_a_draft_a_message(setup: Setup) -> None:
    text = properties_text(TAGS="A", KEYS="k", UNIQ_KEY="U")
    prepared = setup.sending.batch(fields(properties=""), body(batch_body([b"a", b"b"], text)), HOST, "peer")
    assert [bytes(draft.body) for draft in prepared.drafts] == [b"a", b"b"]
    assert [draft.together for draft in prepared.drafts] == [2, 0]
    assert [(draft.tags_code, draft.keys, draft.unique_key) for draft in prepared.drafts] == [(65, "k", "U")] * 2
    assert bytes(prepared.drafts[0].properties).decode() == f"{text}\x02CLUSTER\x01C"


def test_a_topic_that_may_not_be_made_is_named(setup: Setup) -> None:
    setup.live.update({"autoCreateTopicEnable": "false"})
    with pytest.raises(TopicNotFound, match=r"^topic\[New\] not exist, apply first please!"):
        setup.sending.message(fields("New"), body(), HOST, "peer")
    assert setup.topics.get("New") is None


def test_a_refused_message_makes_no_topic_of_the_brokers(setup: Setup) -> None:
    with pytest.raises(NotPermitted):
        setup.sending.message(fields("TRANS_CHECK_MAX_TIME_TOPIC"), body(), HOST, "peer")
    assert setup.topics.get("TRANS_CHECK_MAX_TIME_TOPIC") is None


def test_a_bad_name_from_apaches_file_takes_no_message(setup: Setup) -> None:
    topic = "%RETRY%" + "g" * 200
    setup.topics.table.put(TopicConfig(topic_name=topic))
    setup.topics.make_system_topics(18)
    with pytest.raises(NameInvalid, match=r"^The specified topic is longer than topic max length\.$"):
        setup.sending.message(fields(topic), body(), HOST, "peer")


def test_the_brokers_permission_is_looked_at_before_the_name(setup: Setup) -> None:
    setup.topics.put(TopicConfig(topic_name="SELF_TEST_TOPIC", order=True))
    with pytest.raises(NotPermitted, match=r"^Sending message to topic\[SELF_TEST_TOPIC\] is forbidden\.$"):
        setup.sending.message(fields("SELF_TEST_TOPIC"), body(), HOST, "peer")
    setup.live.update({"brokerPermission": "4"})
    with pytest.raises(NotPermitted, match=r"^the broker\[127\.0\.0\.1\] sending message is forbidden$"):
        setup.sending.message(fields("SELF_TEST_TOPIC"), body(), HOST, "peer")


def test_a_body_over_the_limit(setup: Setup) -> None:
    setup.live.update({"maxMessageSize": "3"})
    with pytest.raises(MessageIllegal, match=r"msg body length limit 3B,"):
        setup.sending.message(fields(), body(), HOST, "peer")


def prepared_drafts(setup: Setup, count: int = 2) -> list[Any]:
    return [setup.sending.message(fields(), body(), HOST, "peer").drafts[0] for _ in range(count)]


def test_a_commit_is_reported_and_counted(setup: Setup) -> None:
    setup.sending.commit(prepared_drafts(setup), setup.outcome, wait=True)
    assert setup.outcomes == [(2, ResponseCode.SUCCESS)]
    assert setup.metrics.messages_in == 2
    assert setup.metrics.bytes_in == setup.store.max_physical_offset


@pytest.mark.parametrize(("durable", "code"), [(True, ResponseCode.SUCCESS), (False, ResponseCode.FLUSH_DISK_TIMEOUT)])
def test_under_sync_flush_the_disk_decides(setup: Setup, durable: bool, code: ResponseCode) -> None:
    sending = setup.made(flush=setup.flush)
    sending.commit(prepared_drafts(setup), setup.outcome, wait=True)
    assert setup.outcomes == []
    ((offset, callback),) = setup.flush.waiting
    assert offset == setup.store.max_physical_offset
    callback(durable)
    assert setup.outcomes == [(2, code)]


def test_nobody_waits_who_does_not_want_to(setup: Setup) -> None:
    sending = setup.made(flush=setup.flush)
    sending.commit(prepared_drafts(setup), setup.outcome, wait=False)
    assert setup.outcomes == [(2, ResponseCode.SUCCESS)]
    assert setup.flush.waiting == []


def test_what_a_closed_store_refuses_is_reported(setup: Setup) -> None:
    setup.store.close()
    drafts = prepared_drafts(setup)
    setup.sending.commit(drafts, setup.outcome, wait=True)
    assert setup.outcomes == [(0, ResponseCode.SUCCESS)]
    assert setup.metrics.messages_in == 0
    assert setup.refused.keys() == {0, 1}
    assert "is closed]" in setup.refused[0]
    assert setup.refusal_codes == {ResponseCode.SERVICE_NOT_AVAILABLE}


@pytest.mark.parametrize("too_large", [{0}, {1}, {3}, {0, 1}, {1, 3}, {2, 3}, {0, 1, 2, 3}], ids=str)
@pytest.mark.parametrize("flush", [False, True])
def test_what_the_store_can_never_take_does_not_keep_out_the_rest(
    setup: Setup, too_large: set[int], flush: bool
) -> None:
    drafts = prepared_drafts(setup, 4)
    for at in too_large:
        drafts[at].body = bytes(1 << 20)
    sending = setup.made(flush=setup.flush) if flush else setup.sending
    sending.commit(drafts, setup.outcome, wait=True)
    stored = 4 - len(too_large)
    for offset, callback in setup.flush.waiting:
        assert offset == setup.store.max_physical_offset
        setup.store.append(drafts[:0])  # another group's append must not take the reason away
        callback(True)
    assert setup.outcomes == [(stored, ResponseCode.SUCCESS)]
    assert setup.refused.keys() == too_large
    assert all("does not fit into a commit log file" in text for text in setup.refused.values())
    assert setup.refusal_codes == {ResponseCode.MESSAGE_ILLEGAL}
    assert setup.metrics.messages_in == setup.store.max_offset("T", 0) == stored
    assert setup.metrics.bytes_in == setup.store.max_physical_offset


def test_a_batch_larger_than_a_commit_log_file_is_refused_whole(setup: Setup) -> None:
    batch = setup.sending.batch(fields(), body(batch_body([bytes(300_000)] * 4)), HOST, "peer").drafts
    before, after = prepared_drafts(setup)
    setup.sending.commit([before, *batch, after], setup.outcome, wait=False)
    assert setup.outcomes == [(2, ResponseCode.SUCCESS)]
    assert setup.refused.keys() == {1, 2, 3, 4}
    assert setup.refusal_codes == {ResponseCode.MESSAGE_ILLEGAL}
    assert setup.store.max_offset("T", 0) == 2


def test_a_topic_that_no_directory_can_have_is_refused(setup: Setup) -> None:
    drafts = prepared_drafts(setup)
    drafts[0].topic = "a/b"
    setup.sending.commit(drafts, setup.outcome, wait=False)
    assert setup.outcomes == [(1, ResponseCode.SUCCESS)]
    assert setup.refused.keys() == {0}
    assert setup.refused[0].startswith("'a/b' cannot be ")
    assert setup.refusal_codes == {ResponseCode.MESSAGE_ILLEGAL}


def test_a_full_disk_behind_what_can_never_be_stored(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    real = MessageStore.append

    def closing(store: MessageStore, drafts: Any) -> Any:
        if len(drafts) < 4:  # the second try
            store.close()
        return real(store, drafts)

    monkeypatch.setattr(MessageStore, "append", closing)
    drafts = prepared_drafts(setup, 4)
    drafts[1].body = bytes(1 << 20)
    setup.sending.commit(drafts, setup.outcome, wait=False)
    assert setup.outcomes == [(1, ResponseCode.SUCCESS)]
    assert setup.refused.keys() == {1, 2, 3}
    assert "does not fit" in setup.refused[1]
    assert "is closed]" in setup.refused[2]


def test_a_topic_in_apaches_words() -> None:
    config = TopicConfig(topic_name="T", read_queue_nums=2, write_queue_nums=3, perm=3, order=True)
    assert topic_text(config) == (
        "TopicConfig [topicName=T, readQueueNums=2, writeQueueNums=3, perm=-WX, "
        "topicFilterType=SINGLE_TAG, topicSysFlag=0, order=true]"
    )


async def test_what_became_durable_together_is_sent_together(setup: Setup) -> None:
    commit = GroupCommit()
    sending = setup.made(flush=commit)
    peers = [FakePeer("1"), FakePeer("2")]
    written: list[str] = []
    for peer in (peers[0], peers[1], peers[0], None):
        drafts = sending.message(fields(), body(), HOST, "peer").drafts
        name = peer.name if peer else "nobody"
        sending.commit(drafts, lambda *_, name=name: written.append(name), wait=True, peer=peer)
    assert written == []
    setup.store.flush_to(setup.store.max_physical_offset)
    commit._answer(list(commit._waiting), durable=True)
    assert written == ["1", "2", "1", "nobody"]
    assert [peer.flushed for peer in peers] == [1, 1]
    commit._answer([], durable=True)
    assert [peer.flushed for peer in peers] == [1, 1]
