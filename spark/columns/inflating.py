"""Inflates compressed bodies: the only step that is done body by body."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire.spark.errors import PackageMissing
from rocketwire.wire.compression import decompress
from rocketwire.wire.errors import CompressionUnavailable, WireError
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.java import INT32_MAX

#: A body that inflates to more counts as damaged, as in `rocketwire store cat`: by default brokers accept 4 MiB.
_MOST_INFLATED: Final = 256 << 20
#: Bodies of one batch inflate to no more than this, so that it stays small; a single one may be larger.
_MOST_TOGETHER: Final = 32 << 20


def inflated(bodies: pa.Array, sys_flags: NDArray[np.int32]) -> tuple[pa.Array, NDArray[np.bool_] | None]:
    """The bodies as the producers' applications had them, and which could not be inflated: those are null.

    The second is None where all could be.

    Raises:
        ValueError: together they are too large: take fewer.
        PackageMissing: a package that inflates is not installed.
    """
    compressed = (sys_flags & SysFlag.COMPRESSED) != 0
    rows = np.flatnonzero(compressed)
    if not len(rows):
        return bodies, None
    import pyarrow.compute as pc

    found: list[bytes | None] = []
    room = INT32_MAX - bodies.nbytes
    room = room if len(bodies) == 1 else min(room, _MOST_TOGETHER)
    for row in rows.tolist():
        body = _inflated(memoryview(bodies[row].as_buffer()), int(sys_flags[row]))
        found.append(body)
        room -= 0 if body is None else len(body)
        if room < 0:
            raise ValueError(f"{len(bodies)} bodies are too large together when they are inflated")
    whole: pa.Array = pc.replace_with_mask(bodies, pa.array(compressed), pa.array(found, bodies.type))
    bad = np.zeros(len(bodies), bool)
    bad[rows] = [body is None for body in found]
    return whole, bad if bad.any() else None


def _inflated(body: memoryview, sys_flag: int) -> bytes | None:
    try:
        return decompress(body, sys_flag, max_size=_MOST_INFLATED)
    except CompressionUnavailable as missing:
        raise PackageMissing(str(missing), f"pip install {missing.package} where Spark's workers run") from missing
    except WireError:
        return None
