import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import pytest

from rocketwire.cli import main, serve
from rocketwire.cli.environment import check_options
from rocketwire.cli.errors import CommandError
from rocketwire.cli.several_brokers import several_brokers
from rocketwire.server.configuration import ServerConfig
from rocketwire.server.net import addresses
from rocketwire.server.supervising import ServerSettings
from rocketwire.wire.facts.codes import RequestCode
from tests.server.processes import Caller, Process, process

FREE_PORTS = ("--namesrv", "127.0.0.1:0", "--broker", "127.0.0.1:0")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("ROCKETWIRE_SERVE_", "ROCKETWIRE_SET_"))]:
        monkeypatch.delenv(name)


def options(*arguments: str) -> serve.ServeOptions:
    return serve.ServeOptions(**serve.command.make_context("serve", list(arguments)).params)


def configured(*arguments: str) -> ServerConfig:
    check_options(serve.command, os.environ)
    return serve.configuration(options(*arguments), warn=pytest.fail, environment=os.environ)


def acl_path(config: ServerConfig) -> Path:
    return config.acl.path(config.store.folder)


def test_without_options_everything_is_the_default() -> None:
    assert configured() == ServerConfig()


def test_the_addresses() -> None:
    config = configured("--namesrv", "[::1]:19876", "--broker", "127.0.0.2:20911", "--advertise", "broker.example:443")
    assert str(config.name_server) == "[::1]:19876"
    assert str(config.broker.address) == "127.0.0.2:20911"
    assert (config.broker.advertised_host, config.advertised_port) == ("broker.example", 443)


def test_name_server_and_broker_may_be_separate_processes() -> None:
    names = configured("--namesrv", "127.0.0.1:9876", "--broker", "none")
    assert (names.has_broker, str(names.name_server), names.name_servers) == (False, "127.0.0.1:9876", ())
    broker = configured("--namesrv", "none", "--register", "127.0.0.1:9876;127.0.0.2:9876")
    assert (broker.has_broker, broker.name_server) == (True, None)
    assert list(map(str, broker.name_servers)) == ["127.0.0.1:9876", "127.0.0.2:9876"]
    both = configured("--register", "127.0.0.2:9876")
    assert both == replace(ServerConfig(), name_servers=both.name_servers)


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("--namesrv", "none"), "--namesrv none: clients find no broker without a name server; --register names some"),
        (("--register", " ; "), "--register: expected HOST:PORT, several of them with ; between"),
        (("--register", "here"), "--register here: "),
        (("--broker", "none", "--register", "127.0.0.1:1"), "--broker none: a name server alone goes with neither"),
        (("--broker", "none", "--grpc", "none"), "--broker none: --http, --grpc and --fault are a broker's"),
    ],
)
def test_roles_that_do_not_go_together(arguments: tuple[str, ...], reported: str) -> None:
    with pytest.raises(CommandError, match=re.escape(reported)):
        configured(*arguments)


def test_an_address_for_each_network() -> None:
    config = configured("--broker", "127.0.0.2:20911", "--advertise", "neighbours,10.0.0.0/8=10.0.0.9:1")
    assert [str(each.network) for each in config.advertised_networks] == ["None", "10.0.0.0/8"]
    assert (config.broker.advertised_host, config.advertised_port) == ("127.0.0.2", None)


def test_each_option_has_a_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("regionId=r\n")
    variables = {
        "NAMESRV": "0.0.0.0:1",
        "BROKER": "127.0.0.2:2",
        "ADVERTISE": "neighbours,10.0.0.1:3",
        "STORE": "stored",
        "HTTP": "127.0.0.3:4",
        "CONFIG": str(file),
        "FAULT": "drop,topic=T;answer:1:a remark with spaces",
        "LOG_FORMAT": "json",
        "LOG_LEVEL": "debug",
        "ACL": str(file),
        "JSON_READY": "true",
        "PORT_FILE": "",  # an empty one is as none
    }
    for name, value in variables.items():
        monkeypatch.setenv(f"ROCKETWIRE_SERVE_{name}", value)
    config = configured()
    assert (str(config.name_server), str(config.broker.address)) == ("0.0.0.0:1", "127.0.0.2:2")
    assert (config.broker.advertised_host, config.advertised_port) == ("10.0.0.1", 3)
    assert len(config.advertised_networks) == 1
    assert (config.store.folder, str(config.http)) == (Path("stored"), "127.0.0.3:4")
    assert config.broker.region_id == "r"
    assert len(config.faults.rules) == 2
    assert acl_path(config) == file
    given = options("--broker", "127.0.0.4:5")
    assert (given.log_format, given.log_level, given.json_ready, given.port_file) == ("json", "debug", True, None)
    assert given.broker == "127.0.0.4:5", "an option beats its variable"
    every = {str(each.envvar).removeprefix("ROCKETWIRE_SERVE_") for each in serve.command.params if each.envvar}
    assert every >= variables.keys()
    assert len(every) == len(serve.command.params) - 1, "all but --set"


