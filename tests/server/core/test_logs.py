"""The log on stderr: lines for people, or JSON of which every line is an object."""

from __future__ import annotations

import ast
import json
import logging
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocketwire.server.core import logs
from rocketwire.server.core.logs import JSON, log_startup_error, start_logging
from rocketwire.wire.facts.codes import RequestCode
from tests.server.processes import ROOT, Caller, Process, process

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def parsed(text: str) -> list[dict[str, Any]]:
    """Every line, each of which must be a JSON object with the common fields."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        assert list(line)[:4] == ["time", "level", "event", "logger"]
        assert TIME.fullmatch(line["time"])
    return lines


def rendered(*arguments: Any, **options: Any) -> dict[str, Any]:
    """One record as JSON."""
    record = logging.getLogger("rocketwire.test").makeRecord("rocketwire.test", *arguments, **options)
    (line,) = parsed(logs._json().format(record))
    return line


@pytest.mark.parametrize(("form", "expected"), [("console", "INFO broker-b: ready"), ("json", '"broker": "broker-b"')])
def test_each_line_names_one_of_several_brokers(form: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    former, level, root.handlers = root.handlers, root.level, []
    try:
        with pytest.MonkeyPatch.context() as patch:
            for hook in ("sys.excepthook", "sys.unraisablehook", "threading.excepthook", "logging.captureWarnings"):
                patch.setattr(hook, lambda *_, **__: None)
            logs.start_logging(form, "info", "broker-b")
            logging.getLogger("rocketwire.test").warning("ready")
    finally:
        root.handlers = former
        root.setLevel(level)
    assert expected.replace("INFO", "WARNING") in capsys.readouterr().err


def test_a_record_has_fields() -> None:
    extra = {"peer": "127.0.0.1:1", "code": 10, "odd": {1, 2}.__class__}
    line = rendered(logging.WARNING, "f", 1, "closing %s\n\u2028: %d", ("x", 5), None, extra=extra)
    del line["time"]
    assert line == {
        "level": "warning",
        "event": "closing x\n\u2028: 5",
        "logger": "rocketwire.test",
        "peer": "127.0.0.1:1",
        "code": 10,
        "odd": "<class 'set'>",
    }


def test_the_event_is_the_text_and_the_values_are_fields() -> None:
    values = {"topic": "T", "offset": 7, "took": 1.25, "reason": ValueError("why"), "again": None}
    text = "%(topic)s, %(offset)08d: %(reason)s, 5 %% after %(took).1f s"
    line = rendered(logging.INFO, "f", 1, text, (values,), None)
    assert line["event"] == "{topic}, {offset}: {reason}, 5 % after {took} s"
    assert line["topic"] == "T"
    assert (line["offset"], line["took"], line["reason"], line["again"]) == (7, 1.25, "why", None)
    assert written(text, (values,), None).endswith("ERROR T, 00000007: why, 5 % after 1.2 s")


def test_a_startup_line_has_its_event() -> None:
    extra = {"event": "wrong use"}
    line = rendered(logging.ERROR, "f", 1, "%(reason)s", ({"reason": "x=1: unknown"},), None, extra=extra)
    assert (line["event"], line["reason"]) == ("wrong use", "x=1: unknown")


CALLS = {f"log.{name}" for name in ("log", "exception", "critical", *logs.LEVELS)}


def log_calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call of a module's log."""
    for room in ("server", "store"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_every_call_names_its_values() -> None:
    """Otherwise JSON has no fields: the text of a call is constant, and its one other argument a dictionary."""
    for place, call in log_calls():
        arguments = call.args[1:] if ast.unparse(call.func) == "log.log" else call.args
        if not isinstance(arguments[0], ast.Constant):
            assert place.startswith("server/core/logs.py"), f"{place}: the text is not constant"
            continue
        wanted = set(re.findall(r"%\((\w+)\)", str(arguments[0].value)))
        named = [
            ast.literal_eval(key) for each in arguments[1:] if isinstance(each, ast.Dict) for key in each.keys if key
        ]
        assert len(arguments) == 1 + bool(wanted), f"{place}: one dictionary has the values"
        assert set(named) == wanted, place
        assert not wanted & {*logs._FIRST, "exception"}, f"{place}: a name that every line has"


def written(*arguments: Any) -> str:
    """One record as it is written for people."""
    record = logging.getLogger("rocketwire.test").makeRecord("rocketwire.test", logging.ERROR, "f", 1, *arguments)
    return logs._Console(logs._LINE).format(record)


FORGED = "x\n2026-11-22 04:00:00,000 ERROR forged\x1b[31m\x9b\u2028\u202e\ud800"
ESCAPED = r"x\n2026-11-22 04:00:00,000 ERROR forged\x1b[31m\x9b\u2028\u202e\ud800"


def test_texts_of_clients_make_no_lines_for_people() -> None:
    line = written("broker %s, näher 生产\ttab", (FORGED,), None)
    assert line.endswith(f" ERROR broker {ESCAPED}, näher 生产\\ttab")
    line.encode()


def test_a_traceback_for_people_has_no_line_like_a_record() -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is what the test is about
        raise ValueError(FORGED)
    first, *lines = written("bug of %s", (FORGED,), (caught.type, caught.value, caught.tb)).splitlines()
    assert first.endswith(f" ERROR bug of {ESCAPED}")
    assert lines[0] == "  Traceback (most recent call last):"
    assert lines[-2:] == ["  ValueError: x", "  " + ESCAPED.partition("\\n")[2]]
    assert all(line.startswith("  ") for line in lines)


def test_texts_of_clients_are_cut() -> None:
    """Names in headers have up to a megabyte, and a line may be logged for each request."""
    cut = "x" * (4096 - len("group ")) + f" … ({2**20 - 4096 + len('group ')} more characters)"
    assert written("group %s", ("x" * 2**20,), None).startswith("2")
    assert len(written("group %s", ("x" * 2**20,), None)) < 4200
    line = rendered(logging.INFO, "f", 1, "group %s", ("x" * 2**20,), None, extra={"group": "y" * 5000, "queue": 3})
    assert line["event"] == "group " + cut
    assert line["group"] == "y" * 4096 + " … (904 more characters)"
    assert line["queue"] == 3
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is what the test is about
        raise ValueError("z" * 2**20)
    trace = caught.type, caught.value, caught.tb
    assert len(written("bug", (), trace)) < 66_000
    assert len(rendered(logging.ERROR, "f", 1, "bug", (), trace)["exception"]) < 66_000


def broken(secret: str) -> None:
    raise ExceptionGroup("several", [ValueError(len(secret))])


def test_a_record_with_an_exception_has_no_values_of_variables() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        broken("s3" + "cret")
    line = rendered(logging.ERROR, "f", 1, "bug", (), (caught.type, caught.value, caught.tb))
    assert "ValueError: 6" in line["exception"]
    assert "s3cret" not in json.dumps(line)


@pytest.mark.slow
def test_every_line_of_a_session_is_json(tmp_path: Path) -> None:
    with process(
        tmp_path / "store", "--log-format", "json", "--set", "highSpeedMode=true", "--http", "0.0.0.0:0"
    ) as server:
        host, _, port = server.broker.rpartition(":")
        with socket.create_connection((host, int(port))) as garbage:
            garbage.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert garbage.recv(1000) == b""
            peer = ":".join(map(str, garbage.getsockname()))
        with Caller(server.broker) as client:
            client.request(RequestCode.GET_ALL_TOPIC_CONFIG)
        code, errors = server.end()
    assert code == 0
    lines = parsed(errors)
    events = [line["event"] for line in lines]
    assert events[0] == "setting without effect"
    assert (lines[0]["level"], lines[0]["reason"][:14]) == ("warning", "highSpeedMode:")
    (closing,) = [line for line in lines if line["event"] == "closing {peer}: {reason}"]
    assert (closing["level"], closing["logger"], closing["peer"]) == ("warning", "rocketwire.server.net.session", peer)
    assert any("is open to all" in event for event in events)
    assert events[-1] == "stopped: {messages_in} messages in, {messages_out} out"
    assert (lines[-1]["messages_in"], lines[-1]["messages_out"]) == (0, 0)
    assert [line["signal"] for line in lines if line["event"] == "stopping: {signal}"] == ["SIGTERM"]


@pytest.mark.slow
def test_a_failing_start_is_logged_as_json(tmp_path: Path) -> None:
    (tmp_path / "holiday.txt").touch()
    code, errors = Process(tmp_path, "--log-format", "json").result()
    assert code == 2
    assert parsed(errors)[-1]["event"] == "the server cannot run"
    assert parsed(errors)[-1]["reason"].startswith(f"{tmp_path} cannot be used as a RocketMQ store: ")
    code, errors = Process(tmp_path, "--log-format", "json", "--set", "listenPort=x").result()
    (line,) = parsed(errors)
    assert (code, line["level"]) == (2, "error")
    assert (line["event"], line["reason"][:22]) == ("wrong use", "listenPort=x: expected")


@pytest.mark.slow
def test_only_records_of_the_wanted_level_are_logged(tmp_path: Path) -> None:
    with process(tmp_path / "store", "--log-level", "warning", "--http", "0.0.0.0:0") as server:
        _, errors = server.end()
    (line,) = errors.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} WARNING HTTP on \S+ is open to all .*", line)


