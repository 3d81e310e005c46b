"""The adapter of RocketMQ's OpenMessaging client, which gets name servers by an access point's URL."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Final

from rocketwire.compat.clients.adapter import Security
from rocketwire.compat.clients.maven import MavenClient

_ID_ONLY: Final = "it reports a sent message's id, and neither status nor queue"
_ALL: Final = "it takes all messages of a topic"
_NO_PLACE: Final = "its messages have neither queue nor offset"


class OpenMessagingClient(MavenClient):
    """`rocketmq-openmessaging`, which implements OpenMessaging's API 0.3."""

    id = "openmessaging"
    name = "OpenMessaging client"
    version = "4.9.7"
    remoting = "4.9.7"
    folder = Path(__file__).resolve().parent
    settings = MappingProxyType({"client.version": version})
    secures = frozenset({Security.TLS})
    lacks = MappingProxyType(
        {
            "send.sync": _ID_ONLY,
            "send.async": _ID_ONLY,
            "send.body-sizes": _ID_ONLY,
            "send.auto-created-topic": _ID_ONLY,
            "send.too-long-for-client": "it reports the client's remark, not its code",
            "send.too-long-for-broker": "it has one limit for bodies, the broker's",
            "push.concurrent": _NO_PLACE,
            "push.tags": _ALL,
            "pull.lite-goes-on": _ALL,
            "delay.by-tag": _ALL,
            "filter.tags-of-one-hash-code": _ALL,
        }
    )

    def environment(self, security: frozenset[Security]) -> dict[str, str]:
        """Besides TLS, that the URL names name servers, not a service that knows them."""
        return {**super().environment(security), "OMS_RMQ_DIRECT_NAME_SRV": "true"}
