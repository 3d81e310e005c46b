"""The programs of docs/python-client.md, as they are printed, one after the other against a real server."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import trustme
import uvicorn

from compat_tests import readme
from rocketwire.remoting import Message, Producer
from tests.cli.endpoint import Addresses, real_endpoint

BLOCKS = readme.blocks((readme.ROOT / "docs" / "python-client.md").read_text(encoding="utf-8"))
GUARDED = "Use an account and TLS 1"
WEB = "Use it in a FastAPI service 1"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    with real_endpoint(tmp_path_factory.mktemp("store")) as addresses:
        with Producer("P", str(addresses.name_server)) as producer:
            producer.send(Message("Orders", b"not yet", tags="records"))
        yield addresses


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The address of a web service that runs in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, lifespan="on"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def answer(request: Request | str) -> Any:
    with urlopen(request, timeout=60) as found:
        return json.load(found)


def test_the_programs_run_one_after_the_other(endpoint: Addresses, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {
        "Send a message 1": "SendStatus.OK",
        "Consume in a group 1": "Orders b'two books' ('ORDER-7',) 0",
        "Fetch from queues that you choose 1": "b'two books'",
        "Read a topic again from a time on 1": "0 ",
        "Use it with asyncio or trio 1": "b'hello'",
    }
    for name, block in BLOCKS.items():
        if name not in {GUARDED, WEB}:
            assert "127.0.0.1:9876" in block
            exec(block.replace("127.0.0.1:9876", str(endpoint.name_server)), {"__name__": "__main__"})
            assert expected.get(name, "") in capsys.readouterr().out, name


def test_the_web_service_sends_and_consumes(endpoint: Addresses) -> None:
    module: dict[str, Any] = {"__name__": "shop"}
    exec(BLOCKS[WEB].replace("127.0.0.1:9876", str(endpoint.name_server)), module)
    with served(module["app"]) as url:
        assert len(answer(Request(f"{url}/parcels", b"two books"))["message_id"]) == 32
        deadline = time.monotonic() + 60
        while answer(f"{url}/parcels") != ["two books"]:
            assert time.monotonic() < deadline


def test_the_program_with_an_account_and_tls_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    tls, accounts = tmp_path / "tls.properties", tmp_path / "plain_acl.yml"
    tls.write_text(
        "tls.test.mode.enable=false\n"
        f"tls.server.certPath={tmp_path / 'server.pem'}\n"
        f"tls.server.keyPath={tmp_path / 'server.pem'}\n"
    )
    accounts.write_text("accounts:\n- accessKey: rocketwire\n  secretKey: '12345678'\n  admin: true\n")
    monkeypatch.chdir(tmp_path)
    changes: dict[str, Any] = {
        "tls_config_file": str(tls),
        "tls_server_mode": "enforcing",
        "acl_enable": True,
        "acl_file": str(accounts),
    }
    with real_endpoint(tmp_path / "store", **changes) as endpoint:
        exec(BLOCKS[GUARDED].replace("127.0.0.1:9876", str(endpoint.name_server)), {"__name__": "__main__"})
