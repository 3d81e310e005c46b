"""The log line of a round of the back-check."""

from __future__ import annotations

import logging

import pytest

from rocketwire.server.transactions.round_report import RoundReport


def logged(report: RoundReport, caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    caplog.clear()
    caplog.set_level("INFO")
    report.log_summary()
    return [(record.levelno, record.getMessage()) for record in caplog.records]


def test_all_counts_are_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    report = RoundReport()
    report.sent, report.moved, report.missing, report.failed = 1, 2, 3, 4
    report.without_producer["P"] = 5
    report.too_long["Q"] = 6
    line = (
        "transaction check: of the undecided half messages 2 were given up and moved to TRANS_CHECK_MAX_TIME_TOPIC; "
        "3 are gone from the log, undecided; 4 cannot be checked; 6 are too long to ask about, of producer group Q (6)"
        "; 5 have no producer here to be asked, of producer group P (5); 1 were asked about"
    )
    assert logged(report, caplog) == [(logging.WARNING, line)]
