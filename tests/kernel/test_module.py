"""The running kernel is the chosen one."""

import os
from pathlib import Path

from rocketwire import native


def test_the_kernel_is_the_one_that_was_named() -> None:
    assert native.kernel is not None
    assert native.kernel.__name__ == "rocketwire._kernel"
    named = os.environ.get("ROCKETWIRE_KERNEL", "native")
    if named.endswith(".so"):
        assert Path(native.kernel.__file__ or "").samefile(named)
