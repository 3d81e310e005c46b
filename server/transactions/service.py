"""The transactions of one broker, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.maintenance.keys import RetentionKeys
from rocketwire.server.messages.message_writer import Refusals
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.back_check_sender import BackCheckSender
from rocketwire.server.transactions.back_checker import BackChecker
from rocketwire.server.transactions.check_permission import MayCheck, allow_every_producer
from rocketwire.server.transactions.copies import HalfMessageCopies
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.server.transactions.outcomes import TransactionResolver
from rocketwire.server.transactions.resuming import BackCheckResumption
from rocketwire.server.transactions.state import TransactionState
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.offsets import OffsetTable


class Transactions:
    """Knows the undecided half messages of a store, decides them, and has back-checks sent to their producers.

    Attributes:
        state: Which half messages are undecided.
        ending: Decides them.
        resuming: Begins back-checks again for those that stayed undecided.

    Raises:
        StoreNotWritable: the offsets were ahead of the store, and cannot be written again.
    """

    def __init__(
        self,
        store: StoreProtocol,
        offsets: OffsetTable,
        *,
        keys: LiveGroup[TransactionKeys],
        retention_keys: LiveGroup[RetentionKeys],
        topics: BrokerTopics,
        clients: ClientGroups,
        clock: Clock,
        store_host: bytes,
        wake: Callable[[], None],
        append: Callable[[Sequence[Draft]], tuple[list[AppendResult], Refusals]],
        due_time: DueTime,
        budget: BackgroundBudget,
        may_receive: MayCheck = allow_every_producer,
    ) -> None:
        self.state = TransactionState(store, offsets)
        copies = HalfMessageCopies(self.state)
        self.ending = TransactionResolver(store, self.state, copies, append=append, clock=clock, store_host=store_host)
        self.ending.repair()
        self.resuming = BackCheckResumption(store, copies, append=append)
        sender = BackCheckSender(clients, store_host=store_host, may_receive=may_receive)
        self._checking = BackChecker(
            store,
            self.state,
            copies,
            self.ending,
            sender,
            keys=keys,
            retention_keys=retention_keys,
            topics=topics,
            clock=clock,
            due_time=due_time,
            wake=wake,
            budget=budget,
        )

    async def check(self) -> None:
        """Have one round of the check: see `BackChecker.run_round`."""
        await self._checking.run_round()

    async def run(self) -> None:
        """Check without end."""
        await self._checking.run()
