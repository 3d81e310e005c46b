"""An endpoint that controls access, for tests of clients."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.cli.endpoint import real_endpoint

ACCOUNT: Final = {"accessKey": "sparkuser", "secretKey": "12345678"}
"""Options of an account that may send and read all topics, and read with the group `readers` alone."""
_FILE: Final = """
accounts:
  - accessKey: sparkuser
    secretKey: 12345678
    defaultTopicPerm: PUB|SUB
    defaultGroupPerm: DENY
    groupPerms:
      - readers=SUB
"""


@contextlib.contextmanager
def guarded_endpoint(folder: Path) -> Iterator[str]:
    """The address of its name server."""
    accounts = folder / "plain_acl.yml"
    accounts.write_text(_FILE)
    with real_endpoint(folder / "store", acl_enable=True, acl_file=str(accounts)) as addresses:
        yield str(addresses.name_server)
