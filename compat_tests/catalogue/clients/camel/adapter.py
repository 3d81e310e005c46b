"""The adapter of Apache Camel's component for RocketMQ."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Final

from rocketwire.compat.clients.maven import MavenClient

_NO_RESULT: Final = "it does not report where a sent message is stored"
_NO_PROPERTIES: Final = "it neither sends nor reports a message's properties"


class CamelClient(MavenClient):
    """`camel-rocketmq`: endpoints `rocketmq:TOPIC` of Camel's routes."""

    id = "camel"
    name = "Apache Camel component"
    version = "3.20.0"
    remoting = "4.9.4"
    folder = Path(__file__).resolve().parent
    settings = MappingProxyType({"client.version": version})
    lacks = MappingProxyType(
        {
            "send.sync": _NO_PROPERTIES,
            "send.body-sizes": _NO_RESULT,
            "send.auto-created-topic": _NO_RESULT,
            "send.too-long-for-broker": "it has one limit for bodies, the broker's",
            "push.concurrent": _NO_PROPERTIES,
            "delay.first-levels": "it sends no delay level",
            "delay.by-tag": "it sends no delay level",
        }
    )
