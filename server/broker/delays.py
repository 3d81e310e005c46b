"""The services that hold messages back: for a delay, for a time, or for the outcome of a transaction."""

from __future__ import annotations

from collections.abc import Callable

import trio

from rocketwire.server.broker.foundation import Foundation
from rocketwire.server.broker.tables import BrokerTables
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.delay.delivery import DelayDelivery
from rocketwire.server.maintenance.keys import RetentionKeys
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.timer.timer import Timer, warn_of_lost_messages
from rocketwire.server.transactions.check_permission import allow_every_producer
from rocketwire.server.transactions.keys import TransactionKeys
from rocketwire.server.transactions.service import Transactions
from rocketwire.store.disk.files import FileSystem


class BrokerDelays:
    """The services that hold messages back.

    Args:
        base: What all services use.
        tables: Topics, offsets, and how far delay levels are delivered.
        storing: Stores what is due.
        clients: The producers whose transactions are checked.
        wake: Serves the requests that wait for what is stored.

    Attributes:
        timer: The timer messages; None: they are refused.
        delays: Delivers delayed messages.
        transactions: Half messages.
    """

    def __init__(
        self,
        base: Foundation,
        tables: BrokerTables,
        storing: MessageWriter,
        clients: ClientGroups,
        wake: Callable[[], None],
    ) -> None:
        config = base.started
        self.timer = None
        if config.timer.timer_wheel_enable:
            self.timer = timer = Timer(
                store=base.store,
                files=FileSystem(),
                storing=storing,
                clock=base.clock,
                wake=wake,
                run_sync=base.run_sync,
                topics=tables.topics.table.configs,
                moved=base.due_time.moved,
                budget=base.background,
            )
            base.store.arrivals.subscribe(timer.arrived)
            warn_of_lost_messages(timer.lap_ms, config.retention.file_reserved_time)
            tables.add(timer.table, "timer metrics")
        self.delays = DelayDelivery(
            store=base.store,
            table=tables.delay_offsets,
            storing=storing,
            clock=base.clock,
            wake=wake,
            budget=base.background,
            sleep=base.due_time.sleep,
        )
        self.transactions = Transactions(
            base.store,
            tables.offsets,
            keys=base.config[TransactionKeys],
            retention_keys=base.config[RetentionKeys],
            topics=tables.topics,
            clients=clients,
            clock=base.clock,
            store_host=base.store_host,
            wake=wake,
            append=storing.append,
            due_time=base.due_time,
            budget=base.background,
            may_receive=allow_every_producer if base.access is None else base.access.may_receive_as_producer,
        )

    def start(self, nursery: trio.Nursery) -> None:
        """Start the deliveries."""
        nursery.start_soon(self.delays.run)
        if self.timer is not None:
            nursery.start_soon(self.timer.run)
        nursery.start_soon(self.transactions.run)