UNCAUGHT = """
import sys, threading, warnings
from rocketwire.server.core.logs import start_logging
start_logging("json", "info")
warnings.warn("old")
thread = threading.Thread(target=lambda: 1 / 0, name="worker")
thread.start()
thread.join()
class Odd:
    def __del__(self):
        raise KeyError("gone")
Odd()
raise LookupError("two\\nlines")
"""


def test_uncaught_errors_are_logged_as_json() -> None:
    done = subprocess.run([sys.executable, "-c", UNCAUGHT], cwd=ROOT, capture_output=True, text=True, check=False)
    warning, thread, unraisable, uncaught = parsed(done.stderr)
    assert done.returncode == 1
    assert (warning["level"], warning["logger"]) == ("warning", "py.warnings")
    assert "UserWarning: old" in warning["event"]
    assert (thread["event"], thread["thread"]) == ("thread {thread} ended", "worker")
    assert "ZeroDivisionError" in thread["exception"]
    assert "Odd.__del__" in f"{unraisable['object']} {unraisable['what']}"  # from 3.14 on in the text
    assert "KeyError: 'gone'" in unraisable["exception"]
    assert (uncaught["level"], uncaught["event"]) == ("critical", "uncaught exception")
    assert uncaught["exception"].endswith("LookupError: two\nlines")


