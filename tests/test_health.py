import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rocketwire import health
from rocketwire.cli import main

READY = b'HTTP/1.1 200 \r\ncontent-type: application/json\r\n\r\n{"ready": true, "checks": {"store": "ok"}}\n'
FULL = '{"ready": false, "checks": {"store": "the disk is full", "timer": "ok"}}'
NOT_READY = f"HTTP/1.1 503 \r\n\r\n{FULL}\n".encode()


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """A server that gives each connection this answer; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with listening.accept()[0] as connection:
                assert connection.recv(4096).startswith(b"GET /readyz HTTP/1.1\r\n")
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join(10)


@pytest.mark.parametrize(
    ("answer", "code", "line"),
    [
        (READY, 0, '{"ready": true'),
        (NOT_READY, 1, FULL),
        (b"SSH-2.0\r\n", 3, "the answer is not HTTP"),
        (b"", 3, ""),
    ],
)
def test_what_a_server_answers(answer: bytes, code: int, line: str) -> None:
    with answering(answer) as address:
        found, text = health.check(address)
    assert found == code
    assert text.startswith(line)


def test_a_server_on_all_addresses_is_queried_on_this_machine() -> None:
    with answering(READY) as address:
        port = address.rpartition(":")[2]
        assert health.check(f"0.0.0.0:{port}")[0] == 0


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("127.0.0.1:1", 3),
        ("[::1]:1", 3),
        ("127.0.0.1:99999", 3),
        ("127.0.0.1", 2),
        ("", 2),
        ("a" * 70 + ".example:1", 3),
    ],
)
def test_no_server(address: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    found, line = health.check(address)
    assert found == code
    assert line
    assert main(["health", "--http", address]) == code
    assert capsys.readouterr() == ("", f"rocketwire: {address}: {line}\n")


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(READY) as address:
        monkeypatch.setenv("ROCKETWIRE_SERVE_HTTP", address)
        assert main(["health"]) == 0
    assert capsys.readouterr() == (f"{address}: ready\n", "")
    with answering(NOT_READY) as address:
        assert main(["health", "--http", address]) == 1
    assert capsys.readouterr() == (f"{address}: store: the disk is full\n", "")
    with answering(NOT_READY) as address:
        assert main(["health", "--http", address, "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"http": address, **json.loads(FULL)}


def test_an_answer_of_something_else(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(b"HTTP/1.1 200 OK\r\n\r\n<html>") as address:
        assert main(["health", "--http", address]) == 3
    assert capsys.readouterr().err == f"rocketwire: {address}: this is no answer of rocketwire: <html>\n"


@pytest.mark.slow
def test_the_module_imports_next_to_nothing() -> None:
    program = "import sys, rocketwire.health as health; print(health.main(), *sys.modules)"
    with answering(READY) as address:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"ROCKETWIRE_SERVE_HTTP": address, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        )
    said, reported = done.stdout.splitlines()
    code, *modules = reported.split()
    assert said.startswith(f"{address}: ")
    assert code == "0"
    assert {name.partition(".")[0] for name in modules}.isdisjoint({"click", "trio", "h11", "numpy", "urllib"})
