"""A store with delayed messages, and their delivery, without a server around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rocketwire.server.delay.delivery import DelayDelivery
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.hosts import encode_host
from tests.server.harness import NOW, Clock, properties_text, send_ext
from tests.server.store_room import StoreRoom

SCHEDULE = "SCHEDULE_TOPIC_XXXX"
HOST = encode_host("10.0.0.1", 5)
LEVELS = (1_000, 5_000, 60_000)


class Delays(StoreRoom):
    """An open store, and a delivery that runs when the test calls it."""

    def __init__(
        self,
        folder: Path,
        *,
        clock: Clock | None = None,
        files: FileSystem | None = None,
        levels: tuple[int, ...] = LEVELS,
        **settings: Any,
    ) -> None:
        self._folder, self._files, self._settings = folder, files, settings
        self._open(clock or Clock(), levels)

    def _open(self, clock: Clock, levels: tuple[int, ...]) -> None:
        sizes: dict[str, Any] = {"commit_log_file_size": 1 << 16, "consume_queue_file_size": 20 * 64}
        self.open_store(self._folder, clock, self._files, delay_levels=levels, **(sizes | self._settings))
        self.topics.make_system_topics(self.live.current.broker, len(levels))
        self.table = DelayOffsetTable.open(self._folder / "store" / "config" / "delayOffset.json", self._files)
        self.delivery = DelayDelivery(
            store=self.store,
            table=self.table,
            storing=self.storing,
            clock=self.clock,
            wake=self._wake,
            budget=self.loop.budget,
        )

    def reopen(self, levels: tuple[int, ...] = LEVELS) -> None:
        """Start again, after a stop or a kill."""
        self._open(self.clock, levels)

    def send(self, body: bytes, level: int, topic: str = "T", **changes: Any) -> None:
        """Store a message to be delivered to queue 0 of a topic."""
        text = properties_text(UNIQ_KEY=f"U{body[:10].decode()}", DELAY=str(level))
        ext = send_ext(topic, properties=changes.pop("properties", text), **{"born_timestamp": NOW, **changes})
        fields = decode_ext(SendMessageRequestHeader, ext, short=True)
        drafts = self.sending.drafts.message(fields, memoryview(body), HOST, "peer").drafts
        assert self.store.append(drafts), self.store.append_error

    def pass_time(self, ms: int) -> None:
        """Advance the clock and deliver what is due then."""
        self.clock.now += ms
        self.deliver()

    def deliver(self) -> None:
        """Deliver all that is due."""
        self.settle()
        while not self.delivery.deliver():
            pass

    def settle(self) -> None:
        """Find out which messages were delivered before the start."""
        for _ in self.delivery._settling:
            pass

    def persist(self) -> None:
        """Save the offsets, as a broker does every ten seconds."""
        self.delivery._progress.save()
        self.table.persist()

    def stop(self) -> None:
        """Stop as a broker does."""
        self.delivery.close()
        self.table.persist()
        self.store.close()