def test_each_key_has_a_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("brokerName=file\nregionId=file\nlistenPort=1\nmessageDelayLevel=9s\n")
    for key, value in {"brokerName": "b", "regionId": "", "listenPort": "2", "messageDelayLevel": "1s 2s"}.items():
        monkeypatch.setenv(f"ROCKETWIRE_SET_{key}", value)
    config = configured("-c", str(file), "--set", "brokerName=typed")
    assert config.broker.broker_name == "typed", "--set beats a variable"
    assert config.broker.region_id == "file", "an empty variable is as none"
    assert config.broker.listen_port == 2, "a variable beats the file"
    assert config.delay.message_delay_level == "1s 2s"
    monkeypatch.setenv("ROCKETWIRE_SERVE_BROKER", "127.0.0.1:3")
    assert configured().broker.listen_port == 3, "the variable of an option beats that of a key"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("ROCKETWIRE_SERVE_NAMESVR", "no option has this variable; did you mean ROCKETWIRE_SERVE_NAMESRV?"),
        ("ROCKETWIRE_SERVE_SET", "no option has this variable"),
        ("ROCKETWIRE_SET_flushDiskTyp", "unknown key; did you mean flushDiskType?"),
        ("ROCKETWIRE_SET_AUTO_CREATE_TOPIC_ENABLE", "unknown key; did you mean autoCreateTopicEnable?"),
        ("ROCKETWIRE_SET_", "unknown key"),
    ],
)
def test_a_variable_of_nothing_is_a_mistake(monkeypatch: pytest.MonkeyPatch, name: str, line: str) -> None:
    monkeypatch.setenv(name, "")
    configured()
    monkeypatch.setenv(name, "1")
    with pytest.raises(CommandError, match=re.escape(f"{name}: {line}")):
        configured()


def test_where_metrics_are_served() -> None:
    assert configured().http is None
    assert str(configured("--http", "[::1]:9557").http) == "[::1]:9557"


def test_how_programs_learn_that_it_is_ready() -> None:
    config = configured()
    assert (config.json_ready, config.port_file, config.log_format) == (False, None, "console")
    config = configured("--json-ready", "--port-file", "ports.json", "--log-format", "json", "--end-with", "7")
    assert (config.json_ready, config.port_file, config.log_format) == (True, "ports.json", "json")
    assert (configured().end_with, config.end_with) == (None, 7)


def test_where_the_accounts_are(tmp_path: Path) -> None:
    accounts = tmp_path / "accounts.yml"
    accounts.touch()
    config = configured("--acl", str(accounts), "--set", "aclFile=elsewhere")
    assert (config.acl.acl_enable, acl_path(config)) == (True, accounts)
    assert not configured("--set", "aclFile=elsewhere").acl.acl_enable
    assert acl_path(configured("--set", "aclEnable=true")) == Path("data/config/plain_acl.yml")
    assert acl_path(configured("--set", "aclEnable=true", "--set", "aclFile=elsewhere")) == Path("elsewhere")
    file = tmp_path / "broker.conf"
    file.write_text("aclEnable=true\n")
    assert acl_path(configured("-c", str(file))) == tmp_path / "plain_acl.yml"
    assert acl_path(configured("-c", str(file), "--set", "aclFile=elsewhere")) == Path("elsewhere")


