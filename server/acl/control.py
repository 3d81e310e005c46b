"""Access control: decides what each client may do, from the accounts' file, which is reloaded when it changes.

The checks, in Apache's order: address without account, access key, account, address of this account without signature,
signature, administrator, permissions. If a changed file is not valid, that is logged and the former accounts stay.
Reading and writing it takes long with many accounts (1 ms each), so `run_sync` does both. An unknown account and a
wrong signature take about the same time.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable
from hmac import compare_digest
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import trio

from rocketwire.server.acl import file
from rocketwire.server.acl.access_rules import (
    CODES_OF_STORED_MESSAGES,
    OwnerAt,
    message_offset,
    needed_permissions,
    permissions_for_message,
)
from rocketwire.server.acl.accounts import UNKNOWN_ACCOUNT_SECRET, Account, AccountInvalid, account, check_permissions
from rocketwire.server.acl.client_ids import ClientIds
from rocketwire.server.acl.document import AclFileEmpty, AclFileInvalid, check_size
from rocketwire.server.acl.file import NO_ACCOUNTS, AccountsFile
from rocketwire.server.acl.grants import Grant
from rocketwire.server.acl.plain_bodies import DECIDED_BY_BODY, check_one_reading
from rocketwire.server.acl.resources import (
    NOTHING,
    NeededPermissions,
    heartbeat_sender,
    locks_sender,
    resource_text,
    sent_to,
)
from rocketwire.server.acl.sent_properties import property_beyond_topic
from rocketwire.server.acl.white_list import WhiteListInvalid, normal, white_list
from rocketwire.server.config.keys import ConfigError
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.errors import ServerError
from rocketwire.server.core.guard_errors import (
    AccessRefused,
    AccountNotDeleted,
    AccountNotUpdated,
    AddressesNotUpdated,
    LimitExceeded,
)
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import CallSignature, Peer, account_named_by
from rocketwire.server.core.threads import RunSync
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.event import Event
from rocketwire.wire.bodies.acl import AclConfig, PlainAccessConfig
from rocketwire.wire.bodies.topic import DataVersion
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.header import Header
from rocketwire.wire.names import REGION_TRACE_PREFIX
from rocketwire.wire.signature import ACCESS_KEY, SecretKey

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 0.5
"""The interval of checks for changes of the file, as in Apache."""
_LOCKS: Final = frozenset({RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ})
_MOST_ADDRESSES: Final = 4096
_NO_FIELDS: Final[dict[str, str]] = {}
_NO_BODY: Final = memoryview(b"")
_MOST_CHANGES: Final = 64
_NEVER: Final = (None, None)
_Stamp = tuple[int | None, int | None]

Done = Callable[[ServerError | None], None]
"""Called when a change is in force, or with the error that prevented it."""


class _Change(NamedTuple):
    """A change of the file that waits to be made."""

    make: Callable[[bytes], bytes]
    done: Done
    failed: Callable[[str], ServerError]
    what: str


class _Client(NamedTuple):
    """What is cached of a client's address."""

    address: str
    white: bool


