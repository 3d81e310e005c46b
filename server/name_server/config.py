"""The name server's own configuration, as mqadmin getNamesrvConfig and updateNamesrvConfig see it.

It has the keys of Apache's 4.9.7. As with Apache every change of a known key is accepted and shown, and unknown keys
and unreadable values are ignored. Only `orderMessageEnable` has an effect here; it is true by default, so that routes
contain a topic's order configuration. A change holds until the next start.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from rocketwire.server.config.java_properties import format_java_properties, parse_java_properties
from rocketwire.server.core.errors import NotPermitted

log = logging.getLogger(__name__)

ORDER_MESSAGES: Final = "orderMessageEnable"
_PATHS: Final = ("configStorePath", "kvConfigPath")
_FLAGS: Final = ("false", "true")
_LARGEST: Final = (1 << 31) - 1

_DEFAULTS: Final[Mapping[str, str]] = {
    "rocketmqHome": "",
    "kvConfigPath": "",
    "configStorePath": "",
    "productEnvName": "center",
    "clusterTest": "false",
    ORDER_MESSAGES: "true",
    "listenPort": "9876",
    "serverWorkerThreads": "8",
    "serverCallbackExecutorThreads": "0",
    "serverSelectorThreads": "3",
    "serverOnewaySemaphoreValue": "256",
    "serverAsyncSemaphoreValue": "64",
    "serverChannelMaxIdleTimeSeconds": "120",
    "serverSocketSndBufSize": "0",
    "serverSocketRcvBufSize": "0",
    "writeBufferHighWaterMark": "0",
    "writeBufferLowWaterMark": "0",
    "serverSocketBacklog": "1024",
    "serverPooledByteBufAllocatorEnable": "true",
    "useEpollNativeSelector": "false",
}
"""Apache's 4.9.7 keys; a default that is a number or a flag defines the type."""


class NameServerConfig:
    """The keys and their values as text."""

    def __init__(self, **own: str) -> None:
        """Use Apache's defaults with this server's own values of some keys."""
        self._values = {**_DEFAULTS, **own}

    @property
    def order_messages(self) -> bool:
        """Whether routes contain a topic's order configuration."""
        return self._values[ORDER_MESSAGES] == "true"

    def text(self) -> str:
        """All keys and values, as Java's properties."""
        return format_java_properties(self._values)

    def update(self, text: str) -> None:
        """Change some keys, given as Java's properties.

        Raises:
            NotPermitted: a path of the name server's files is among them; nothing is changed.
            PropertiesInvalid: the text is none; nothing is changed.
        """
        changes = parse_java_properties(text)
        if not changes.keys().isdisjoint(_PATHS):
            raise NotPermitted("Can not update config path")
        for name, value in changes.items():
            if _is_allowed(name, value.strip()):
                self._values[name] = value.strip()
                log.info("name server: %(key)s=%(value)s", {"key": name, "value": value})
            else:
                log.warning(
                    "name server: %(key)s=%(value)s has no effect: unknown key, or not of its type",
                    {"key": name, "value": value},
                )


def _is_allowed(name: str, value: str) -> bool:
    default = _DEFAULTS.get(name)
    if default is None:
        return False
    if default in _FLAGS:
        return value in _FLAGS
    if default.isdigit():
        return value.isdigit() and value.isascii() and len(value) <= len(str(_LARGEST)) and int(value) <= _LARGEST
    return True