def test_clients_get_the_brokers_own_address_by_default() -> None:
    config = configured("--broker", "127.0.0.2:20911")
    assert (config.broker.advertised_host, config.advertised_port) == ("127.0.0.2", None)


@pytest.mark.parametrize(("wildcard", "expected"), [("0.0.0.0:1", "192.0.2.7"), ("[::]:1", "2001:db8::7")])
def test_a_broker_on_every_address_advertises_the_machines(
    monkeypatch: pytest.MonkeyPatch, wildcard: str, expected: str
) -> None:
    monkeypatch.setattr(addresses, "machine_address", lambda *, ipv6: "2001:db8::7" if ipv6 else "192.0.2.7")
    assert configured("--broker", wildcard).broker.advertised_host == expected


def test_a_wildcard_is_not_advertised_when_an_address_is_given() -> None:
    assert configured("--broker", "0.0.0.0:1", "--advertise", "10.0.0.7:1").broker.advertised_host == "10.0.0.7"
    assert configured("--broker", "0.0.0.0:1", "--set", "brokerIP1=10.0.0.8").broker.advertised_host == "10.0.0.8"


def test_options_beat_set_and_set_beats_the_file(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("brokerName=file\nlistenPort=1\nstorePathRootDir=file\nbrokerIP1=10.0.0.1\nregionId=r\n")
    config = configured(
        "-c",
        str(file),
        "--set",
        "listenPort=2",
        "--set",
        "brokerName = set",
        "--set",
        "storePathRootDir=set",
        "--broker",
        "127.0.0.2:3",
        "--store",
        "option",
    )
    assert config.broker.region_id == "r"
    assert config.broker.broker_name == "set"
    assert config.broker.listen_port == 3
    assert config.store.folder == Path("option")
    assert config.broker.advertised_host == "10.0.0.1"


def test_port_and_address_of_the_file_count_where_no_option_is_given(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("listenPort=20911\nbrokerIP1=10.0.0.1\n")
    config = configured("-c", str(file))
    assert str(config.broker.address) == "127.0.0.1:20911"
    assert config.broker.advertised_host == "10.0.0.1"


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_a_file_in_either_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "broker.conf"
    file.write_bytes("regionId=Zürich".encode(encoding))
    assert configured("-c", str(file)).broker.region_id == "Zürich"


def test_keys_that_change_nothing_are_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("highSpeedMode=true\nflushDiskTyp=1\nnonsense=1\n")
    warnings: list[str] = []
    serve.configuration(options("-c", str(file), "--set", "enableSlaveActingMaster=true"), warn=warnings.append)
    assert warnings == [
        "highSpeedMode: known to Apache, has no effect here",
        "flushDiskTyp: unknown key; did you mean flushDiskType?",
        "nonsense: unknown key",
        "enableSlaveActingMaster: known to Apache, has no effect here",
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--namesrv", "here"), "--namesrv here: expected HOST:PORT or [IPV6]:PORT, port 0 to 65535"),
        (("--broker", "::1:1"), "--broker ::1:1: expected HOST:PORT or [IPV6]:PORT, port 0 to 65535"),
        (("--http", ":1"), "--http :1: expected HOST:PORT or [IPV6]:PORT, port 0 to 65535"),
        (("--acl", "no/such/file"), "--acl no/such/file: no such file"),
        (
            ("--advertise", "h:x"),
            "--advertise h:x: expected [neighbours,][NETWORK=HOST:PORT,]...HOST:PORT, with a NETWORK like 10.0.0.0/8",
        ),
        (("--set", "brokerName"), "--set brokerName: expected KEY=VALUE"),
        (("--set", "flushdisktype=1"), "--set flushdisktype: unknown key; did you mean flushDiskType?"),
        (("--set", "nonsense=1"), "--set nonsense: unknown key"),
        (("--store", ""), "--store: the folder's name is empty"),
        (("--port-file", ""), "--port-file: the file's name is empty"),
        (("-c", "/dev/zero"), "-c /dev/zero: longer than 1048576 bytes, so it is no settings file"),
        (("-c", "/"), "-c /: Is a directory"),
        (("--set", "=5"), "--set =5: the key is missing; expected KEY=VALUE"),
        (("--set", "brokerId=1"), "brokerId=1: expected 0: this broker is always a master"),
        (("--set", "listenPort=x"), "listenPort=x: expected a whole number from 0 to 65535"),
        (("-c", "no/such/file"), "-c no/such/file: No such file or directory"),
        (("--fault", "drop:x"), "--fault drop:x: drop of x: expected request or answer"),
        (("--fault", "drop") * 1001, "--fault: at most 1000 rules are allowed"),
    ],
)
def test_each_mistake_is_one_line_with_what_is_allowed(arguments: tuple[str, ...], line: str) -> None:
    with pytest.raises(CommandError) as caught:
        configured(*arguments)
    assert str(caught.value) == line


def test_fault_rules_are_kept_in_their_order() -> None:
    assert configured().faults.rules == ()
    config = configured("--fault", "drop,code=310", "--fault", "delay:5")
    assert [type(rule.action).__name__ for rule in config.faults.rules] == ["Drop", "Delay"]
    assert config.faults.allowed


def test_a_file_that_java_would_refuse_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("a=\\u12\n")
    with pytest.raises(CommandError, match=r"broker\.conf: .*four hexadecimal digits"):
        configured("-c", str(file))


def test_the_server_runs_with_the_configuration_and_its_exit_code_is_the_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[ServerConfig] = []

    def run(config: ServerConfig) -> int:
        ran.append(config)
        return 7

    monkeypatch.setattr("rocketwire.server.run.run", run)
    assert main(["serve", "--set", "brokerName=b", "--set", "highSpeedMode=true"]) == 7
    assert [config.broker.broker_name for config in ran] == ["b"]
    warning = "rocketwire: warning: highSpeedMode: known to Apache, has no effect here\n"
    assert capsys.readouterr().err == warning


# --- as a process ---

APACHES_BROKER_CONF = """\
brokerClusterName = DefaultCluster
brokerName = broker-a
brokerId = 0
deleteWhen = 04
fileReservedTime = 48
brokerRole = ASYNC_MASTER
flushDiskType = ASYNC_FLUSH
"""


def test_the_broker_conf_that_apache_distributes_starts_the_server(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text(APACHES_BROKER_CONF)
    with process(tmp_path / "store", "-c", str(file)) as server:
        code, errors = server.end()
    assert code == 0
    warned = re.findall(
        r"^rocketwire: warning: ([A-Za-z0-9]+): known to Apache, has no effect here", errors, re.MULTILINE
    )
    assert warned == ["brokerRole"]
    assert "Traceback" not in errors


def test_a_program_starts_it_on_free_ports(tmp_path: Path) -> None:
    file = tmp_path / "ports.json"
    command = [sys.executable, "-m", "rocketwire", "serve", *FREE_PORTS, "--http", "127.0.0.1:0", "--json-ready"]
    with subprocess.Popen(
        [*command, "--port-file", str(file), "--store", str(tmp_path / "s"), "--log-level", "error"],
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            assert started.stdout is not None
            reported = json.loads(started.stdout.readline())
            assert json.loads(file.read_text()) == reported
            assert (reported["pid"], reported["store"]) == (started.pid, str(tmp_path / "s"))
            with Caller(reported["namesrv"]) as name_server, Caller(reported["broker"]) as broker:
                assert reported["broker"].encode() in bytes(
                    name_server.request(RequestCode.GET_BROKER_CLUSTER_INFO).body
                )
                broker.create_topic("T")
            with urlopen(f"http://{reported['http']}/readyz", timeout=60) as answer:
                assert answer.status == 200
            host, port = reported["broker"].split(":")
            with Caller(f"{host}:{int(port) - 2}") as vip:
                assert vip.send("T").header.code == 0
        finally:
            started.terminate()
        assert started.stdout.read() == ""
    assert started.returncode == 0
    assert not file.exists()


def test_an_output_that_is_full_is_one_line_and_code_2(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [
                sys.executable,
                "-m",
                "rocketwire",
                "serve",
                "--store",
                tmp_path / "s",
                *FREE_PORTS,
                "--log-level",
                "error",
            ],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=240,
            check=False,
        )
    assert ran.returncode == 2
    assert ran.stderr == b"rocketwire: the output cannot be written: No space left on device\n"


@pytest.mark.slow
def test_an_unknown_host_to_advertise_is_one_line_and_code_2(tmp_path: Path) -> None:
    code, errors = Process(tmp_path / "store", "--advertise", "nosuchhost.invalid:10911").result()
    assert code == 2
    (line,) = errors.splitlines()
    assert line.startswith("rocketwire: host nosuchhost.invalid (--advertise, brokerIP1): ")


def several(*arguments: str) -> ServerSettings:
    given = options("--brokers", "3", *arguments)
    environment = {**os.environ, "ROCKETWIRE_SERVE_PORT_FILE": "f", "ROCKETWIRE_SET_traceOn": "false"}
    return several_brokers(given, serve.configuration(given, warn=pytest.fail, environment=environment), environment)


def test_several_brokers_have_different_ports_names_and_stores(tmp_path: Path) -> None:
    settings = several("--store", str(tmp_path), "--advertise", "broker.example:443", "--http", "127.0.0.1:1")
    assert [(each.name, str(each.listen)) for each in settings.commands] == [
        ("broker-a", "127.0.0.1:10911"),
        ("broker-b", "127.0.0.1:10921"),
        ("broker-c", "127.0.0.1:10931"),
    ]
    for number, command in enumerate(settings.commands):
        config = serve.configuration(
            options("--broker", str(command.listen), "--register", "127.0.0.1:9876", *command.arguments),
            warn=pytest.fail,
        )
        assert (config.is_member, config.broker.broker_name) == (True, command.name)
        assert config.store.folder == tmp_path / command.name
        assert (config.broker.advertised_host, config.advertised_port) == ("broker.example", 443 + 10 * number)
        assert config.grpc.automatic is (number == 0)
        assert str(config.http) == "127.0.0.1:0"
    assert "ROCKETWIRE_SERVE_PORT_FILE" not in settings.environment
    assert settings.environment["ROCKETWIRE_SET_traceOn"] == "false"


def test_several_brokers_get_the_settings_of_one(tmp_path: Path) -> None:
    accounts = tmp_path / "plain_acl.yml"
    accounts.write_text("accounts: []\n")
    settings = several(
        *("--set", "brokerName=shop", "--set", "storePathCommitLog=/fast", "--acl", str(accounts)),
        *("--fault", "answer:2,code=310", "--register", "127.0.0.2:9876", "--store", str(tmp_path)),
    )
    second = settings.commands[1]
    config = serve.configuration(
        options("--broker", str(second.listen), "--register", "127.0.0.1:9876", *second.arguments), warn=pytest.fail
    )
    assert (second.name, list(map(str, second.name_servers))) == ("shop-b", ["127.0.0.2:9876"])
    assert str(config.store.commit_log_dir) == "/fast/shop-b"
    assert (config.acl.acl_enable, len(config.faults.rules)) == (True, 1)
    assert acl_path(config) == accounts


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--namesrv", "none", "--register", "127.0.0.1:1"), "--brokers: needs the name server and the brokers"),
        (("--broker", "none"), "--brokers: needs the name server and the brokers"),
        (("--advertise", "10.0.0.0/8=10.0.0.9:1"), "--brokers: --advertise takes HOST[:PORT]"),
        (("--set", "movableClock=true"), "--brokers: movableClock goes with one broker only"),
        (("--broker", "127.0.0.1:65520"), "--brokers 3: the last broker's port would be 65540"),
        (("--broker", "127.0.0.1:0", "--advertise", "h:1"), "--brokers: --advertise HOST:PORT needs a port"),
    ],
)
def test_what_several_brokers_cannot_do(arguments: tuple[str, ...], reason: str) -> None:
    with pytest.raises(CommandError, match=re.escape(reason)):
        several(*arguments)


def test_the_store_of_one_broker_is_not_taken_for_that_of_several(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broker-d" / "commitlog").mkdir(parents=True)
    several("--store", str(tmp_path))
    assert f"the store {tmp_path / 'broker-d'} is not served: there are 3 brokers" in caplog.text
    (tmp_path / "commitlog").mkdir()
    with pytest.raises(CommandError, match=re.escape(f"move what is in it to {tmp_path / 'broker-a'}")):
        several("--store", str(tmp_path))
