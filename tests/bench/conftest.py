from pathlib import Path

import pytest

from bench.tools import build_load


@pytest.fixture(scope="session")
def load() -> Path:
    """The raw load generator, built when its sources have changed."""
    return build_load()
