from __future__ import annotations

import io


class Terminal(io.StringIO):
    """Says that it is one."""

    def isatty(self) -> bool:
        return True
