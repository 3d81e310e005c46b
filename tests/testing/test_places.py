"""What outlives the server of an endpoint: ports, folder, accounts; and the arguments that follow."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rocketwire.testing.errors import NotStarted
from rocketwire.testing.options import EndpointPorts, EndpointSettings, arguments, by_name, write_accounts
from rocketwire.testing.place import EndpointPlace, TemporaryFolder, base_folder, remove_abandoned
from rocketwire.testing.ports import KeptPorts


def options(**changes: Any) -> EndpointSettings:
    values: dict[str, Any] = {
        "settings": {},
        "acl": None,
        "faults": (),
        "topics": {},
        "ports": EndpointPorts(),
        "store": None,
        "log_level": "info",
        "start_seconds": 60.0,
    }
    return EndpointSettings(**{**values, **changes})


def listening(port: int) -> socket.socket:
    """What a server does with a port."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    sock.listen()
    return sock


# --- ports ---


def test_a_server_listens_on_kept_ports_again_and_again() -> None:
    kept = KeptPorts(EndpointPorts())
    broker = kept.ports["broker"]
    for _ in range(2):
        for port in (kept.ports["namesrv"], broker, broker - 2, kept.ports["http"]):
            with listening(port), socket.create_connection(("127.0.0.1", port)):
                pass
    kept.close()


def test_no_other_process_gets_them() -> None:
    kept = [KeptPorts(EndpointPorts()) for _ in range(20)]
    ports = [port for each in kept for port in (*each.ports.values(), each.ports["broker"] - 2)]
    assert len(set(ports)) == 100
    for each in kept:
        each.close()
        each.close()


def test_ports_that_are_wanted() -> None:
    free = KeptPorts(EndpointPorts())
    free.close()
    kept = KeptPorts(free.ports)
    assert kept.ports == free.ports
    with listening(kept.ports["http"]), pytest.raises(NotStarted, match=f"port {kept.ports['http']}: Address already"):
        KeptPorts(EndpointPorts(http=kept.ports["http"]))
    kept.close()


# --- the folder ---


def test_a_folder_is_removed_when_it_is_closed() -> None:
    folder = TemporaryFolder()
    (folder.path / "file").touch()
    assert folder.path.parent == base_folder()
    folder.close()
    folder.close()
    assert not folder.path.exists()


def test_it_is_in_memory_only_if_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "other"))
    assert base_folder(tmp_path / "missing") == tmp_path / "other"
    monkeypatch.setattr("rocketwire.testing.place._ROOM", 0)
    assert base_folder(tmp_path) == tmp_path
    monkeypatch.setattr("rocketwire.testing.place._ROOM", 1 << 80)
    assert base_folder(tmp_path) == tmp_path / "other"


def test_folders_of_processes_that_were_killed_are_removed(tmp_path: Path) -> None:
    paths = {name: tmp_path / f"rocketwire-test-{name}" for name in ("gone", "lives", "young", "foreign")}
    for name, path in paths.items():
        path.mkdir()
        if name != "foreign":
            (path / "owner").touch()
        if name != "young":
            os.utime(path, (0, 0))
    (tmp_path / "other").mkdir()
    with (paths["lives"] / "owner").open() as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        remove_abandoned(tmp_path)
    left = {path.name.removeprefix("rocketwire-test-") for path in tmp_path.iterdir()}
    assert left == {"lives", "young", "foreign", "other"}


# --- accounts ---


def accounts_at(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["accounts"]
    return found


def test_the_own_account_comes_besides_those_that_are_given(tmp_path: Path) -> None:
    path = tmp_path / "plain_acl.yml"
    own = write_accounts([{"accessKey": "app", "secretKey": "12345678", "defaultTopicPerm": "PUB"}], path)
    assert [each["accessKey"] for each in accounts_at(path)] == ["app", own.access_key]
    assert accounts_at(path)[1] == {"accessKey": own.access_key, "secretKey": own.secret_key, "admin": True}


def test_accounts_of_a_file(tmp_path: Path) -> None:
    given = tmp_path / "given.yml"
    given.write_text("globalWhiteRemoteAddresses:\n- 10.0.0.7\naccounts:\n- accessKey: app\n  secretKey: 12345678\n")
    write_accounts(given, tmp_path / "plain_acl.yml")
    assert [each["accessKey"] for each in accounts_at(tmp_path / "plain_acl.yml")] == ["app", "rocketwire-testing"]
    assert json.loads((tmp_path / "plain_acl.yml").read_text())["globalWhiteRemoteAddresses"] == ["10.0.0.7"]


@pytest.mark.parametrize("content", ["- a\n", "{", None])
def test_a_file_that_is_none_of_accounts(tmp_path: Path, content: str | None) -> None:
    given = tmp_path / "given.yml"
    if content is not None:
        given.write_text(content)
    with pytest.raises(NotStarted, match=r"^acl .*given\.yml: "):
        write_accounts(str(given), tmp_path / "plain_acl.yml")


# --- all of it ---


def test_the_arguments_of_the_server(tmp_path: Path) -> None:
    given = options(settings={"a": True, "mappedFileSizeCommitLog": 5}, faults=("drop",))
    found = arguments(
        given, ports=EndpointPorts(namesrv=1, broker=2, http=3), store=tmp_path, accounts=tmp_path / "acl"
    )
    assert found[:3] == ["--namesrv=127.0.0.1:1", "--broker=127.0.0.1:2", "--http=127.0.0.1:3"]
    assert {f"--store={tmp_path}", f"--acl={tmp_path / 'acl'}", "--log-level=info"} <= set(found)
    settings = dict(each.split("=") for option, each in pairwise(found) if option == "--set")
    assert (settings["a"], settings["mappedFileSizeCommitLog"], settings["movableClock"]) == ("true", "5", "true")
    assert found[-2:] == ["--fault", "drop"]


def test_topics_with_and_without_a_number_of_queues() -> None:
    assert by_name(["A", "B"], 4) == {"A": 4, "B": 4}
    assert by_name({"A": 1}, 4) == {"A": 1}
    assert by_name("Orders", 4) == {"Orders": 4}


def test_a_place_gives_everything_back(tmp_path: Path) -> None:
    place = EndpointPlace(options(store=tmp_path / "mine"))
    folder = place.log.parent
    assert (place.store, place.stays, place.credentials) == (tmp_path / "mine", True, None)
    place.close()
    assert not folder.exists()


def test_a_place_that_cannot_be_had_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.testing.place.base_folder", lambda: tmp_path)
    with pytest.raises(NotStarted, match="acl"):
        EndpointPlace(options(acl=tmp_path / "missing.yml"))
    assert list(tmp_path.iterdir()) == []
