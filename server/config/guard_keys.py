"""Keys of the endpoint's protection (quotas, access control, TLS, limits) and of its metrics."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import OURS, key
from rocketwire.server.config.throttle_keys import ThrottleKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardKeys(ThrottleKeys):
    """Quotas, access control, TLS, limits, metrics. Times are milliseconds, sizes are bytes."""

    # Access control: docs/access-control.md.
    acl_enable: bool = key("access control: requests need an account and a signature", default=False)
    acl_file: str = key(
        "the accounts' file; empty: plain_acl.yml beside `-c`'s file, else in config/ of the store",
        default="",
        known=OURS,
    )

    # TLS: docs/tls.md.
    tls_config_file: str = key(
        "a tls.properties, with Apache's names; empty: there is none",
        default="",
        aliases=("tls.config.file",),
        known=OURS,
    )
    tls_server_mode: str = key(
        "who may connect: plain clients, all, TLS clients; empty: as tls.properties says",
        default="",
        form=(r"(disabled|permissive|enforcing)?", "disabled, permissive, enforcing or nothing"),
        aliases=("tls.server.mode",),
        known=OURS,
    )

    # Fault injection: docs/faults.md.
    fault_injection_enable: bool = key(
        "fault rules may be given over HTTP; --fault allows it too", default=False, known=OURS
    )
