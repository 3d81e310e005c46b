"""Bodies of access control: all accounts of a broker (54)."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainAccessConfig:
    """One account, as the accounts' file has it. Its representation hides the secret key."""

    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: tuple[str, ...] | None = None
    """Texts like ``TopicA=PUB|SUB``."""
    group_perms: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AclConfig:
    """All accounts and the addresses that need none (response 54)."""

    global_white_addrs: tuple[str, ...] = ()
    plain_access_configs: tuple[PlainAccessConfig, ...] = ()
