"""Access control, against the answers of a 4.9.7 broker, and changes of its file while the server runs."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from compat_tests import acl_cases
from compat_tests.acl_cases import ADMINS_ONLY, BATCH, REPLIES, Question, Who, differs, signed
from rocketwire.server.acl.control import CHECK_SECONDS, AccessControl, Done
from rocketwire.server.acl.document import MOST_BYTES
from rocketwire.server.acl.message_owner import NoMessageThere
from rocketwire.server.config.keys import ConfigError
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import ServerError
from rocketwire.server.core.guard_errors import (
    AccessRefused,
    AccountNotDeleted,
    AccountNotUpdated,
    AddressesNotUpdated,
    LimitExceeded,
)
from rocketwire.server.core.metrics import ACL_REASONS, Metrics
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.store.disk.files import FileSystem
from rocketwire.wire.bodies.acl import PlainAccessConfig
from rocketwire.wire.bodies.topic import DataVersion
from rocketwire.wire.errors import BodyInvalid, HeaderFieldMissing
from rocketwire.wire.facts.codes import SerializeType
from rocketwire.wire.header import Header, decode_header, encode_header
from tests.server.harness import FakePeer, mock_clock, run_inline, settle

ADMINISTRATION = (50, 51, 52, 53, 54)
SECRET = "very-secret-key"
ACCOUNT = f"accounts:\n- accessKey: account\n  secretKey: {SECRET}\n"
ACCOUNTS = f"{ACCOUNT}- accessKey: another\n  secretKey: {SECRET}\n"


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def opened(path: Path, metrics: Metrics | None = None, longest_heartbeat: int = 256 * 1024) -> AccessControl:
    """The accounts of a file, before a store without messages."""

    def owner_at(offset: int) -> str:
        raise NoMessageThere(offset)

    return AccessControl(
        str(path),
        FileSystem(),
        lambda: 1000,
        metrics or Metrics(),
        limit_keys=LiveGroup(LimitKeys(max_heartbeat_bytes=longest_heartbeat)),
        owner_at=owner_at,
        reply_topic="C_REPLY_TOPIC",
        region="here",
        now=lambda: 0.0,
    )


@pytest.fixture
def control(tmp_path: Path, metrics: Metrics) -> Callable[[str | bytes], AccessControl]:
    def make(text: str | bytes) -> AccessControl:
        path = tmp_path / "plain_acl.yml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return opened(path, metrics)

    return make


def refusal_of(
    control: AccessControl,
    question: Question,
    who: Who,
    serialize_type: int = SerializeType.JSON,
    peer: FakePeer | None = None,
) -> str | None:
    """The reason why a request is refused; None: it is admitted."""
    change = signed(question, who)
    ext = {name: str(value) for name, value in change.fields.items()}
    header = Header(code=change.code, opaque=1, ext=ext)
    read = decode_header(encode_header(header, serialize_type), serialize_type)
    try:
        control.admit(peer or FakePeer(), read, memoryview(change.body))
    except AccessRefused as error:
        return str(error)
    except (NoMessageThere, HeaderFieldMissing):  # not raised by access control
        return None
    return None


@pytest.mark.parametrize("serialize_type", [SerializeType.JSON, SerializeType.ROCKETMQ])
def test_every_answer_is_that_of_a_4_9_7_broker(
    control: Callable[[str | bytes], AccessControl], serialize_type: int
) -> None:
    guard = control(acl_cases.ACCOUNTS.read_bytes())
    questions = acl_cases.recorded()
    assert len(questions) == len(acl_cases.QUESTIONS) > 200
    for question, refused in questions:
        if differs(question):
            continue
        for name, who in acl_cases.WHO.items():
            assert refusal_of(guard, question, who, serialize_type) == refused.get(name), (question, name)


def refusal_of_similar_request(question: Question, name: str) -> str | None:
    """What Apache refuses an account for a request of the same kind that it does check."""
    recorded = acl_cases.recorded()
    topic = question.fields.get("topic", question.fields.get("b", ""))
    group = topic.rpartition("%")[2]
    if question.code in ADMINS_ONLY:
        refused = next(refused for other, refused in recorded if other.code == 17)
        return refused.get(name, "").replace("code=17", f"code={question.code}") or None
    if question.code in REPLIES and name == "admin-perms-key":
        return None
    if topic.startswith("%"):  # what a request needs that sends a message back
        refused = next(
            refused for other, refused in recorded if other.code == 36 and other.fields.get("group") == group
        )
        return refused.get(name, "").replace("group:", "topic:%DLQ%" if topic.startswith("%DLQ%") else "group:") or None
    return next(refused for other, refused in recorded if other.code == 310 and other.fields.get("b") == topic).get(
        name
    )


def test_requests_that_apache_does_not_check_need_the_same_permissions(
    control: Callable[[str | bytes], AccessControl],
) -> None:
    guard = control(acl_cases.ACCOUNTS.read_bytes())
    compared = Counter[int]()
    for question, _ in acl_cases.recorded():
        if not differs(question) or question.code in {11, 34}:  # these two need the permission of the group, too
            continue
        compared[question.code] += 1
        for name, who in acl_cases.WHO.items():
            assert refusal_of(guard, question, who) == refusal_of_similar_request(question, name), (question, name)
    assert set(compared) == {10, 310, 12, BATCH, *REPLIES, *(ADMINS_ONLY & set(acl_cases.OTHER_CODES))}
    for code in (*ADMINISTRATION, *ADMINS_ONLY):
        question = Question(code, {"x": "1"})
        words = f"Need admin permission for request code={code}, but accessKey=open-key-1 is not"
        assert refusal_of(guard, question, acl_cases.WHO["open-key-1"]) == f"{acl_cases.REFUSED}: {words}"
        assert refusal_of(guard, question, acl_cases.WHO["admin-perms-key"]) is None


def test_refusals_are_counted_by_reason(control: Callable[[str | bytes], AccessControl], metrics: Metrics) -> None:
    guard = control(ACCOUNTS)
    who = Who("account", SECRET)
    refusal_of(guard, Question(12, {"topic": "T"}), Who(None))
    refusal_of(guard, Question(12, {"topic": "T"}), Who("stranger", SECRET))
    refusal_of(guard, Question(12, {"topic": "T"}), Who("account", "wrong"))
    refusal_of(guard, Question(17, {"topic": "T"}), who)
    refusal_of(guard, Question(12, {"topic": "T"}), who)
    refusal_of(guard, Question(28, {"topic": "T"}), who)
    heartbeat, holder = Question(34, {}, '{"clientID":"a"}'), FakePeer()
    assert refusal_of(guard, heartbeat, who, peer=holder) is None
    assert (
        refusal_of(guard, heartbeat, Who("another", SECRET))
        == f"{acl_cases.REFUSED}: client id a belongs to another account"
    )
    assert metrics.acl_refused == {
        "no_access_key": 1,
        "unknown_access_key": 1,
        "signature": 1,
        "admin": 1,
        "permission": 1,
        "client_id": 1,
    }
    assert set(ACL_REASONS) == {*metrics.acl_refused, "undecided_code", "property"}  # which proxies refuse


def test_a_request_without_fields_or_with_an_unreadable_heartbeat_is_refused(
    control: Callable[[str | bytes], AccessControl],
) -> None:
    guard = control(ACCOUNT)
    with pytest.raises(AccessRefused, match="No accessKey is configured"):
        guard.admit(FakePeer(), Header(code=12, opaque=1), memoryview(b""))
    with pytest.raises(BodyInvalid):
        refusal_of(guard, Question(34, {"x": "1"}, "nothing"), Who("account", SECRET))
    assert "Check signature failed" in (
        refusal_of(guard, Question(34, {"x": "1"}, "nothing"), Who("account", "wrong")) or ""
    )


def test_a_heartbeat_that_is_too_long_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "plain_acl.yml"
    path.write_text(ACCOUNT)
    guard = opened(path, longest_heartbeat=6)
    with pytest.raises(LimitExceeded, match="maxHeartbeatBytes=6"):
        refusal_of(guard, Question(34, {"x": "1"}, "nothing"), Who("account", SECRET))
    assert "Check signature failed" in (
        refusal_of(guard, Question(34, {"x": "1"}, "nothing"), Who("account", "wrong")) or ""
    )


@pytest.mark.parametrize(
    ("remote", "passes"),
    [("10.1.2.3:99", True), ("10.1.3.3:99", False), ("[2001:db8::1]:99", True), ("[2001:db8::2]:99", False)],
)
def test_white_listed_addresses_need_no_account(
    control: Callable[[str | bytes], AccessControl], remote: str, *, passes: bool
) -> None:
    guard = control("globalWhiteRemoteAddresses: [10.1.2.*, '2001:db8::1']\n" + ACCOUNT)
    for _ in range(2):  # the second time the result is cached
        assert (refusal_of(guard, Question(17, {"topic": "T"}), Who(None), peer=FakePeer(remote)) is None) is passes


def test_from_an_accounts_address_its_name_needs_no_signature(
    control: Callable[[str | bytes], AccessControl],
) -> None:
    guard = control(ACCOUNT + "  whiteRemoteAddress: 10.1.2.3\n")
    unsigned = Who("account", "wrong")
    assert refusal_of(guard, Question(17, {"topic": "T"}), unsigned, peer=FakePeer("10.1.2.3:1")) is None
    assert refusal_of(guard, Question(17, {"topic": "T"}), Who(None), peer=FakePeer("10.1.2.3:1")) is not None
    assert refusal_of(guard, Question(17, {"topic": "T"}), unsigned, peer=FakePeer("10.1.2.4:1")) is not None


def test_the_cache_of_addresses_is_bounded(
    control: Callable[[str | bytes], AccessControl], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocketwire.server.acl.control._MOST_ADDRESSES", 3)
    guard = control("globalWhiteRemoteAddresses: [10.0.0.*]\n")
    for number in range(10):
        assert refusal_of(guard, Question(12, {}), Who(None), peer=FakePeer(f"10.0.0.{number}:1")) is None
    assert len(guard._clients) <= 3


def may_receive(guard: AccessControl, peer: FakePeer, account: str = "account", secret: str = SECRET) -> bool:
    """Whether a producer of an account may receive messages of T."""
    assert refusal_of(guard, Question(34, {"x": "1"}, '{"clientID":"c"}'), Who(account, secret), peer=peer) is None
    return guard.may_receive_as_producer(peer, "T")


@pytest.mark.parametrize(("code", "field"), [(10, "topic"), (310, "b"), (320, "b")])
@pytest.mark.parametrize(
    ("topic", "refused"),
    [
        ("RMQ_SYS_TRACE_TOPIC", False),
        ("rmq_sys_TRACE_DATA_here", False),
        ("rmq_sys_TRACE_DATA_there", True),
        ("rmq_sys_TRACE_DATA_", True),
    ],
)
def test_traces_need_no_permission(
    control: Callable[[str | bytes], AccessControl], *, code: int, field: str, topic: str, refused: bool
) -> None:
    """Clients of cloud services send traces to a topic that is named after the broker's region."""
    guard = control(ACCOUNT)
    found = refusal_of(guard, Question(code, {field: topic}, ""), Who("account", SECRET))
    assert (found or "").endswith(f"No default permission for topic:{topic}" if refused else "")
    assert bool(found) is refused


