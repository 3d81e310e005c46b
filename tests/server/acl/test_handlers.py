from __future__ import annotations

import base64
import hmac
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.config.keys import ConfigError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from tests.server.harness import Client, code_and_remark, send_ext, serving

SECRET = "very-secret-key"
ACCOUNTS = f"""\
accounts:
- accessKey: admin-account
  secretKey: {SECRET}
  admin: true
- accessKey: producer-account
  secretKey: {SECRET}
  topicPerms: [Open=PUB]
"""
UPDATE, DELETE, VERSION, ADDRESSES, CONFIG = range(50, 55)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "plain_acl.yml"
    path.write_text(ACCOUNTS)
    return path


def signed(ext: dict[str, str], body: bytes = b"", *, account: str = "admin-account") -> dict[str, str]:
    ext = {**ext, "AccessKey": account}
    data = "".join(ext[name] for name in sorted(ext)).encode() + body
    return {**ext, "Signature": base64.b64encode(hmac.new(SECRET.encode(), data, "sha1").digest()).decode()}


def text_of(file: Path) -> str:
    return file.read_text()


def write(file: Path, text: str) -> None:
    file.write_text(text)


async def signed_request(client: Client, code: int, **ext: str) -> Frame:
    return await client.request(code, signed(ext))


async def test_accounts_are_listed_changed_and_deleted(file: Path, tmp_path: Path) -> None:
    async with serving(tmp_path / "store", acl_enable=True, acl_file=str(file)) as server:
        client = server.broker()
        new = {"accessKey": "newcomer", "secretKey": "new-secret", "topicPerms": "T=PUB,U=SUB,", "admin": "true"}
        assert code_and_remark(await signed_request(client, UPDATE, **new)) == (0, None)
        version = await signed_request(client, VERSION)
        version_shown = {"counter": 1, "timestamp": server.clock.now}
        ext = version.header.ext
        assert ext is not None
        assert (json.loads(ext["version"]), json.loads(ext["allAclFileVersion"])) == (
            version_shown,
            {str(file): version_shown},
        )
        assert (ext["brokerName"], ext["clusterName"]) == ("broker-a", "C")
        assert ext["brokerAddr"] == str(server.advertised)
        config = await signed_request(client, CONFIG)
        assert config.header.ext == {}
        found = json.loads(bytes(config.body))
        assert found["globalWhiteAddrs"] == []
        assert found["plainAccessConfigs"][2] == {
            "accessKey": "newcomer",
            "secretKey": "new-secret",
            "admin": True,
            "topicPerms": ["T=PUB", "U=SUB"],
        }
        assert code_and_remark(await signed_request(client, DELETE, accessKey="newcomer")) == (0, None)
        addresses = {"globalWhiteAddrs": "127.0.0.1,::1", "aclFileFullPath": str(file)}
        assert code_and_remark(await signed_request(client, ADDRESSES, **addresses)) == (0, None)
        assert (await client.request(CONFIG)).header.code == 0  # needs no account now


@pytest.mark.parametrize(
    ("code", "ext", "answer", "words"),
    [
        (UPDATE, {}, 209, "The accessKey=null and secretKey=null cannot be null"),
        (UPDATE, {"accessKey": "newcomer", "secretKey": "new-secret", "topicPerms": ""}, 209, "Parse Resource format"),
        (DELETE, {}, 210, "The accesskey[null] corresponding to accessConfig has been deleted failed."),
        (ADDRESSES, {}, 211, "The globalWhiteAddresses[null] has been updated failed."),
        (ADDRESSES, {"globalWhiteAddrs": "x"}, 211, "The globalWhiteAddresses[x] has been updated failed."),
    ],
)
async def test_malformed_changes_are_refused(
    file: Path, tmp_path: Path, code: int, ext: dict[str, str], answer: int, words: str
) -> None:
    async with serving(tmp_path / "store", acl_enable=True, acl_file=str(file)) as server:
        found, remark = code_and_remark(await signed_request(server.broker(), code, **ext))
    assert (found, (remark or "")[: len(words)]) == (answer, words)
    assert text_of(file) == ACCOUNTS


