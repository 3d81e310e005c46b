"""Reading a store's config files, written by any broker of 4.x or 5.x, without changing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.layout.checkpoint import CHECKPOINT_STRUCT
from rocketwire.store.offline.read.directory import StoreDirectory
from rocketwire.store.offline.read.opening import FileGone, read_whole
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.errors import WireError

_MOST: Final = 256 << 20
_SEPARATOR: Final = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffset:
    """How far a group has consumed one queue: `offset` is that of the message it takes next."""

    group: str
    topic: str
    queue_id: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointTimes:
    """The checkpoint: up to which store times (ms) log, consume queues and index are on the disk; 0 for not known."""

    commit_log: int
    consume_queue: int
    index: int


def document(directory: StoreDirectory, name: str) -> dict[str, Any]:
    """A config file as a dictionary; its .bak when it is missing, empty or unreadable; empty when there is neither.

    Raises:
        StoreUnreadable: what there is cannot be read, or is no JSON object.
    """
    trouble: StoreUnreadable | None = None
    # Two tries: a broker may overwrite the file that is being read, once another one has its name.
    for candidate in (name, name, name + ".bak"):
        path = f"{directory.root}/config/{candidate}"
        try:
            data = read_whole(path, _MOST, directory.files)
            if not data.strip():
                continue
            found = loads(data)
            if isinstance(found, dict):
                return found
            trouble = trouble or StoreUnreadable(path, "it is no JSON object")
        except FileGone:
            continue
        except StoreUnreadable as error:
            trouble = trouble or error
        except WireError as error:
            trouble = trouble or StoreUnreadable(path, str(error))
    if trouble is not None:
        raise trouble
    return {}


def table(directory: StoreDirectory, name: str, key: str) -> dict[str, Any]:
    """A table inside a config file; empty when there is none.

    Raises:
        StoreUnreadable: the file cannot be read as what it should be.
    """
    found = document(directory, name).get(key, {})
    if not isinstance(found, dict):
        raise StoreUnreadable(f"{directory.root}/config/{name}", f"its {key} is no table")
    return {str(entry): value for entry, value in found.items()}


def topic_names(directory: StoreDirectory) -> set[str]:
    """Topics that `topics.json` names, or that have a directory among the consume queues.

    Raises:
        StoreUnreadable: the file cannot be read as what it should be.
    """
    return set(table(directory, "topics.json", "topicConfigTable")) | set(directory.topics)


def offsets(directory: StoreDirectory) -> dict[tuple[str, str], dict[int, int]]:
    """The offsets that groups committed: by group and topic, then by queue. Those below 0 count as 0, as at a broker.

    Raises:
        StoreUnreadable: consumerOffset.json cannot be read as what it should be.
    """
    found: dict[tuple[str, str], dict[int, int]] = {}
    for key, queues in table(directory, "consumerOffset.json", "offsetTable").items():
        # A topic has no @ in its name; what 5.x notes of a broadcasting group has one in the group's.
        topic, _, group = key.partition(_SEPARATOR)
        try:
            found[group, topic] = {int(queue_id): max(0, int(offset)) for queue_id, offset in queues.items()}
        except (AttributeError, TypeError, ValueError) as error:
            path = f"{directory.root}/config/consumerOffset.json"
            raise StoreUnreadable(path, f"the offsets of {key} are not numbers") from error
    return found


def committed_offsets(directory: StoreDirectory) -> list[CommittedOffset]:
    """The offsets that groups committed, by group, topic and queue.

    Raises:
        StoreUnreadable: consumerOffset.json cannot be read as what it should be.
    """
    return [
        CommittedOffset(group=group, topic=topic, queue_id=queue_id, offset=offset)
        for (group, topic), queues in sorted(offsets(directory).items())
        for queue_id, offset in sorted(queues.items())
    ]


def checkpoint(directory: StoreDirectory) -> CheckpointTimes | None:
    """The checkpoint's times; None when there is no such file.

    Raises:
        StoreUnreadable: it cannot be read, or is too short.
    """
    if directory.checkpoint is None:
        return None
    path = directory.checkpoint.path
    data = read_whole(path, CHECKPOINT_STRUCT.size, directory.files)
    if len(data) < CHECKPOINT_STRUCT.size:
        raise StoreUnreadable(path, f"it has {len(data)} bytes and should have 4096")
    commit_log, consume_queue, index = CHECKPOINT_STRUCT.unpack(data)
    return CheckpointTimes(commit_log=commit_log, consume_queue=consume_queue, index=index)
