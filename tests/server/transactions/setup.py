"""Transactions over a small store, without a network."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.configuration import LiveConfig, ServerConfig
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.maintenance.keys import RetentionKeys
from rocketwire.server.messages.message_writer import append_group
from rocketwire.server.messages.stored_message import StoredMessage
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.half import HALF, OP, half_draft
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.server.transactions.outcomes import decision_refusal
from rocketwire.server.transactions.service import Transactions
from rocketwire.server.transactions.state import messages_from
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire import names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.properties import decode_properties, encode_properties
from tests.server.busy_loop import BusyLoop
from tests.server.harness import Clock, small_config

COMMIT, ROLLBACK, UNKNOWN = SysFlag.TRANSACTION_COMMIT, SysFlag.TRANSACTION_ROLLBACK, SysFlag.TRANSACTION_NOT
GAVE_UP = (names.TRANS_CHECK_MAX_TIME_TOPIC, 0)
REAL = ("T", 0)
HOST = encode_host("127.0.0.1", 10911)
BORN = encode_host("10.0.0.1", 1234)
GROUP = "CID_RMQ_SYS_TRANS"


class Setup:
    """One broker's transactions, opened on a directory."""

    def __init__(
        self, root: Path, clock: Clock | None = None, files: FileSystem | None = None, **settings: Any
    ) -> None:
        self.root = root
        self.clock = clock or Clock()
        self.files = files
        self.sizes = {"commit_log_file_size": 1 << 20, "consume_queue_file_size": 20_000, **settings}
        self.config: ServerConfig = small_config(root)
        self.woken = 0
        self.loop = BusyLoop(tick=0.000_01)
        self.open()

    def open(self) -> None:
        """Open the store, and read which messages are undecided."""
        config = self.root / "config"
        self.live = LiveConfig(self.config, self.clock)
        self.topics = BrokerTopics(
            TopicTable.open(config / "topics.json", self.files, clock=self.clock), self.live[TopicKeys]
        )
        self.topics.make_system_topics(self.live.current.broker, 18)
        settings = StoreSettings(root=self.root, index_slots=20, index_entries=50, **self.sizes)
        self.store = MessageStore.open(settings, clock=self.clock, store_host=HOST, files=self.files)
        self.offsets = OffsetTable.open(config / "consumerOffset.json", self.files)
        self.clients = ClientGroups(lambda _: False)
        self.transactions = Transactions(
            self.store,
            self.offsets,
            keys=self.live[TransactionKeys],
            retention_keys=self.live[RetentionKeys],
            topics=self.topics,
            clients=self.clients,
            clock=self.clock,
            store_host=HOST,
            wake=self._wake,
            append=partial(append_group, self.store),
            due_time=DueTime(),
            budget=self.loop.budget,
        )
        self.state = self.transactions.state

    def _wake(self) -> None:
        self.woken += 1

    def close(self) -> None:
        self.offsets.persist()
        self.store.close()

    def reopen(self) -> None:
        self.close()
        self.open()

    # --- what a producer does ---

    def send(self, key: str | None = "K", body: bytes = b"body", **properties: str) -> AppendResult:
        """Send a half message."""
        text = "TRAN_MSG\x01true\x02PGROUP\x01P\x02TAGS\x01tag\x02WAIT\x01true\x02CLUSTER\x01C"
        named = decode_properties(text) | ({} if key is None else {"UNIQ_KEY": key}) | properties
        draft = Draft(
            *REAL, body, encode_properties(named).encode(), 7, SysFlag.TRANSACTION_PREPARED, self.clock(), BORN
        )
        draft.unique_key = key
        (appended,) = self.store.append([half_draft(draft)])
        return appended

    def decide(self, place: AppendResult, decision: int = COMMIT, **changes: Any) -> None:
        """Commit a half message, or roll it back."""
        values: dict[str, Any] = {
            "producer_group": "P",
            "tran_state_table_offset": place.queue_offset,
            "commit_log_offset": place.physical_offset,
            "commit_or_rollback": decision,
            "msg_id": "K",
            **changes,
        }
        found = self.transactions.ending.check_decision(EndTransactionRequestHeader(**values))
        if found is not None:
            _, refusals = append_group(self.store, self.transactions.ending.drafts(found))
            for refusal in refusals.values():
                raise decision_refusal(refusal)
            self.transactions.ending.note_decided(found)

    # --- what is there ---

    def messages(self, queue: tuple[str, int]) -> list[StoredMessage]:
        found = messages_from(self.store, queue, self.store.min_offset(*queue), 32)
        return [message for _, message in found]

    def bodies(self, queue: tuple[str, int] = REAL) -> list[bytes]:
        return [bytes(message.body) for message in self.messages(queue)]

    @property
    def undecided(self) -> list[int]:
        return [offset for offset, _ in self.state.undecided()]

    @property
    def committed_offsets(self) -> list[int | None]:
        """The offsets of both queues in the table."""
        return [self.offsets.query(GROUP, *HALF), self.offsets.query(GROUP, *OP)]

    def save_progress(self) -> None:
        """Save the offsets, and once the disk has the messages before them, save them again."""
        for _ in range(2):
            self.flush()
            self.state.note_progress()

    def flush(self) -> None:
        self.store.flush_to(self.store.max_physical_offset)


def place_of(message: StoredMessage) -> AppendResult:
    return AppendResult(message.physical_offset, 0, message.queue_offset)
