"""What an endpoint for tests is started with, and the command line that follows from it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypedDict

from rocketwire.remoting.credentials import Credentials
from rocketwire.testing.errors import NotStarted

Setting = str | int | bool
"""The value of a key of `broker.conf`."""

_DEFAULTS: Final[Mapping[str, Setting]] = {
    "movableClock": True,
    "faultInjectionEnable": True,
    # Small files: a fresh one is made for each test.
    "mappedFileSizeCommitLog": 16 << 20,
    "mappedFileSizeConsumeQueue": 20 * 5000,
    "maxHashSlotNum": 10_000,
    "maxIndexNum": 40_000,
    "mappedFileSizeTimerLog": 1 << 20,
    # No message expires because the clock was moved.
    "fileReservedTime": 24 * 365 * 20,
    # How full the machine's disk is, and how slow, is no concern of a test.
    "diskSpaceWarningLevelRatio": 100,
    "diskSpaceCleanForciblyRatio": 100,
    "brokerFastFailureEnable": False,
    "syncFlushTimeout": 60_000,
}


class EndpointPorts(TypedDict, total=False):
    """Ports on 127.0.0.1; free ones are taken for those that are missing."""

    namesrv: int
    broker: int
    http: int
    grpc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """The arguments of `endpoint`: see there."""

    settings: Mapping[str, Setting]
    acl: str | Path | Sequence[Mapping[str, object]] | None
    faults: tuple[str, ...]
    topics: Mapping[str, int]
    ports: EndpointPorts
    store: Path | None
    log_level: str
    start_seconds: float


def by_name(topics: str | Mapping[str, int] | Iterable[str], queues: int) -> dict[str, int]:
    """Topics as their names and numbers of queues; `queues` is for those that are only named."""
    return dict(topics) if isinstance(topics, Mapping) else dict.fromkeys(texts(topics), queues)


def texts(several: str | Iterable[str]) -> tuple[str, ...]:
    """Texts, of which a single one may be given as it is: it is not split into its characters."""
    return (several,) if isinstance(several, str) else tuple(several)


def arguments(options: EndpointSettings, *, ports: EndpointPorts, store: Path, accounts: Path | None) -> list[str]:
    """The arguments of `rocketwire serve`."""
    found = [f"--{name}=127.0.0.1:{port}" for name, port in ports.items()]
    found += [f"--store={store}", f"--log-level={options.log_level}"]
    if accounts is not None:
        found.append(f"--acl={accounts}")
    for name, value in {**_DEFAULTS, **options.settings}.items():
        found += ["--set", f"{name}={_text(value)}"]
    for rule in options.faults:
        found += ["--fault", rule]
    return found


def _text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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
