"""Keys of limits on what clients may use: docs/limits.md describes what each limits and what clients see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.keys import OURS, key
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH

_KIB: Final = 1024
_MIB: Final = 1024 * 1024

LARGEST_BODY: Final = MAX_FRAME_LENGTH - 64 * _KIB
"""The largest body of one frame: the rest is for the header and a record's own fields and properties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKeys:
    """Limits of connections, bytes, requests, topics and groups. Sizes are bytes."""

    max_connections: int = key(
        "most connections, to broker and name server together", default=50_000, low=1, online=True, known=OURS
    )
    max_connections_per_address: int = key(
        "most connections of one address; of IPv6, of one network of 64 bits",
        default=20_000,
        low=1,
        online=True,
        known=OURS,
    )
    max_new_connections_per_address: int = key(
        "most connections of one address that begin to be served in a second; further ones wait",
        default=1000,
        low=1,
        online=True,
        known=OURS,
    )
    max_frame_bytes: int = key(
        "bytes of the longest accepted frame, with all of its parts",
        default=MAX_FRAME_LENGTH,
        low=64 * _KIB,
        high=MAX_FRAME_LENGTH,
        known=OURS,
    )
    max_in_flight_bytes: int = key(
        "most bytes in flight of all connections: received and not served, or not sent yet",
        default=512 * _MIB,
        low=_MIB,
        online=True,
        known=OURS,
    )
    max_in_flight_bytes_per_connection: int = key(
        "most unsent bytes of one connection's answers; at the start, also of a frame",
        default=64 * _MIB,
        low=64 * _KIB,
        online=True,
        known=OURS,
    )
    max_requests_per_connection: int = key(
        "most held pulls of one connection",
        default=20_000,
        low=1,
        online=True,
        known=OURS,
    )
    max_heartbeat_bytes: int = key(
        "bytes of the longest accepted heartbeat: its data is kept",
        default=256 * _KIB,
        low=1024,
        online=True,
        known=OURS,
    )
    max_registration_bytes: int = key(
        "bytes of the longest registration of another broker; its topics: one for each 128",
        default=4 * _MIB,
        low=1024,
        online=True,
        known=OURS,
    )
    max_topics: int = key(
        "most topics, without the retry topics of existing groups; those of an older store stay",
        default=20_000,
        low=1,
        online=True,
        known=OURS,
    )
    max_groups: int = key(
        "most subscription groups; those of an older store stay", default=10_000, low=1, online=True, known=OURS
    )
    max_offsets: int = key(
        "most queues that groups commit offsets of, each counted for each group",
        default=500_000,
        low=1,
        known=OURS,
    )
    server_channel_max_idle_time_seconds: int = key(
        "seconds after which a connection is closed that is silent, or within one frame",
        default=120,
        low=1,
        online=True,
    )