# --- without a process ---


@pytest.fixture
def restored_logging(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore what start_logging sets for the whole process."""
    for owner, name in ((sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook")):
        monkeypatch.setattr(owner, name, getattr(owner, name))


def test_hooks_without_an_exception_or_a_thread(restored_logging: None, caplog: pytest.LogCaptureFixture) -> None:
    nothing: Any = SimpleNamespace(
        exc_type=ValueError, exc_value=None, exc_traceback=None, err_msg=None, object=5, thread=None
    )
    logs._unraisable(nothing)
    logs._ended_thread(nothing)
    logs._uncaught(ValueError, ValueError("x"), None)
    assert caplog.messages == ["exception ignored in 5", "thread None ended", "uncaught exception"]


@pytest.mark.parametrize("form", logs.FORMATS)
def test_hooks_are_set_for_json_only(form: str, restored_logging: None) -> None:
    try:
        start_logging(form, "info")
        assert (sys.excepthook is logs._uncaught) is (form == JSON)
        assert (threading.excepthook is logs._ended_thread) is (form == JSON)
    finally:
        logging.captureWarnings(capture=False)


@pytest.mark.parametrize(("level", "shown"), [(logging.ERROR, ""), (logging.WARNING, "warning: ")])
def test_malformed_options_are_refused(
    level: int, shown: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    log_startup_error(logs.CONSOLE, "50 % of it", level=level)
    assert capsys.readouterr().err == f"rocketwire: {shown}50 % of it\n"
    assert caplog.records == []
    log_startup_error(JSON, "50 % of it", level=level)
    assert capsys.readouterr().err == ""
    assert [(each.levelno, each.message) for each in caplog.records] == [(level, "50 % of it")]


def test_json_is_imported_only_if_wanted() -> None:
    code = "import sys; import rocketwire.server.run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"structlog", "h11", "prometheus_client"}.isdisjoint(done.stdout.split())