class AccessControl:
    """The guard of a broker, and the owner of its accounts.

    Attributes:
        active: Always true: without access control there is no object of this class.
        path: The accounts' file.
        version: The version of the accounts.
        changed: Called when the accounts change, to re-check held requests.

    Args:
        path: The accounts' file.
        files: Where the file is.
        clock: The time in ms since 1970.
        metrics: Counts refusals by reason.
        limit_keys: Have the longest heartbeat: the heartbeat handler refuses longer ones without parsing them.
        owner_at: Returns the topic of the message at a physical offset; called once requests come. None: other servers
            have the messages and carry out the requests; before one is passed on, `undecided_offset` is called.
        reply_topic: The topic of the replies to requests, which every account may send.
        region: The broker's: every account may send to the topic of its traces. Others are not exempt: an account
            without permissions could make any number of topics.
        now: A clock in seconds.
    """

    active: Final = True

    def __init__(
        self,
        path: str,
        files: FileSystem,
        clock: Clock,
        metrics: Metrics,
        *,
        limit_keys: LiveGroup[LimitKeys],
        owner_at: OwnerAt | None,
        reply_topic: str,
        region: str,
        now: Callable[[], float] = trio.current_time,
    ) -> None:
        """Read the file; a missing one is created empty, as by Apache, and admits no client.

        Raises:
            ConfigError: the file cannot be used; the message names it and the key.
        """
        self.path = os.path.abspath(path)  # noqa: PTH100 (a symbolic link's target may change: it is resolved again each time)
        self._files = files
        self._clock = clock
        self._refused = metrics.acl_refused
        self._clients: dict[str, _Client] = {}
        self._seen: _Stamp = _NEVER
        self._queue, self._changes = trio.open_memory_channel[_Change](_MOST_CHANGES)
        self._warned: tuple[str, ...] = ()
        self._limit_keys = limit_keys
        self._owner_at = owner_at
        self._reply_topic = reply_topic
        self._sends_traces = sent_to(f"{REGION_TRACE_PREFIX}{region}")
        self.changed = Event[[]]()
        self._client_ids = ClientIds(now)
        self._complaint = ""
        try:
            if files.size(self.path) is None:
                files.make_directory(str(Path(self.path).parent))
                files.write(self.path, b"")
                Path(self.path).chmod(stat.S_IRUSR | stat.S_IWUSR)
                log.warning(
                    "access control: %(file)s did not exist; it was made, and lets nobody in", {"file": self.path}
                )
            self._seen = self._stamp()
            self._take(self._first())
        except AclFileInvalid as error:
            raise ConfigError(f"aclFile={path}: {error}") from None
        except OSError as error:
            raise ConfigError(f"aclFile={path}: {error.strerror}") from error

    # --- the guard

    def admit(self, peer: Peer, header: Header, body: memoryview, proof: CallSignature | None = None) -> None:
        """See `Guard`."""
        client = self._client(peer.remote_text if proof is None else proof.remote_text)
        if client.white:
            self._hear("", peer, header, body)
            return
        ext = _NO_FIELDS if header.ext is None else header.ext
        access_key = ext.get(ACCESS_KEY) if proof is None else proof.access_key or None
        known = self._signer(client, access_key, ext, body, proof)
        if not known.is_near(client.address):
            self._check(known, header, ext, body)
        self._hear(known.access_key, peer, header, body)

    def identify(self, proof: CallSignature) -> None:
        """Refuse a call that no account has made, before its request is read; `admit` decides what it may do.

        Raises:
            AccessRefused: it names no account, or is not signed by the one that it names.
        """
        client = self._client(proof.remote_text)
        if not client.white:
            self._signer(client, proof.access_key or None, _NO_FIELDS, _NO_BODY, proof)

    def _signer(
        self,
        client: _Client,
        access_key: str | None,
        ext: dict[str, str],
        body: memoryview,
        proof: CallSignature | None,
    ) -> Account:
        """The account that has signed a request."""
        if access_key is None:
            self._refuse("no_access_key", "No accessKey is configured")
        known = self._accounts.get(access_key)
        if known is None:
            _is_signed(UNKNOWN_ACCOUNT_SECRET, ext, body, proof)
            self._refuse("unknown_access_key", f"No acl config for {access_key}")
        if not known.is_near(client.address) and not _is_signed(known.secret, ext, body, proof):
            self._refuse("signature", f"Check signature failed for accessKey={known.access_key}")
        return known

    def _hear(self, account: str, peer: Peer, header: Header, body: memoryview) -> None:
        """Bind the client id of a heartbeat to the account that sends it; no other may act in its name."""
        if header.code in _LOCKS:
            self.check_client_id(locks_sender(body), account, peer)
        if header.code == RequestCode.UNREGISTER_CLIENT:  # Apache's brokers forget the id on any connection
            ext = _NO_FIELDS if header.ext is None else header.ext
            self.check_client_id(ext.get("clientID", ""), account, peer)
        if header.code != RequestCode.HEART_BEAT:
            return
        self._check_heartbeat(body)
        client_id = heartbeat_sender(body)
        if not self.note_client_id(client_id, account, peer):
            self._refuse_client_id(client_id)

    def check_client_id(self, client_id: str, account: str, peer: Peer) -> None:
        """See `CallAccounts`."""
        if not self._client_ids.may_use(client_id, account, peer):
            self._refuse_client_id(client_id)

    def _refuse_client_id(self, client_id: str) -> NoReturn:
        self._refuse("client_id", f"client id {client_id} belongs to another account")

    def reserve_client_id(self, client_id: str) -> None:
        """See `CallAccounts`."""
        self._client_ids.reserve(client_id)

    def note_client_id(self, client_id: str, account: str, peer: Peer) -> bool:
        """See `CallAccounts`."""
        if not self._client_ids.may_use(client_id, account, peer):
            return False
        self._client_ids.heard(client_id, account, peer)
        return True

    def _check_heartbeat(self, body: memoryview) -> None:
        """Raise LimitExceeded for a heartbeat that is too long to be parsed."""
        most = self._limit_keys.current.max_heartbeat_bytes
        if len(body) > most:
            raise LimitExceeded("maxHeartbeatBytes", most)

    def _check(self, known: Account, header: Header, ext: dict[str, str], body: memoryview) -> None:
        if not known.may_send_code(header.code):
            words = f"Need admin permission for request code={header.code}, but accessKey={known.access_key} is not"
            self._refuse("admin", words)
        if header.code == RequestCode.HEART_BEAT:
            self._check_heartbeat(body)
        if known.may_all(header.code):
            return
        self._need(known, needed_permissions(header.code, ext, body, reply_topic=self._reply_topic))
        if self._owner_at is None:
            if header.code in DECIDED_BY_BODY:
                check_one_reading(header.code, body)
            name = property_beyond_topic(header.code, ext, body)
            if name is not None:
                self._refuse("property", f"the property {name} is not allowed through the proxy")
            return
        # A client without access to the group must not learn what is in the log.
        place = message_offset(header.code, ext)
        if place is not None:
            self._need(known, permissions_for_message(header.code, ext, self._owner_at(place)))

    def undecided_offset(self, peer: Peer, header: Header, proof: CallSignature | None = None) -> int | None:
        """The physical offset of the message by whose topic a request is yet to be decided; None: it is decided.

        Args:
            peer: As for `admit`, which has admitted it.
            header: Likewise.
            proof: Likewise.

        Raises:
            WireError: the offset is invalid.
        """
        if header.code not in CODES_OF_STORED_MESSAGES or self._limited(peer, header, proof) is None:
            return None
        return message_offset(header.code, _NO_FIELDS if header.ext is None else header.ext)

    def admit_message(self, peer: Peer, header: Header, topic: str, proof: CallSignature | None = None) -> None:
        """Decide about a request by the topic of the message at its `undecided_offset`.

        Raises:
            AccessRefused: the account has no permission for the topic, or is no account any more.
        """
        known = self._limited(peer, header, proof)
        if known is not None:
            ext = _NO_FIELDS if header.ext is None else header.ext
            self._need(known, permissions_for_message(header.code, ext, topic))

    def grant(self, peer: Peer, header: Header, body: memoryview, proof: CallSignature | None = None) -> Grant | None:
        """What is granted to a request that `admit` has admitted; None: its account has been removed since."""
        client = self._client(peer.remote_text if proof is None else proof.remote_text)
        if client.white:
            return Grant(None, unsigned_allowed=True, code=header.code, needed=NOTHING)
        known = self._accounts.get(account_named_by(header, proof))
        if known is None:
            return None
        ext = _NO_FIELDS if header.ext is None else header.ext
        need = needed_permissions(header.code, ext, body, reply_topic=self._reply_topic)
        return Grant(known, unsigned_allowed=known.is_near(client.address), code=header.code, needed=need)

    def is_still_granted(self, remote: str, grant: Grant) -> bool:
        """Whether a request from an address, ``host:port``, would be admitted by the accounts of now."""
        client = self._client(remote)
        if client.white or grant.account is None:
            return client.white
        known = self._accounts.get(grant.account.access_key)
        if known is None or known.is_near(client.address):
            return known is not None
        return grant.signed_by(known) and (known.may_all(grant.code) or self._lacks(known, grant.needed) is None)

    def _limited(self, peer: Peer, header: Header, proof: CallSignature | None) -> Account | None:
        """The account of an admitted request that needs permissions; None: it needs none."""
        client = self._client(peer.remote_text if proof is None else proof.remote_text)
        if client.white:
            return None
        access_key = account_named_by(header, proof)
        known = self._accounts.get(access_key)
        if known is None:
            self._refuse("unknown_access_key", f"No acl config for {access_key}")
        return None if known.is_near(client.address) or known.may_all(header.code) else known

    def _need(self, known: Account, need: NeededPermissions) -> None:
        resource = self._lacks(known, need)
        if resource is not None:
            self._refuse("permission", f"No default permission for {resource_text(resource)}")

    def _lacks(self, known: Account, need: NeededPermissions) -> str | None:
        return None if need == self._sends_traces else known.lacks(need, self._reply_topic)

    def may_receive_as_producer(self, peer: Peer, topic: str) -> bool:
        """Whether a producer may receive messages of a topic: whether the account of its heartbeats may send there.

        A heartbeat may name any producer group: producer groups have no permissions.
        """
        client = self._client(peer.remote_text)
        if client.white:
            return True
        known = self._accounts.get(self._client_ids.account(peer))
        if known is None:
            return False
        every = known.is_near(client.address) or known.may_all(RequestCode.END_TRANSACTION)
        return every or self._lacks(known, sent_to(topic)) is None

    def _refuse(self, reason: str, words: str) -> NoReturn:
        self._refused[reason] += 1
        raise AccessRefused(words)

    def _client(self, remote: str) -> _Client:
        host = remote.rpartition(":")[0]
        client = self._clients.get(host)
        if client is None:
            if len(self._clients) >= _MOST_ADDRESSES:
                self._clients.clear()
            address = normal(host.strip("[]"))
            client = _Client(address, any(matches(address) for matches in self._white))
            self._clients[host] = client
        return client

    # --- the file

    async def run(self, run_sync: RunSync) -> None:
        """Make requested changes, and check the file every half second."""
        while True:
            await self.make_one_change(run_sync)

    async def make_one_change(self, run_sync: RunSync) -> None:
        """Make one change, or check the file when none is requested within half a second.

        Only this task does both, one after the other, so that no change overwrites another.
        """
        change = None
        with trio.move_on_after(CHECK_SECONDS):
            change = await self._changes.receive()
        if change is None:
            await self.reload_if_changed(run_sync)
        else:
            await self._carry_out(change, run_sync)

    async def reload_if_changed(self, run_sync: RunSync) -> None:
        """Load the file if it changed since the last check; `run_sync` does so, for it may take long."""
        try:
            stamp = self._stamp()
            if stamp == self._seen:
                return
            self._seen = stamp
            found = await run_sync(self._read)
        except (AclFileInvalid, OSError) as error:
            reason = str(error.strerror if isinstance(error, OSError) else error)
            if reason != self._complaint:
                log.warning(
                    "access control: %(file)s: %(reason)s; the former accounts stay",
                    {"file": self.path, "reason": reason},
                )
            self._complaint = reason
            return
        self._complaint = ""
        self._take(found)
        log.info(
            "access control: %(file)s was read again: %(accounts)d accounts",
            {"file": self.path, "accounts": len(self._accounts)},
        )

    async def _carry_out(self, change: _Change, run_sync: RunSync) -> None:
        try:
            found, self._seen = await run_sync(self._write, change.make)
        except (AclFileInvalid, OSError) as error:
            reason = f"{self.path}: {error.strerror}" if isinstance(error, OSError) else str(error)
            change.done(change.failed(reason))
            return
        self._take(found)
        log.info("access control: %(change)s by request", {"change": change.what})
        change.done(None)

    def _stamp(self) -> _Stamp:
        return self._files.modified(self.path), self._files.size(self.path)

    def _first(self) -> AccountsFile:
        """The file's content at the start; an empty file then admits no client."""
        try:
            return self._read()
        except AclFileEmpty:
            return NO_ACCOUNTS

    def _data(self) -> bytes:
        check_size(self._files.size(self.path) or 0)
        data = self._files.read(self.path)
        if data is None:
            raise AclFileInvalid("it does not exist")
        return data

    def _read(self) -> AccountsFile:
        return file.read(self._data())

    def _take(self, found: AccountsFile) -> None:
        for line in found.warnings:
            if line not in self._warned:
                log.warning("access control: %(file)s: %(warning)s", {"file": self.path, "warning": line})
        self._warned = found.warnings
        self._accounts = found.accounts
        self._white = found.white
        self._config = found.config
        self._clients.clear()
        self.version = found.version or DataVersion(counter=0, timestamp=self._clock())
        self.changed()

    def _write(self, make: Callable[[bytes], bytes]) -> tuple[AccountsFile, _Stamp]:
        """Change the file; return its new content."""
        data = make(self._data())
        found = file.read(data)
        self._files.replace(os.path.realpath(self.path), data)
        return found, self._stamp()

    # --- administration

    def config(self) -> AclConfig:
        """All accounts and addresses in force, including secret keys."""
        return self._config

    def update(self, config: PlainAccessConfig, done: Done) -> None:
        """Add or change an account; values missing in `config` stay.

        Raises:
            AccountNotUpdated: a value cannot be used, or too many changes wait.
        """
        try:
            account(PlainAccessConfig(access_key=config.access_key, secret_key=config.secret_key))
            check_permissions(config.topic_perms)
            check_permissions(config.group_perms)
            white_list(config.white_remote_address or "")
        except (AccountInvalid, WhiteListInvalid) as error:
            raise AccountNotUpdated(str(error)) from None
        self._queue_change(
            lambda data: file.with_account(data, config, self._clock()),
            done,
            failed=AccountNotUpdated,
            what=f"account {config.access_key} was changed",
        )

    def delete(self, access_key: str | None, done: Done) -> None:
        """Delete an account.

        Raises:
            AccountNotDeleted: no account can have that name, or too many changes wait.
        """
        if access_key is None:
            raise AccountNotDeleted(access_key)
        self._queue_change(
            lambda data: file.without_account(data, access_key, self._clock()),
            done,
            failed=lambda _reason: AccountNotDeleted(access_key),
            what=f"account {access_key} was deleted",
        )

    def replace_addresses(self, addresses: tuple[str, ...] | None, path: str | None, done: Done) -> None:
        """Set the addresses that need no account; `path`, if any, must be the file's.

        Raises:
            AddressesNotUpdated: no addresses are given, `path` is another file, or too many changes wait.
        """
        shown_addresses = "null" if addresses is None else ",".join(addresses)
        if addresses is None or (path and os.path.realpath(path) != os.path.realpath(self.path)):
            raise AddressesNotUpdated(shown_addresses)
        self._queue_change(
            lambda data: file.with_addresses(data, addresses, self._clock()),
            done,
            failed=lambda _reason: AddressesNotUpdated(shown_addresses),
            what="the addresses that need no account were changed",
        )

    def _queue_change(
        self, make: Callable[[bytes], bytes], done: Done, *, failed: Callable[[str], ServerError], what: str
    ) -> None:
        try:
            self._queue.send_nowait(_Change(make, done, failed, what))
        except trio.WouldBlock:
            raise failed("too many changes wait to be carried out") from None


def _is_signed(secret: SecretKey, ext: dict[str, str], body: memoryview, proof: CallSignature | None) -> bool:
    """Whether a request is signed with a secret key."""
    if proof is None:
        return secret.verify(ext, body)
    return compare_digest(secret.sign(proof.signed), proof.signature)
