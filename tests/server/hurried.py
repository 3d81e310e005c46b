"""`rocketwire` with short times, for a process that tests cannot change: `python -m tests.server.hurried FILE serve …`.

Silent peers are forgotten after `EXPIRY_SECONDS`, and the wall clock is as many ms ahead of the machine's as the file
says.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rocketwire.cli import main
from rocketwire.server import run
from rocketwire.server.clients import groups
from rocketwire.server.core.clocks import clock, waiting
from rocketwire.server.name_server import registration, routes

EXPIRY_SECONDS = 6.0


def hurry(file: Path) -> None:
    """Set the short times."""
    for module, name, value in (
        (groups, "CLIENT_EXPIRY_SECONDS", EXPIRY_SECONDS),
        (groups, "_SCAN_SECONDS", 0.2),
        (routes, "BROKER_EXPIRY_SECONDS", EXPIRY_SECONDS),
        (routes, "_SCAN_SECONDS", 0.2),
        (registration, "PERIOD_SECONDS", 1.0),
        (waiting, "_LATE_SECONDS", 1.0),
        (run, "system_clock", lambda: clock.system_clock() + int(file.read_text())),
    ):
        assert hasattr(module, name)
        setattr(module, name, value)


if __name__ == "__main__":
    hurry(Path(sys.argv.pop(1)))
    sys.exit(main(sys.argv[1:]))
