"""POP over a store and its timer, without a server: requests are calls, and the test saves the offsets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trio

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.core.append import Append
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.pop import handlers
from rocketwire.server.pop.keys import PopKeys
from rocketwire.server.pop.order.ordered_queues import OrderedQueues
from rocketwire.server.pop.parts import PopAccounting, PopRuntime, PopSettings, PopState
from rocketwire.server.pop.pops import Pops
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.pop.reviving.recovery import move_offsets
from rocketwire.server.pop.reviving.resetting import OffsetResetter
from rocketwire.server.pull.keys import TransferKeys
from rocketwire.server.statistics.counters import Counters
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.store.append.drafts import Draft
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.pop.offset_resets import OffsetResetTable
from rocketwire.store.tables.pop.order_info import OrderInfoTable
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.frame import Frame
from rocketwire.wire.header import Header
from rocketwire.wire.headers import WireHeader
from rocketwire.wire.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
    PopMessageRequestHeader,
)
from tests.server.busy_loop import BusyLoop
from tests.server.harness import stored_reply
from tests.server.pop.requests import Got, ack_body, popped
from tests.server.timer.support import HOST, Timers

SAVE_MS = 5000
_ROUTES = {route.code: route for route in handlers.family.routes}


class FakePeer:
    """A client's connection that keeps its answers."""

    remote_text = "10.0.0.1:5"
    born_host = HOST
    closed = False
    congested = False

    def __init__(self) -> None:
        self.replies: list[Reply] = []

    def reply(self, _request: Request[Any], reply: Reply) -> None:
        self.replies.append(reply)

    def flush(self) -> None:
        pass

    def push(self, code: int, ext: dict[str, str], body: bytes = b"") -> None:
        raise AssertionError(code)

    def call(self, code: int, ext: dict[str, str], body: bytes, *, seconds: float, done: Any) -> None:
        raise AssertionError(code)

    def keep(self, size: int) -> None:
        raise AssertionError(size)

    def limited(self, error: LimitExceeded) -> None:
        raise error


