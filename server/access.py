"""The access control of a broker or a proxy, from its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketwire.server.config.keys import ConfigError
from rocketwire.server.configuration import LiveConfig, ServerConfig
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.store.disk.files import FileSystem
from rocketwire.wire import names

if TYPE_CHECKING:
    from rocketwire.server.acl.access_rules import OwnerAt
    from rocketwire.server.acl.control import AccessControl


def access_control(
    config: ServerConfig, live: LiveConfig, clock: Clock, metrics: Metrics, *, owner_at: OwnerAt | None
) -> AccessControl | None:
    """The access control; None: there are no accounts, and every client may do everything.

    Args:
        config: Whether there are accounts, and in which file.
        live: The same while the server runs.
        clock: As for `AccessControl`.
        metrics: Likewise.
        owner_at: Likewise.

    Raises:
        ConfigError: the accounts' file cannot be used, or accounts have quotas and there is no such file.
    """
    if not config.acl.acl_enable:
        if config.throttle.account_quotas:
            raise ConfigError("accountQuotas needs aclEnable=true: without access control nobody has an account")
        return None
    from rocketwire.server.acl.control import AccessControl  # noqa: PLC0415 - it brings a YAML reader along

    return AccessControl(
        str(config.acl.path(config.store.folder)),
        FileSystem(),
        clock,
        metrics,
        limit_keys=live[LimitKeys],
        owner_at=owner_at,
        reply_topic=names.reply_topic(config.broker.broker_cluster_name),
        region=config.broker.region_id,
    )
