"""Records a session of the command line as a picture: `python -m tools.record_session` writes docs/session.svg.

It starts a server on free ports and runs each command as a reader would.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from rocketwire.testing import endpoint

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


def main() -> None:
    """Write the picture."""
    console = Console(record=True, width=_WIDTH, file=Path(os.devnull).open("w"), force_terminal=True)  # noqa: SIM115
    with endpoint() as started:
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "bold green"), (f"rocketwire {command}", "bold")))
            ran = subprocess.run(
                [sys.executable, "-m", "rocketwire", *command.split()],
                env={**os.environ, "ROCKETWIRE_NAMESRV": started.namesrv},
                capture_output=True,
                text=True,
                check=False,
            )
            for line in (ran.stdout + ran.stderr).splitlines():
                console.print(Text(line), overflow="ellipsis", no_wrap=True)
    picture = console.export_svg(title="rocketwire")
    # Without the fonts that a browser would load from elsewhere.
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
