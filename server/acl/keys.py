"""Keys of access control: docs/access-control.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocketwire.server.config.keys import OURS, key


@dataclass(frozen=True, slots=True, kw_only=True)
class AclKeys:
    """Whether requests need an account, and where the accounts are."""

    acl_enable: bool = key("access control: requests need an account and a signature", default=False)
    acl_file: str = key(
        "the accounts' file; empty: plain_acl.yml beside `-c`'s file, else in config/ of the store",
        default="",
        known=OURS,
    )

    def path(self, store: Path) -> Path:
        """The accounts' file, where the store's folder is `store`."""
        return Path(self.acl_file) if self.acl_file else store / "config" / "plain_acl.yml"