@pytest.mark.parametrize("code", [11, 12])
def test_reading_the_traces_of_a_region_needs_permission(
    control: Callable[[str | bytes], AccessControl], code: int
) -> None:
    guard = control(ACCOUNT)
    question = Question(code, {"topic": "rmq_sys_TRACE_DATA_here"}, "")
    assert refusal_of(guard, question, Who("account", SECRET)) is not None


async def test_a_producer_may_receive_messages_of_topics_it_may_send_to(
    control: Callable[[str | bytes], AccessControl],
) -> None:
    guard = control(ACCOUNT + "  topicPerms: [T=PUB]\n")
    peer, stranger = FakePeer(), FakePeer()
    assert may_receive(guard, peer)
    assert not guard.may_receive_as_producer(peer, "U")
    assert guard.may_receive_as_producer(peer, "RMQ_SYS_TRACE_TOPIC")
    assert not guard.may_receive_as_producer(stranger, "T")
    later(Path(guard.path), ACCOUNT)
    await guard.reload_if_changed(run_inline)
    assert not guard.may_receive_as_producer(peer, "T")


def test_a_producer_at_a_white_listed_address_may_receive_all_messages(
    control: Callable[[str | bytes], AccessControl],
) -> None:
    guard = control("globalWhiteRemoteAddresses: [10.0.0.1]\n" + ACCOUNT + "  whiteRemoteAddress: 10.0.0.2\n")
    assert guard.may_receive_as_producer(FakePeer("10.0.0.1:1"), "T")
    assert may_receive(guard, FakePeer("10.0.0.2:1"))
    assert not may_receive(guard, FakePeer("10.0.0.3:1"))


