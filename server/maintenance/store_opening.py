"""Opens the store."""

from __future__ import annotations

import logging

import trio

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore

log = logging.getLogger(__name__)


def open_store(settings: StoreSettings, clock: Clock, store_host: bytes) -> MessageStore:
    """Open the store, and log what was recovered.

    Raises:
        StoreError: the store directory cannot be used.
    """
    log.info("opening the store %(store)s", {"store": settings.root})
    started = trio.current_time()
    store = MessageStore.open(settings, clock=clock, store_host=store_host)
    log.info(
        "recovered %(records)d records from offset %(start_offset)d to %(end_offset)d in %(seconds).1f s",
        {
            "records": store.recovered.records,
            "start_offset": store.recovered.start,
            "end_offset": store.recovered.end,
            "seconds": trio.current_time() - started,
        },
    )
    return store
