"""Records a session of the command line as a picture: `python -m tools.record_session` writes docs/session.svg.

It starts a server of its own on free ports and runs each command as a reader would.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURE: Final = ROOT / "docs" / "session.svg"
COMMANDS: Final = (
    "topic create Orders --queues 2",
    "message send Orders first second third --tag paid --key 4711",
    "message tail Orders",
    "message query Orders --key 4711",
    "group create billing",
    "offset reset billing --topic Orders --to earliest",
    "group lag billing",
    "topic stats Order",
    "cluster show",
    "top --once",
    "topic delete Orders --yes",
)
_WIDTH: Final = 110
_WITHIN: Final = 30.0


def main() -> None:
    """Write the picture."""
    console = Console(record=True, width=_WIDTH, file=Path(os.devnull).open("w"), force_terminal=True)  # noqa: SIM115
    with served() as name_server:
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "bold green"), (f"rocketwire {command}", "bold")))
            ran = subprocess.run(
                [sys.executable, "-m", "rocketwire", *command.split()],
                env={**os.environ, "ROCKETWIRE_NAMESRV": name_server},
                capture_output=True,
                text=True,
                check=False,
            )
            for line in (ran.stdout + ran.stderr).splitlines():
                console.print(Text(line), overflow="ellipsis", no_wrap=True)
    picture = console.export_svg(title="rocketwire")
    # Without the fonts that a browser would load from elsewhere.
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL), encoding="utf-8")


@contextmanager
def served() -> Iterator[str]:
    """A server on free ports; its name server's address."""
    name_server, broker = (f"127.0.0.1:{port}" for port in free_ports(2))
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-m", "rocketwire", "serve", "--namesrv", name_server, "--broker", broker]
        server = subprocess.Popen([*program, "--store", folder], stderr=subprocess.DEVNULL)
        try:
            await_listener(name_server)
            yield name_server
        finally:
            server.terminate()
            server.wait(_WITHIN)


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on, two apart: a broker takes the second one below its own, too."""
    with closing(socket.create_server(("127.0.0.1", 0))) as first:
        start = int(first.getsockname()[1])
    return [start + 3 * number for number in range(count)]


def await_listener(address: str) -> None:
    """Wait until something listens there."""
    host, _, port = address.partition(":")
    end = time.monotonic() + _WITHIN
    while True:
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            time.sleep(0.5)  # the broker registers
            return


if __name__ == "__main__":
    main()
