"""Tests of the C kernel itself: where it was not built they fail; where its twin is wanted there is nothing to test."""

import os

import pytest
from hypothesis import HealthCheck, settings

from rocketwire import native

if os.environ.get("ROCKETWIRE_KERNEL") == "python":
    collect_ignore_glob = ["test_*.py"]
elif native.kernel is None:
    raise pytest.UsageError("the kernel is not built: python -m tools.build_kernel, or set ROCKETWIRE_KERNEL=python")
elif not hasattr(native.kernel, "Hub"):  # it needs Linux
    collect_ignore = ["test_hub.py"]

# As in tests/wire.
settings.register_profile("rocketwire", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rocketwire")
