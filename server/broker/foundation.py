"""What all services of one broker use: its store, its configuration, its clocks and its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocketwire.server.configuration import LiveConfig, ServerConfig
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.threads import RunSync
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.store.store import MessageStore

if TYPE_CHECKING:
    from rocketwire.server.acl.control import AccessControl


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """What every part of a broker may use.

    Attributes:
        access: The access control; None: every client may do everything.
        background: Shares the event loop between requests and background work.
        choose: Returns a random number below its argument, uniformly.
        clock: The wall clock, in ms since 1970.
        config: The configuration as it is now.
        due_time: How time passes for messages that are held back.
        in_flight: The bytes in flight of all connections.
        invalidation: Gets each change that cached decisions depend on.
        metrics: Counts what is served.
        run_sync: Runs blocking calls in threads.
        started: The configuration at the start.
        stopped: When the store was last appended to before this start, in ms since 1970.
        store: The store.
        store_host: The broker's address as records and message ids hold it.
    """

    access: AccessControl | None
    background: BackgroundBudget
    choose: Callable[[int], int]
    clock: Clock
    config: LiveConfig
    due_time: DueTime
    in_flight: InFlight
    invalidation: CacheInvalidation
    metrics: Metrics
    run_sync: RunSync
    started: ServerConfig
    stopped: int
    store: MessageStore
    store_host: bytes
