"""`rocketwire store info`: an overview of a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.errors import INCOMPLETE
from rocketwire.cli.output import count_of, json_line, json_option, number, size, warn
from rocketwire.cli.store.directory import opened, store_directory
from rocketwire.cli.table import print_facts
from rocketwire.cli.times import shown
from rocketwire.cli.waiting import waits
from rocketwire.store.disk.foreign import IGNORED_FILE_REMARK

if TYPE_CHECKING:
    from rocketwire.store.offline.plan.overview import StoreCounts, StoreOverview
    from rocketwire.store.offline.read.directory import StoreDirectory


_EPILOG: Final = """\
It shows whether a broker uses the directory, which broker seems to have written it and why, the times and numbers of
its messages, what is on the disk, what the timer waits for, and the sizes of all files. Exit code 1: something could
not be read; stderr says what, and the rest is shown.

\b
Examples:
  rocketwire store info data
  rocketwire store info /var/rocketmq/store --json
"""


@click.command("info", epilog=_EPILOG)
@store_directory
@json_option
def command(directory: str, commitlog: str | None, *, as_json: bool) -> int:
    """Describe a store directory and its contents. Times are UTC."""
    from rocketwire.store.offline.plan.overview import overview

    store = opened(directory, commitlog)
    with waits.during(f"reading {store.root}"):
        found = overview(store)
    if as_json:
        json_line(_object(store, found))
    else:
        print_facts(_lines(store, found))
    for problem in found.problems:
        warn(problem)
    for path in found.ignored:
        warn(f"{path}: {IGNORED_FILE_REMARK}")
    return INCOMPLETE if found.problems else 0


def _object(directory: StoreDirectory, found: StoreOverview) -> dict[str, Any]:
    log = asdict(found.log)
    del log["troubles"]
    return {
        "directory": directory.root,
        "state": directory.state.name.lower(),
        "version": found.version,
        "version_facts": found.facts,
        "commit_log": log,
        "user_topics": found.user_topics,
        "system_topics": found.own_topics,
        "files": found.files,
        "index": found.index,
        "checkpoint": found.checkpoint,
        "config": found.config,
        "timer_last_read_time": None if found.timer is None else found.timer.read_time,
        "timer_waiting": None if found.timer is None else found.timer.waiting,
        "timer_behind": None if found.timer is None else found.timer.behind,
        "problems": found.problems,
        "ignored": found.ignored,
    }


def _lines(directory: StoreDirectory, found: StoreOverview) -> Iterator[tuple[str, str]]:
    log = found.log
    yield "store", directory.root
    yield "state", directory.state.value
    yield "version", f"{found.version}: {'; '.join(found.facts)}"
    if log.first_store_time is not None:
        last = log.last_store_time
        to = "from {} UTC" if last is None else "{} to {} UTC"
        yield "stored", to.format(shown(log.first_store_time), shown(last))
    yield "messages", _counts(found.user_topics)
    yield "", f"RocketMQ's own: {_counts(found.own_topics)}"
    yield "offsets", f"physical, {number(log.start)} to {number(log.end)}: {size(log.end - log.start)}"
    yield "keys", f"{number(sum(file.keys for file in found.index))} in the index"
    if found.checkpoint is not None:
        times = (found.checkpoint.commit_log, found.checkpoint.consume_queue, found.checkpoint.index)
        texts = [shown(time) if time else "not known" for time in times]
        yield "on the disk", "up to {} (commit log), {} (consume queues), {} (index)".format(*texts)
    if found.timer is not None:
        timer = found.timer
        yield (
            "timer",
            "; ".join(
                [
                    *([f"delivered up to {shown(timer.read_time)}"] if timer.read_time is not None else []),
                    f"{count_of(timer.waiting, 'message')} waiting",
                    *([f"{number(timer.behind)} of its topic not in the wheel yet"] if timer.behind else []),
                ]
            ),
        )
    for kind, files in found.files.items():
        yield kind, f"{count_of(files.count, 'file')} of {size(files.bytes)}, {size(files.allocated)} on the disk"
    yield "in all", f"{size(sum(files.allocated for files in found.files.values()))} on the disk"
    for config in found.config:
        if not config.name.endswith(".bak"):
            version = "" if config.counter is None else f", version {config.counter} of {shown(config.changed)}"
            yield "", f"config/{config.name}: {size(config.bytes)}{version}"


def _counts(counts: StoreCounts) -> str:
    return f"{number(counts.messages)} in {count_of(counts.queues, 'queue')} of {count_of(counts.topics, 'topic')}"