async def test_commas_alone_are_no_permission(file: Path, tmp_path: Path) -> None:
    async with serving(tmp_path / "store", acl_enable=True, acl_file=str(file)) as server:
        client = server.broker()
        new = {"accessKey": "newcomer", "secretKey": "new-secret", "topicPerms": ",,"}
        assert (await signed_request(client, UPDATE, **new)).header.code == 0


@pytest.mark.parametrize("code", [UPDATE, DELETE, VERSION, ADDRESSES, CONFIG])
async def test_without_access_control_administration_is_refused(broker: Client, code: int) -> None:
    refused = (ResponseCode.SYSTEM_ERROR, "access control is off: aclEnable is false")
    assert code_and_remark(await broker.request(code, {"accessKey": "account", "globalWhiteAddrs": "*"})) == refused


async def test_an_account_without_permission_is_refused_on_every_path(file: Path, tmp_path: Path, driver: str) -> None:
    assert driver
    async with serving(tmp_path / "store", acl_enable=True, acl_file=str(file)) as server:
        client = server.broker()
        hot = RequestCode.SEND_MESSAGE_V2

        def send(topic: str, account: str | None = "producer-account", **options: Any) -> bytes:
            ext = send_ext(topic)
            ext = ext if account is None else signed(ext, b"body", account=account)
            return client.frame(hot, ext, b"body", **options)

        words = "org.apache.rocketmq.acl.common.AclException: "
        await client.write(send("Open") + send("Closed") + send("Open", None) + send("Open", serialize_type=1))
        answers = sorted([code_and_remark(answer) for answer in await client.arrived()], key=str)
        assert answers == [
            (0, None),
            (0, None),
            (1, words + "No accessKey is configured"),
            (1, words + "No default permission for topic:Closed"),
        ]
        await client.write(send("Closed", flag=2))  # one-way: there is no answer
        assert await client.arrived() == []
        route = await server.name_server().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "Open"})
        assert route.header.code == 0  # the name server checks no accounts, as Apache's


async def test_no_send_passes_under_another_code(file: Path, tmp_path: Path, driver: str) -> None:
    assert driver
    async with serving(tmp_path / "store", acl_enable=True, acl_file=str(file)) as server:
        client = server.broker()
        whole = client.frame(RequestCode.SEND_MESSAGE_V2, signed(send_ext("Closed"), account="producer-account"))
        length, header_length = struct.unpack_from(">II", whole)
        for first, later in ((b"310", b"30"), (b"30", b"310")):
            codes = b'{"code":%b,"code":%b,' % (first, later)
            more = len(codes) - len(b'{"code":310,')
            assert whole[8:].startswith(b'{"code":310,')
            head = struct.pack(">II", length + more, header_length + more)
            await client.write(head + codes + whole[8 + len(b'{"code":310,') :])
            (answer,) = await client.arrived()
            assert answer.header.ext is None or "msgId" not in answer.header.ext
        _, remark = code_and_remark(answer)
        assert (remark or "").endswith("No default permission for topic:Closed")


async def test_the_file_is_checked_while_the_server_runs(file: Path, tmp_path: Path) -> None:
    async with serving(tmp_path / "store", acl_enable=True, acl_file=str(file)) as server:
        client = server.broker()
        assert (await signed_request(client, VERSION)).header.code == 0
        write(file, "accounts: []\n")
        await server.pass_time(0.6, step=0.6)
        assert "No acl config" in ((await signed_request(client, VERSION)).header.remark or "")


async def test_a_malformed_file_ends_the_start(file: Path, tmp_path: Path) -> None:
    write(file, "accounts: {}\n")
    with pytest.RaisesGroup(pytest.RaisesExc(ConfigError, match="accounts: expected a list"), flatten_subgroups=True):
        async with serving(tmp_path / "store", acl_enable=True, acl_file=str(file)):
            pass
    assert not (tmp_path / "store").exists()
