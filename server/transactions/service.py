"""The transactions of one broker, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.live import LiveConfig
from rocketwire.server.core.clock import Clock
from rocketwire.server.messages.appending import Refusals
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.asking import Asking, MayHear, everybody
from rocketwire.server.transactions.checking import Checking
from rocketwire.server.transactions.copies import Copies
from rocketwire.server.transactions.ending import Carried, Ending, Outcome
from rocketwire.server.transactions.state import TransactionState
from rocketwire.store.append.drafts import Appended, Draft
from rocketwire.store.protocol import Messages
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader


class Transactions:
    """Knows the undecided half messages of a store, decides them, and has their producers asked.

    Raises:
        StoreNotWritable: the offsets were ahead of the store, and cannot be written anew.
    """

    def __init__(
        self,
        store: Messages,
        offsets: OffsetTable,
        *,
        config: LiveConfig,
        topics: BrokerTopics,
        clients: ClientGroups,
        clock: Clock,
        store_host: bytes,
        wake: Callable[[], None],
        append: Callable[[Sequence[Draft]], tuple[list[Appended], Refusals]],
        may_hear: MayHear = everybody,
    ) -> None:
        self.state = TransactionState(store, offsets)
        copies = Copies(self.state)
        self._ending = Ending(store, self.state, copies, append=append, clock=clock, store_host=store_host)
        self._ending.repair()
        asking = Asking(clients, store_host=store_host, may_hear=may_hear)
        self._checking = Checking(
            store,
            self.state,
            copies,
            self._ending,
            asking,
            config=config,
            topics=topics,
            clock=clock,
            wake=wake,
        )

    def outcome(self, fields: EndTransactionRequestHeader) -> Outcome | None:
        """What a producer's decision asks for: see `Ending.outcome`."""
        return self._ending.outcome(fields)

    def carry_out(self, outcomes: Sequence[Outcome]) -> Carried:
        """Append outcomes: see `Ending.carry_out`."""
        return self._ending.carry_out(outcomes)

    async def check(self) -> None:
        """Have one round of the check: see `Checking.check`."""
        await self._checking.check()

    async def run(self) -> None:
        """Check for ever."""
        await self._checking.run()
