from __future__ import annotations

from tests.kernel.relay.relay_support import close_pairs

__all__ = ["close_pairs"]
