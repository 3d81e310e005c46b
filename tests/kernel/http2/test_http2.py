"""`Http2` does what its twin does: the same scenarios."""

from typing import Any

import pytest

from rocketwire import native
from tests.wire.http2.client import LIMITS
from tests.wire.http2.scenarios.all import SCENARIOS, Scenario

kernel: Any = native.kernel


def test_the_library_is_loaded() -> None:
    assert kernel.nghttp2_version().startswith("1.")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: Scenario) -> None:
    scenario(kernel.Http2)


@pytest.mark.parametrize("answer", [[1, b""], (1,), ("1", b""), (1, "text"), (1 << 70, b"")])
def test_an_answer_is_a_stream_and_a_message(answer: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        kernel.Http2(**LIMITS).unary_each([answer])


def test_no_call_has_such_a_stream() -> None:
    kernel.Http2(**LIMITS).unary_each([(0, b""), (-1, b""), (1, b""), (1 << 40, b"")])
