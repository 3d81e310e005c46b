"""`Http2` does what its twin does: the same scenarios."""

from typing import Any

import pytest

from rocketwire import native
from tests.wire.http2.scenarios.all import SCENARIOS, Scenario

kernel: Any = native.kernel


def test_the_library_is_there() -> None:
    assert kernel.nghttp2_version().startswith("1.")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: Scenario) -> None:
    scenario(kernel.Http2)
