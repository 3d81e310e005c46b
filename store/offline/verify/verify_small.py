"""Verifying the small files: checkpoint, config, abort, lock, and files that do not belong in a store."""

from __future__ import annotations

from typing import Any, Final

from rocketwire.store.disk.foreign import IGNORED_FILE_REMARK
from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.layout.checkpoint import CHECKPOINT, FILE_SIZE
from rocketwire.store.offline.read.config import checkpoint
from rocketwire.store.offline.read.directory import PlainFile, StoreDirectory, StoreState
from rocketwire.store.offline.read.opening import FileGone, read_whole
from rocketwire.store.offline.verify.findings import Finding, FindingKind, ReportFinding
from rocketwire.store.tables.pop.order_info import OrderInfoBody
from rocketwire.wire.bodies._shapes import from_builtins
from rocketwire.wire.bodies.assignment import MessageRequestModes
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.layout import positions

_MOST: Final = 256 << 20
_BACKUP: Final = ".bak"
#: What a broker does not start with unless it has this shape.
_SHAPES: Final[dict[str, type[Any]]] = {
    "consumerOrderInfo.json": OrderInfoBody,
    "messageRequestMode.json": MessageRequestModes,
}
_JSON_WITHOUT_NAME: Final = frozenset({"timermetrics", "transactionMetrics"})


def check_small_files(directory: StoreDirectory, report: ReportFinding) -> None:
    """Report on everything that does not depend on the log."""
    for strange in directory.unexpected:
        path = strange.path.removeprefix(directory.root + "/")
        report(Finding(kind=FindingKind.DAMAGE, path=path, what=strange.reason))
    for ignored in directory.ignored:
        path = ignored.removeprefix(directory.root + "/")
        report(Finding(kind=FindingKind.NOTE, path=path, what=IGNORED_FILE_REMARK))
    if directory.state is StoreState.CRASHED:
        what = "the last broker did not stop cleanly; the next start recovers"
        report(Finding(kind=FindingKind.NOTE, path="abort", what=what))
    if directory.batch_queues:
        what = "the queues of batch topics are not looked at"
        report(Finding(kind=FindingKind.NOTE, path="batchconsumequeue", what=what))
    if "consumequeue_rocksdb" in directory.others and not directory.queues:
        what = "consume queues kept in RocksDB are not looked at"
        report(Finding(kind=FindingKind.NOTE, path="consumequeue_rocksdb", what=what))
    names = {file.name: file for file in directory.config}
    for file in directory.config:
        _check_config(file, names.get(file.name + _BACKUP), report)


def _check_config(file: PlainFile, backup: PlainFile | None, report: ReportFinding) -> None:
    plain = file.name.removesuffix(_BACKUP)
    if not plain.endswith(".json") and plain not in _JSON_WITHOUT_NAME:
        return
    trouble = _trouble(file) and _trouble(file)  # twice, because a broker may overwrite the file during the read
    if not trouble:
        return
    if backup is not None and not _trouble(backup) and backup.size:
        trouble += f"; {backup.name} is read in its place"
    report(Finding(kind=FindingKind.DAMAGE, path=f"config/{file.name}", what=trouble))


def _trouble(file: PlainFile) -> str:
    """Why a config file cannot be read; an empty one counts as missing."""
    try:
        data = read_whole(file.path, _MOST, file.files)
        found = loads(data) if data.strip() else {}
        if not isinstance(found, dict):
            return "not readable: it is no JSON object"
        shape = _SHAPES.get(file.name.removesuffix(_BACKUP))
        if shape is not None:
            from_builtins(shape, found)
    except FileGone:
        return ""
    except StoreUnreadable as error:
        return error.reason
    except WireError as error:
        return f"not readable: {error}"
    return ""


def check_checkpoint(directory: StoreDirectory, newest: int, report: ReportFinding) -> None:
    """Report on the checkpoint, once the greatest store time (ms) in the log is known; 0 when there is none."""
    if directory.checkpoint is None:
        if directory.commit_log:
            what = "missing: the next start reads more than it would have to, and makes it"
            report(Finding(kind=FindingKind.NOTE, path="checkpoint", what=what))
        return
    if directory.checkpoint.size != FILE_SIZE:
        what = f"it has {directory.checkpoint.size} bytes and should have {FILE_SIZE}"
        report(Finding(kind=FindingKind.DAMAGE, path="checkpoint", what=what))
    try:
        times = checkpoint(directory)
    except StoreUnreadable:
        return
    if times is None or directory.state in {StoreState.LIVE, StoreState.UNKNOWN}:
        return
    values = (times.commit_log, times.consume_queue, times.index)
    for (name, position), value in zip(positions(CHECKPOINT).items(), values, strict=True):
        if value < 0 or (newest and value > newest):
            what = f"its {name.replace('_', ' ')} is {value}, but the newest message was stored at {newest}"
            report(Finding(kind=FindingKind.DAMAGE, path="checkpoint", position=position, what=what))