# --- the file


def test_a_missing_file_is_created_and_admits_no_account(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "some" / "where" / "plain_acl.yml"
    guard = opened(path)
    assert path.read_bytes() == b""
    assert mode(str(path)) == 0o600
    assert "lets nobody in" in caplog.text
    assert guard.version == DataVersion(counter=0, timestamp=1000)
    assert "No acl config for account" in (refusal_of(guard, Question(12, {}), Who("account", SECRET)) or "")


def test_an_unusable_file_is_reported_with_the_key(
    control: Callable[[str | bytes], AccessControl], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        control(ACCOUNT + "  admin: maybe\n")
    path = tmp_path / "plain_acl.yml"
    assert str(caught.value) == f"aclFile={path}: accounts[0].admin: expected true or false"
    with pytest.raises(ConfigError, match=r"aclFile=.*: Is a directory"):
        opened(tmp_path)


def remove(path: str, *, folder: bool = False) -> None:
    Path(path).unlink()
    if folder:
        Path(path).mkdir()


def later(path: Path, text: str, at: int = 2) -> None:
    path.write_text(text)
    os.utime(path, (at, at))


async def test_a_changed_file_is_loaded(
    control: Callable[[str | bytes], AccessControl], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    guard = control(ACCOUNT)
    question = Question(14, {})
    await guard.reload_if_changed(run_inline)
    assert caplog.text == ""
    text = f"globalWhiteRemoteAddresses: [10.0.0.1]\naccounts:\n- accessKey: another\n  secretKey: {SECRET}\n  odd: 1\n"
    assert refusal_of(guard, question, Who(None), peer=FakePeer("10.0.0.1:1")) is not None
    later(Path(guard.path), text + "dataVersion: [{counter: 3, timestamp: 4}]\n")
    await guard.reload_if_changed(run_inline)
    assert refusal_of(guard, question, Who("another", SECRET)) is None
    assert refusal_of(guard, question, Who("account", SECRET)) is not None
    assert refusal_of(guard, question, Who(None), peer=FakePeer("10.0.0.1:1")) is None
    assert guard.version == DataVersion(counter=3, timestamp=4)
    assert "was read again: 1 accounts" in caplog.text
    later(Path(guard.path), text, at=3)
    await guard.reload_if_changed(run_inline)
    assert caplog.text.count("accounts[0].odd: unknown key") == 1  # logged once


@pytest.mark.parametrize("text", ["accounts: {}", "accounts: [", "", "# soon\n", "x: !!bool maybe\n"])
async def test_a_malformed_change_leaves_the_accounts_as_they_are(
    control: Callable[[str | bytes], AccessControl], caplog: pytest.LogCaptureFixture, text: str
) -> None:
    guard = control(ACCOUNT)
    later(Path(guard.path), text)
    for _ in range(2):
        await guard.reload_if_changed(run_inline)
    assert refusal_of(guard, Question(14, {}), Who("account", SECRET)) is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]  # logged once
    assert "the former accounts stay" in caplog.text
    remove(guard.path)
    await guard.reload_if_changed(run_inline)
    assert "it does not exist; the former accounts stay" in caplog.text
    assert refusal_of(guard, Question(14, {}), Who("account", SECRET)) is None


async def test_an_unreadable_file_is_logged(
    control: Callable[[str | bytes], AccessControl], caplog: pytest.LogCaptureFixture
) -> None:
    guard = control(ACCOUNT)
    remove(guard.path, folder=True)
    await guard.reload_if_changed(run_inline)
    assert "Is a directory; the former accounts stay" in caplog.text


async def test_a_failing_look_at_the_file_is_logged_once(
    control: Callable[[str | bytes], AccessControl], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = control(ACCOUNT)

    def denied(_self: object, _path: str) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(FileSystem, "modified", denied)
        for _ in range(3):
            await guard.reload_if_changed(run_inline)
    assert len(caplog.records) == 1
    assert "Permission denied; the former accounts stay" in caplog.text
    await guard.reload_if_changed(run_inline)
    assert len(caplog.records) == 1


def test_the_file_is_checked_twice_a_second() -> None:
    assert CHECK_SECONDS == 0.5


# --- changes by request


async def outcome(guard: AccessControl, change: Callable[[Done], None]) -> ServerError | None:
    """The outcome of a change, which is reported at once or after it was made."""
    outcomes: list[ServerError | None] = []
    try:
        change(outcomes.append)
    except ServerError as error:
        return error
    assert outcomes == []
    await guard.make_one_change(run_inline)
    (found,) = outcomes
    return found


async def update(guard: AccessControl, **options: Any) -> ServerError | None:
    config = PlainAccessConfig(**{"access_key": "newcomer", "secret_key": "new-secret", **options})
    return await outcome(guard, lambda done: guard.update(config, done))


async def delete(guard: AccessControl, access_key: str | None) -> ServerError | None:
    return await outcome(guard, lambda done: guard.delete(access_key, done))


async def replace(guard: AccessControl, addresses: tuple[str, ...] | None, path: str | None) -> ServerError | None:
    return await outcome(guard, lambda done: guard.replace_addresses(addresses, path, done))


def mode(path: str) -> int:
    return Path(path).stat().st_mode & 0o777


async def test_accounts_are_made_changed_and_deleted(control: Callable[[str | bytes], AccessControl]) -> None:
    guard = control(ACCOUNT)
    set_mode(guard.path, 0o600)
    question = Question(12, {"topic": "T"})
    new = Who("newcomer", "new-secret")
    assert await update(guard, topic_perms=("T=SUB",)) is None
    assert refusal_of(guard, question, new) is None
    assert guard.version == DataVersion(counter=1, timestamp=1000)
    assert await update(guard, topic_perms=("T=PUB",)) is None
    assert refusal_of(guard, question, new) is not None
    assert [each.access_key for each in guard.config().plain_access_configs] == ["account", "newcomer"]
    assert await delete(guard, "newcomer") is None
    assert "No acl config" in (refusal_of(guard, question, new) or "")
    assert [each.access_key for each in guard.config().plain_access_configs] == ["account"]
    assert await replace(guard, ("127.0.0.1",), None) is None
    assert refusal_of(guard, question, Who(None)) is None
    assert await replace(guard, (), guard.path) is None
    assert await replace(guard, (), "") is None
    assert refusal_of(guard, question, Who(None)) is not None
    assert guard.version.counter == 6
    assert mode(guard.path) == mode(guard.path + ".bak") == 0o600


async def test_its_own_change_of_the_file_is_not_loaded_again(
    control: Callable[[str | bytes], AccessControl], caplog: pytest.LogCaptureFixture
) -> None:
    guard = control(ACCOUNT)
    assert await update(guard) is None
    caplog.set_level(logging.INFO)
    await guard.reload_if_changed(run_inline)
    assert caplog.text == ""


async def test_a_slow_check_of_the_file_does_not_restore_a_deleted_account(
    control: Callable[[str | bytes], AccessControl],
) -> None:
    guard = control(ACCOUNT)
    outcomes: list[ServerError | None] = []
    reading, go_on = trio.Event(), trio.Event()

    async def slow(sync_fn: Callable[..., Any], *args: Any) -> Any:
        found = sync_fn(*args)  # a thread that has read the file and continues late
        if not reading.is_set():
            reading.set()
            await go_on.wait()
        return found

    async with trio.open_nursery() as nursery:
        later(Path(guard.path), ACCOUNT + "# edited by hand\n")
        nursery.start_soon(guard.run, slow)
        for _ in range(2):
            await settle()
            mock_clock().jump(CHECK_SECONDS)
        await settle()
        assert reading.is_set()
        guard.delete("account", outcomes.append)
        await settle()
        assert outcomes == []
        go_on.set()
        for _ in range(3):
            await settle()
            mock_clock().jump(CHECK_SECONDS)
        nursery.cancel_scope.cancel()
    assert outcomes == [None]
    assert "No acl config" in (refusal_of(guard, Question(14, {}), Who("account", SECRET)) or "")


async def test_changes_are_made_in_a_thread(
    control: Callable[[str | bytes], AccessControl],
) -> None:
    guard = control(ACCOUNT)
    ran: list[str] = []

    async def noted(sync_fn: Callable[..., Any], *args: Any) -> Any:
        before = read_text(guard.path)
        found = sync_fn(*args)
        ran.append("changed" if read_text(guard.path) != before else "read")
        return found

    guard.update(PlainAccessConfig(access_key="newcomer", secret_key="new-secret"), lambda _: None)
    assert read_text(guard.path) == ACCOUNT
    await guard.make_one_change(noted)
    later(Path(guard.path), ACCOUNT)
    await guard.reload_if_changed(noted)
    assert ran == ["changed", "read"]


async def test_waiting_changes_are_bounded(control: Callable[[str | bytes], AccessControl]) -> None:
    guard = control(ACCOUNT)
    for _ in range(64):
        guard.replace_addresses((), None, lambda _: None)
    error = await update(guard)
    assert str(error) == "too many changes wait to be carried out"
    assert isinstance(await delete(guard, "account"), AccountNotDeleted)
    await guard.make_one_change(run_inline)
    guard.replace_addresses((), None, lambda _: None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"secret_key": "short"}, "The accessKey=newcomer and secretKey=*** cannot be null"),
        ({"topic_perms": ("T",)}, "Parse Resource format error for T."),
        ({"group_perms": ("G=X",)}, "Parse resource permission error for G=X."),
        ({"white_remote_address": "here"}, "Netaddress examine Exception netaddress is here"),
        ({"topic_perms": ("T" * MOST_BYTES + "=PUB",)}, "it is larger than 2 MiB"),
    ],
)
async def test_a_change_that_fails_changes_nothing(
    control: Callable[[str | bytes], AccessControl], options: dict[str, Any], words: str
) -> None:
    guard = control(ACCOUNT)
    error = await update(guard, **options)
    assert isinstance(error, AccountNotUpdated)
    assert str(error).startswith(words)
    assert read_text(guard.path) == ACCOUNT