class PopTimers(Timers):
    """POP of a broker with the topic T, of two queues. It saves offsets when `save_if_due` is called."""

    def __init__(self, folder: Path, **options: Any) -> None:
        super().__init__(folder, **options)
        live = self.live
        if self.topics.get("T") is None:
            self.topics.put(TopicConfig(topic_name="T", read_queue_nums=2, write_queue_nums=2, perm=6))
        self.offsets = OffsetTable.open(folder / "offsets.json")
        self._saved_at = self.clock.now
        self.chosen = 0
        due_time = DueTime(moved=self.moved)
        renewals = Renewals(lambda: 0.0, lambda: 0)
        self.loop = BusyLoop(tick=0.000_01)
        resets = OffsetResetter(
            OffsetResetTable.open(folder / "offsetResets.json"),
            self.offsets,
            store=self.store,
            clock=self.clock,
            timer_keys=live[TimerKeys],
            wake=self._wake,
        )
        ordered = OrderedQueues(
            OrderInfoTable.open(folder / "consumerOrderInfo.json"),
            self.offsets,
            topics=self.topics,
            groups=self.groups,
            clock=self.clock,
            due_time=due_time,
            renewals=renewals,
            resets=resets,
        )
        self.pops = Pops(
            PopState(
                store=self.store,
                storing=self.storing,
                offsets=self.offsets,
                topics=self.topics,
                groups=self.groups,
                ordered=ordered,
                resets=resets,
            ),
            PopSettings(
                pop=live[PopKeys],
                broker=live[BrokerKeys],
                timer=live[TimerKeys],
                transfer=live[TransferKeys],
                filters=live[FilterKeys],
                limits=live[LimitKeys],
            ),
            PopAccounting(
                metrics=Metrics(),
                deliveries=Counters(),
                throttle=Throttle(live[ThrottleKeys], self.topics, Metrics()),
                limits=Limits(live[LimitKeys], Metrics()),
            ),
            PopRuntime(
                clock=self.clock,
                due_time=due_time,
                choose=self._choose,
                wake=self._wake,
                budget=self.loop.budget,
                host=HOST,
            ),
            timer=self.timer,
            renewals=renewals,
            indexed=True,
        )
        self.store.arrivals.subscribe(self.pops.arrived)
        if not self.store.stopped_cleanly:
            move_offsets(
                self.store,
                self.offsets,
                resets,
                self.pops.services.pop_topics.revive,
                stopped=self.store.last_append_timestamp,
                interval=SAVE_MS,
            )

    def _choose(self, bound: int) -> int:
        self.chosen += 7
        return self.chosen % bound

    def _wake(self) -> None:
        super()._wake()
        self.pops.wake()

    def start(self, nursery: trio.Nursery) -> None:
        """Start the timer and the reviver."""
        super().start(nursery)
        self.pops.start(nursery)

    def save_if_due(self) -> None:
        """Save the offsets if that is due, as the broker does."""
        if abs(self.clock.now - self._saved_at) >= SAVE_MS:
            self.offsets.persist()
            self._saved_at = self.clock.now

    def put(self, body: bytes, queue_id: int = 0, topic: str = "T") -> bool:
        """Store a message."""
        taken = bool(self.store.append([Draft(topic, queue_id, body, b"", 0, 0, self.clock.now, HOST)]))
        self._wake()
        return taken

    # --- requests ---

    def request(
        self, code: int, fields: WireHeader | None, body: bytes = b"", peer: FakePeer | None = None
    ) -> Reply | None:
        """The answer to a request; None: it waits.

        Raises:
            ServerError: it is refused.
        """
        request = Request(
            peer=peer or FakePeer(),
            header=Header(code=code, opaque=1),
            serialize_type=0,
            body=memoryview(body),
            fields=fields,
        )
        made = _ROUTES[RequestCode(code)].handler(self.pops.services, request)
        assert made is None or isinstance(made, Reply | Append)
        reply = stored_reply(self.storing, made) if isinstance(made, Append) else made
        self._wake()
        return reply

    def pop(
        self, group: str = "G", most: int = 32, invisible_time: int = 10_000, topic: str = "T", **more: Any
    ) -> list[Got]:
        """Pop without waiting."""
        values = {"queue_id": -1, "poll_time": 0, "born_time": 0, "init_mode": 0, **more}
        fields = PopMessageRequestHeader(
            consumer_group=group, topic=topic, max_msg_nums=most, invisible_time=invisible_time, **values
        )
        reply = self.request(RequestCode.POP_MESSAGE, fields)
        assert reply is not None
        return popped(frame_of(reply), topic, consumer_group=group).messages

    def ack(self, got: Got) -> Reply | None:
        """Acknowledge a message."""
        fields = AckMessageRequestHeader(
            consumer_group=got.group,
            topic=got.topic,
            queue_id=got.handle.queue_id,
            extra_info=got.handle.text,
            offset=got.handle.offset,
        )
        return self.request(RequestCode.ACK_MESSAGE, fields)

    def ack_all(self, *messages: Got) -> Reply | None:
        """Acknowledge messages of one check point."""
        return self.request(RequestCode.BATCH_ACK_MESSAGE, None, ack_body(*messages))

    def change(self, got: Got, invisible_time: int, *, suspend: bool = False) -> Got:
        """Change a message's time; the message with its new handle."""
        fields = ChangeInvisibleTimeRequestHeader(
            consumer_group=got.group,
            topic=got.topic,
            queue_id=got.handle.queue_id,
            extra_info=got.handle.text,
            offset=got.handle.offset,
            invisible_time=invisible_time,
            suspend=suspend,
        )
        reply = self.request(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, fields)
        assert reply is not None
        assert isinstance(reply.fields, ChangeInvisibleTimeResponseHeader)
        handle = got.handle._replace(
            start_offset=got.handle.offset, pop_time=reply.fields.pop_time, invisible_time=invisible_time
        )
        return got._replace(handle=handle)

    def stop(self) -> None:
        """Stop as a broker does."""
        self.timer.close()
        self.offsets.persist()
        self.store.close()


def frame_of(reply: Reply) -> Frame:
    """The reply as read from its frame."""
    body: Sequence[bytes | memoryview] = [bytes(each) for each in reply.body]
    return Frame(reply.header(1), b"".join(body), 0)
