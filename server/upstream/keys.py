"""Keys of what a proxy does with the cluster behind it: docs/proxy.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.keys import OURS, key

_NAME: Final = r"[%|a-zA-Z0-9_-]+"
_NAMES: Final = rf"(?:{_NAME}(?:[,\s]+{_NAME})*)?", "names with commas or blanks between"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamKeys:
    """How a proxy connects to brokers and name servers; `serve` makes nothing of it."""

    upstream_tls: bool = key(
        "a proxy's connections to brokers and name servers are encrypted", default=False, known=OURS
    )
    upstream_tls_config_file: str = key(
        "a tls.properties with Apache's tls.client.* names for that; empty: any certificate does",
        default="",
        known=OURS,
    )
    upstream_access_key: str = key(
        "the account that a proxy signs requests to brokers with; empty: they keep their own",
        default="",
        online=True,
        known=OURS,
    )
    request_times: bool = key(
        "a proxy with metrics times requests, and counts by code those that the kernel relays", default=True, known=OURS
    )
    ordered_groups: str = key(
        "groups of 5.x clients that a proxy serves in order in front of brokers of 4.9",
        default="",
        form=_NAMES,
        online=True,
        known=OURS,
    )
    upstream_secret_key: str = key("its secret key", default="", online=True, known=OURS, secret=True)