async def test_unknown_accounts_and_bad_addresses_are_refused(control: Callable[[str | bytes], AccessControl]) -> None:
    guard = control(ACCOUNT)
    for name, shown in (("nobody", "nobody"), (None, "null"), ("", "")):
        refused = await delete(guard, name)
        assert isinstance(refused, AccountNotDeleted)
        assert str(refused) == f"The accesskey[{shown}] corresponding to accessConfig has been deleted failed."
    for addresses, path, shown in ((None, None, "null"), (("1.1.1.1", "*"), "/else", "1.1.1.1,*"), (("x",), None, "x")):
        error = await replace(guard, addresses, path)
        assert isinstance(error, AddressesNotUpdated)
        assert str(error) == f"The globalWhiteAddresses[{shown}] has been updated failed."
    assert read_text(guard.path) == ACCOUNT


@pytest.mark.parametrize(
    "spoil", [lambda path: path.write_text("accounts: {}"), lambda path: path.write_text(""), Path.unlink]
)
async def test_a_missing_or_malformed_file_is_not_changed(
    control: Callable[[str | bytes], AccessControl], spoil: Callable[[Path], None]
) -> None:
    guard = control(ACCOUNT)
    spoil(Path(guard.path))
    assert isinstance(await update(guard), AccountNotUpdated)
    assert isinstance(await delete(guard, "account"), AccountNotDeleted)
    assert isinstance(await replace(guard, (), None), AddressesNotUpdated)
    assert refusal_of(guard, Question(14, {}), Who("account", SECRET)) is None
    assert [each.access_key for each in guard.config().plain_access_configs] == ["account"]  # those in force


