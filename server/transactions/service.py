"""The transactions of one broker, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.live import Live
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.due_time import DueTime
from rocketwire.server.messages.appending import Refusals
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.asking import Asking
from rocketwire.server.transactions.checking import Checking
from rocketwire.server.transactions.copies import Copies
from rocketwire.server.transactions.ending import Ending
from rocketwire.server.transactions.hearing import MayHear, everybody
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.server.transactions.resuming import Resuming
from rocketwire.server.transactions.state import TransactionState
from rocketwire.server.upkeep.keys import RetentionKeys
from rocketwire.store.append.drafts import Appended, Draft
from rocketwire.store.protocol import Messages
from rocketwire.store.tables.offsets import OffsetTable


class Transactions:
    """Knows the undecided half messages of a store, decides them, and has their producers asked.

    Attributes:
        state: Which half messages are undecided.
        ending: Decides them.
        resuming: Has producers asked again about those that were left undecided.

    Raises:
        StoreNotWritable: the offsets were ahead of the store, and cannot be written anew.
    """

    def __init__(
        self,
        store: Messages,
        offsets: OffsetTable,
        *,
        keys: Live[TransactionKeys],
        retention_keys: Live[RetentionKeys],
        topics: BrokerTopics,
        clients: ClientGroups,
        clock: Clock,
        store_host: bytes,
        wake: Callable[[], None],
        append: Callable[[Sequence[Draft]], tuple[list[Appended], Refusals]],
        due_time: DueTime,
        budget: BackgroundBudget,
        may_hear: MayHear = everybody,
    ) -> None:
        self.state = TransactionState(store, offsets)
        copies = Copies(self.state)
        self.ending = Ending(store, self.state, copies, append=append, clock=clock, store_host=store_host)
        self.ending.repair()
        self.resuming = Resuming(store, copies, append=append)
        asking = Asking(clients, store_host=store_host, may_hear=may_hear)
        self._checking = Checking(
            store,
            self.state,
            copies,
            self.ending,
            asking,
            keys=keys,
            retention_keys=retention_keys,
            topics=topics,
            clock=clock,
            due_time=due_time,
            wake=wake,
            budget=budget,
        )

    async def check(self) -> None:
        """Have one round of the check: see `Checking.check`."""
        await self._checking.check()

    async def run(self) -> None:
        """Check for ever."""
        await self._checking.run()
