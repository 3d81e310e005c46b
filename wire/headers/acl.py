"""Headers of access control: codes 50 to 54. A change without a required field is rejected with its own code."""

from rocketwire.wire.headers._codec import WireHeader


class CreateAccessConfigRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Create or change an account (50); permissions are texts like ``TopicA=PUB|SUB`` with commas between."""

    access_key: str | None = None
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None

    def __repr__(self) -> str:
        """Hide the secret key."""
        return f"CreateAccessConfigRequestHeader(access_key={self.access_key!r})"


class DeleteAccessConfigRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Delete an account (51)."""

    access_key: str | None = None


class GetBrokerAclConfigResponseHeader(WireHeader, frozen=True, kw_only=True):
    """The versions of the account files (52), as JSON."""

    version: str
    all_acl_file_version: str | None = None
    """Versions by the files' paths."""
    broker_name: str
    broker_addr: str
    cluster_name: str


class UpdateGlobalWhiteAddrsConfigRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Replace the addresses that need no account (53), with commas between."""

    global_white_addrs: str | None = None
    acl_file_full_path: str | None = None


class GetBrokerClusterAclConfigResponseHeader(WireHeader, frozen=True, kw_only=True):
    """Nothing: the accounts are in the body (54)."""