async def test_a_read_only_file_is_not_changed(
    control: Callable[[str | bytes], AccessControl],
) -> None:
    guard = control(ACCOUNT)
    remove(guard.path, folder=True)
    assert str(await update(guard)) == f"{guard.path}: Is a directory"


async def test_a_symbolic_link_is_resolved_at_each_check(tmp_path: Path) -> None:
    link_accounts(tmp_path)
    guard = opened(tmp_path / "link.yml")
    assert refusal_of(guard, Question(14, {}), Who("first-account", SECRET)) is None
    swap_link(tmp_path)
    await guard.reload_if_changed(run_inline)
    assert refusal_of(guard, Question(14, {}), Who("second-account", SECRET)) is None
    assert refusal_of(guard, Question(14, {}), Who("first-account", SECRET)) is not None
    assert await delete(guard, "second-account") is None
    assert is_link(tmp_path / "link.yml")
    assert "second-account" not in read_text(str(tmp_path / "second.yml"))


def link_accounts(folder: Path) -> None:
    for number, name in enumerate(("first", "second")):
        later(folder / f"{name}.yml", ACCOUNT.replace("account\n", f"{name}-account\n"), at=number)
    (folder / "link.yml").symlink_to("first.yml")


def swap_link(folder: Path) -> None:
    (folder / "new").symlink_to("second.yml")
    (folder / "new").replace(folder / "link.yml")


