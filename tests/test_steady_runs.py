"""A run takes SIGINT, however it was started, since its tests interrupt what they start."""

from __future__ import annotations

import signal

import pytest

from tests import steady_runs


@pytest.mark.parametrize(
    ("before", "after"),
    [(signal.SIG_IGN, signal.default_int_handler), (signal.SIG_DFL, signal.SIG_DFL)],
    ids=["ignored", "default"],
)
def test_only_an_ignored_signal_is_taken_again(before: signal.Handlers, after: object) -> None:
    kept = signal.signal(signal.SIGINT, before)
    try:
        steady_runs.pytest_configure()
        assert signal.getsignal(signal.SIGINT) == after
    finally:
        signal.signal(signal.SIGINT, kept)
