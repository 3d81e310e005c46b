"""Keys of TLS: docs/tls.md."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import OURS, key


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsKeys:
    """Which clients may connect, and how."""

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
