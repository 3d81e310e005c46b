"""The cost of access control: signed sends to rocketwire and to Apache's broker with the same accounts, and without.

Theory: the signature covers a header's fields and the body but not the opaque, so a block of sends is signed once and
sent repeatedly; both brokers check each send. A connection keeps a number of sends in flight, in a closed loop; answers
are counted, and the broker's processor time for each. Both brokers reload their accounts when the file changes: a white
list for all addresses is removed after the start, whose first send is not signed.

    python -m bench.access [--rounds 3] [--seconds 3]
"""

from __future__ import annotations

import argparse
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from bench.ports import Ports
from bench.processes import cpu_seconds
from bench.sides import Apache, Rocketwire, Setup, Side
from bench.tools import build_load
from compat_tests import acl_cases
from compat_tests.acl_cases import Question, Who
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header

KEY, SECRET = "bench-account", "bench-secret"
TOPIC: Final = "BenchFirst"
"""The one that the start's first send makes."""
_SEND_MESSAGE_V2: Final = 310
WINDOW: Final = 64
_PASSED: Final = b'{"code":0,'
_REFUSED: Final = b'{"code":1,'
_WARM_UP: Final = 2.0
_ACCOUNTS: Final = f"""\
accounts:
- accessKey: {KEY}
  secretKey: {SECRET}
  admin: false
  defaultTopicPerm: PUB|SUB
  defaultGroupPerm: PUB|SUB
"""


class GuardedApache(Apache):
    """Apache's broker with a single account."""

    name = "Apache with ACL"
    settings: Mapping[str, str] = {**Apache.settings, "aclEnable": "true"}

    def __init__(self, setup: Setup, root: Path) -> None:
        accounts = root / "home" / "conf" / "plain_acl.yml"
        open_to_all(accounts)
        super().__init__(setup, root)
        close(accounts, self.broker_port)


class Guarded(Rocketwire):
    """rocketwire with the same account."""

    name = "rocketwire with ACL"

    def __init__(self, setup: Setup, root: Path) -> None:
        accounts = root / "plain_acl.yml"
        self.settings = {"aclEnable": "true", "aclFile": str(accounts)}
        open_to_all(accounts)
        super().__init__(setup, root)
        close(accounts, self.broker_port)


def open_to_all(accounts: Path) -> None:
    """Write the accounts, and a white list of all addresses."""
    accounts.parent.mkdir(parents=True, exist_ok=True)
    accounts.write_text("globalWhiteRemoteAddresses:\n- 127.0.0.1\n" + _ACCOUNTS, "utf-8")


def close(accounts: Path, port: int) -> None:
    """Remove the white list, and wait until the broker has noticed.

    Raises:
        TimeoutError: it has not within 30 s.
    """
    accounts.write_text(_ACCOUNTS, "utf-8")
    deadline = time.monotonic() + 30
    while _once(port, send(signed=False)) == _PASSED:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the broker on port {port} still lets everybody in")
        time.sleep(0.2)
    if _once(port, send(signed=True)) != _PASSED:
        raise RuntimeError("a signed send is refused")


def send(*, signed: bool) -> bytes:
    """A send of 100 bytes as a Java client's hook signs it, or unsigned."""
    names: dict[str, str] = {"a": "bench", "b": TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"}
    fields = {**names, "i": "", "j": "0", "k": "false", "m": "false"}
    question = Question(_SEND_MESSAGE_V2, fields, "\0" * 100)
    ask = acl_cases.signed(question, Who(KEY, SECRET) if signed else Who(None))
    ext = {name: str(value) for name, value in ask.fields.items()}
    return encode_frame(Header(code=ask.code, opaque=7, flag=0, version=407, ext=ext), ask.body, 0)


def _once(port: int, frame: bytes) -> bytes:
    """How the answer to one request begins."""
    with socket.create_connection(("127.0.0.1", port), 10) as sock:
        sock.sendall(frame)
        data = b""
        while _PASSED not in data and _REFUSED not in data:
            received = sock.recv(65536)
            if not received:
                raise ConnectionError(data)
            data += received
        return _PASSED if _PASSED in data else _REFUSED


class Sample(NamedTuple):
    """Sends answered a second, and the broker's processor time for each in us."""

    rate: float
    cpu: float


def measure(side: Side, seconds: float, *, signed: bool) -> Sample:
    """Keep a number of sends in flight on one connection for so long.

    Raises:
        RuntimeError: one was refused.
    """
    frame = send(signed=signed)
    with socket.create_connection(("127.0.0.1", side.broker_port), 10) as sock:
        loop(sock, frame, _WARM_UP)
        before, began = cpu_seconds(side.pid), time.monotonic()
        answered = loop(sock, frame, seconds)
        took, cpu = time.monotonic() - began, cpu_seconds(side.pid) - before
    return Sample(answered / took, cpu / answered * 1e6)


def loop(sock: socket.socket, frame: bytes, seconds: float) -> int:
    """Send, and return how many were answered; at the end all are."""
    deadline = time.monotonic() + seconds
    asked = answered = 0
    rest = b""
    while True:
        if time.monotonic() < deadline:
            more = WINDOW - (asked - answered)
            sock.sendall(frame * more)
            asked += more
        elif asked == answered:
            return answered
        data = rest + sock.recv(1 << 16)
        cut = max(data.rfind(b'{"code":'), 0)
        cut = len(data) if data.endswith(b"}") else cut  # the last answer may not be whole
        if _REFUSED in data[:cut]:
            raise RuntimeError(data[:cut])
        answered += data.count(_PASSED, 0, cut)
        rest = data[cut:]


def main() -> None:
    """Measure the three in turns, and print medians."""
    parser = argparse.ArgumentParser(description="What access control costs.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    makers: tuple[Callable[[Setup, Path], Side], ...] = (GuardedApache, Guarded, Rocketwire)
    sides: list[Side] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        setup = Setup(flush="async", load=build_load(), ports=Ports())
        try:
            sides.extend(make(setup, Path(folder) / str(number)) for number, make in enumerate(makers))
            samples: dict[str, list[Sample]] = {side.name: [] for side in sides}
            for _ in range(options.rounds):
                for side in sides:
                    samples[side.name].append(
                        measure(side, options.seconds, signed=isinstance(side, GuardedApache | Guarded))
                    )
        finally:
            for side in sides:
                side.stop()
    for name, found in samples.items():
        rates, cpus = [each.rate for each in found], [each.cpu for each in found]
        sys.stdout.write(
            f"{name}: {min(rates):,.0f} / {median(rates):,.0f} / {max(rates):,.0f} a second,"
            f" {min(cpus):.1f} / {median(cpus):.1f} / {max(cpus):.1f} us\n"
        )


if __name__ == "__main__":
    main()