def is_link(path: Path) -> bool:
    return path.is_symlink()


def read_text(path: str) -> str:
    return Path(path).read_text()


def set_mode(path: str, mode: int) -> None:
    Path(path).chmod(mode)


# --- secrets


@pytest.fixture
def everything(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    caplog.set_level(logging.DEBUG)
    written: list[str] = []
    yield written
    written += [caplog.text, *(repr(record.__dict__) for record in caplog.records)]
    assert len(written) > 10
    for text in written:
        assert SECRET not in text
        assert "new-secret" not in text


async def test_secrets_are_never_shown(
    control: Callable[[str | bytes], AccessControl], metrics: Metrics, everything: list[str]
) -> None:
    guard = control(ACCOUNT + "  odd: 1\n")
    for who in (Who(None), Who("stranger", SECRET), Who("account", "wrong"), Who("account", SECRET)):
        for code in (10, 12, 17, 34, 50, 54, 310):
            body = "{}" if code == 34 else ""
            everything.append(
                str(refusal_of(guard, Question(code, {"topic": "T", "b": "T", "secretKey": SECRET}, body), who))
            )
    config = PlainAccessConfig(access_key="newcomer", secret_key="new-secret")
    assert await update(guard) is None
    for wrong in ({"access_key": "six"}, {"topic_perms": ("T",)}, {"white_remote_address": "x"}):
        caught = await update(guard, **wrong)
        assert caught is not None
        everything += [str(caught), repr(caught), repr(caught.__context__)]
    assert await delete(guard, "newcomer") is None
    everything += [
        repr(guard.config()),
        repr(guard._accounts),
        repr(config),
        repr(metrics.acl_refused),
        repr(vars(guard)),
    ]
    for bad in (f"accounts: '{SECRET}\n", f"{SECRET}: [\n", f"accounts:\n- secretKey: {SECRET}\n  {SECRET}\n"):
        with pytest.raises(ConfigError) as refused:
            control(bad)
        everything += [str(refused.value), repr(refused.value.__cause__)]
