"""`Http2` and its twin say and send the same, whatever clients and sessions do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from rocketwire import native
from rocketwire.wire.http2.connection import PythonHttp2
from tests.kernel.fuzz.http2 import http2
from tests.wire.http2.sound_clients import SoundClients
from tests.wire.http2.strategies import ANY_SCRIPTS, SCRIPTS_OF_STEPS

kernel: Any = native.kernel


@given(SCRIPTS_OF_STEPS)
def test_scripts_of_steps(script: bytes) -> None:
    http2(script)


@given(ANY_SCRIPTS)
def test_scripts_of_any_bytes(script: bytes) -> None:
    http2(script)


class KernelAndTwin(SoundClients):
    makes = (PythonHttp2, kernel.Http2)


KernelAndTwin.TestCase.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
test_sound_clients = pytest.mark.costly(KernelAndTwin.TestCase)
