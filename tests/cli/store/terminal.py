from __future__ import annotations

import io


class Terminal(io.StringIO):
    """Reports to be a terminal."""

    def isatty(self) -> bool:
        return True
