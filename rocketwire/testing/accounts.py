"""The accounts of an endpoint with access control: those of the test, and one more for the endpoint's own client."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rocketwire.remoting.credentials import Credentials
from rocketwire.testing.errors import NotStarted

_OWN: Final = "rocketwire-testing"


def write_accounts(given: str | Path | Sequence[Mapping[str, object]], path: Path) -> Credentials:
    """Write Apache's file of accounts, and return the account that may do everything.

    Args:
        given: The path of such a file, or its accounts.
        path: The file that is written.

    Raises:
        NotStarted: the given file is none.
    """
    content = _read(Path(given)) if isinstance(given, str | Path) else {"accounts": list(given)}
    own = Credentials(access_key=_OWN, secret_key=secrets.token_hex(16))
    account = {"accessKey": own.access_key, "secretKey": own.secret_key, "admin": True}
    text = json.dumps({**content, "accounts": [*(content.get("accounts") or ()), account]})  # which is YAML as well
    path.write_text(text, encoding="utf-8")
    return own


def _read(path: Path) -> dict[str, Any]:
    import yaml

    try:
        content = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise NotStarted(f"acl {path}: {error}") from error
    if not isinstance(content, dict):
        raise NotStarted(f"acl {path}: it is no file of accounts")
    return content
