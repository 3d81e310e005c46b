"""Looking up one timer message by its id, in the index, so that nothing else is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rocketwire.cli.timer.remote import may_wait, timer_of, timers_of
from rocketwire.cli.trace.query import messages_of, messages_on
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.store.layout.timer_log import UnitMagic
from rocketwire.store.offline.plan.plan import find
from rocketwire.store.offline.plan.select import MessageConditions
from rocketwire.store.offline.read.directory import StoreDirectory
from rocketwire.store.offline.read.scan import ReportProblem
from rocketwire.store.offline.read.selected import SelectedMessage
from rocketwire.store.offline.timer.messages import NO_MARK, TimerMessage, timer_message
from rocketwire.store.offline.timer.timer import StoreTimer
from rocketwire.store.timer.units import due_time, out_time
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.recall_handle import RecallHandle

_SECOND: Final = 1000


class FoundTimerMessage(NamedTuple):
    """A message that waits or has waited.

    Attributes:
        message: Its newest record in the timer's topic.
        broker: Its broker's name; None in a store, which does not contain it.
        due: When it is to be delivered, ms.
        waits: Whether it still does.
        cancelled: Whether a marker that waits as well cancels it.
        rolls_at: When it is stored again, ms; None when it is not, or that is not known.
        position: Position of its unit in the timer log; None without one, or when that is not known.
        copy: Its copy in its topic, stored when it was due; None when there is none.
    """

    message: TimerMessage
    broker: str | None
    due: int
    waits: bool
    cancelled: bool
    rolls_at: int | None
    position: int | None
    copy: SelectedMessage | None


def in_store(directory: StoreDirectory, message_id: str, report: ReportProblem) -> Iterator[FoundTimerMessage]:
    """The messages of a store with an id.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    with StoreTimer(directory, report) as timer:
        rows = timer.waiting
        markers = rows[(rows["magic"] & UnitMagic.DELETE) != 0]
        marks = {message.mark for _, message in timer.messages(markers) if message is not None}
        wanted = MessageConditions(topics=frozenset([TIMER_TOPIC]), message_id=message_id)
        for one in _newest(find(directory, wanted, report)):
            waits = rows[rows["physical_offset"] == one.physical_offset]
            row = waits[0] if len(waits) else None
            copies = find(
                directory, MessageConditions(topics=frozenset([one.topic]), message_id=one.message_id), report
            )
            yield FoundTimerMessage(
                message=one,
                broker=None,
                due=due_time(one.out, timer.precision),
                waits=row is not None,
                cancelled=row is not None and one.mark != NO_MARK and one.mark in marks and one.cancels is None,
                rolls_at=int(row["out"]) if row is not None and row["magic"] & UnitMagic.ROLL else None,
                position=int(row["position"]) if row is not None and row["position"] >= 0 else None,
                copy=_copy_of(one, copies),
            )


def on_brokers(cluster: BlockingCluster, message_id: str) -> Iterator[FoundTimerMessage]:
    """The messages of a name server's brokers with an id; of markers only those made by a recall are found.

    Raises:
        Mistake: no broker has a timer.
        NotReached, Refused: a broker does not answer, or refuses.
    """
    timers = {broker.name: broker for broker in timers_of(cluster)}
    stored = messages_of(cluster, TIMER_TOPIC, message_id)
    for name, broker in timers.items():
        records = [each.found for each in stored if each.broker == name]
        marks = {
            one.mark
            for one in filter(None, map(timer_message, records))
            if one.cancels is not None and may_wait(one, broker)
        }
        for one in _newest(records):
            waits = may_wait(one, broker)
            copies = [each.found for each in messages_of(cluster, one.topic, one.message_id) if each.broker == name]
            yield FoundTimerMessage(
                message=one,
                broker=name,
                due=due_time(one.out, broker.precision),
                waits=waits,
                cancelled=waits and one.mark in marks,
                rolls_at=None,
                position=None,
                copy=_copy_of(one, copies),
            )


def waits_on_broker(connection: BlockingConnection, handle: RecallHandle) -> bool:
    """Whether the message of a handle is found among those that wait, by the index of the handle's broker.

    Raises:
        NotReached, Refused: the broker does not answer, has no timer, or refuses.
    """
    broker = timer_of(handle.broker, connection)
    # A marker acts in the slot of its message: within one second, see `TimerMessage.mark`.
    second = out_time(handle.time) // _SECOND
    return any(
        may_wait(one, broker)
        and (one.topic, one.unique_key) == (handle.topic, handle.unique_key)
        and one.out // _SECOND == second
        and one.cancels is None
        for one in _newest(messages_on(connection, TIMER_TOPIC, handle.unique_key))
    )


def _newest(records: Iterable[SelectedMessage]) -> Iterator[TimerMessage]:
    """The record of each message that rolled most often; markers only when there is nothing else."""
    messages = [message for message in map(timer_message, records) if message is not None]
    for some in ([each for each in messages if each.cancels is None], messages):
        most: dict[int, int] = {}
        for each in some:
            most[each.out] = max(most.get(each.out, 0), each.rolls)
        if some:
            yield from (each for each in some if each.rolls == most[each.out])
            return


def _copy_of(one: TimerMessage, copies: Iterable[SelectedMessage]) -> SelectedMessage | None:
    """The delivered copy of a message, which holds its due time."""
    for copy in copies:
        said = timer_message(copy)
        if said is not None and said.out == one.out:
            return copy
    return None
