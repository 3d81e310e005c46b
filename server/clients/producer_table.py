"""All connected producers (328), as `mqadmin producer` shows them."""

from __future__ import annotations

from typing import Final

import trio

from rocketwire.server.clients.members import GroupMember
from rocketwire.server.clients.offset_reset import OnlineServices
from rocketwire.server.core.long_tasks import ROWS_PER_STEP, ReplyOperation, check_answer, encode_answer
from rocketwire.server.core.request import Peer, Reply, Request
from rocketwire.wire.bodies.online import ProducerInfo, ProducerTableInfo

_LEAST_PRODUCER: Final = len('{"clientId":"","language":"GO","lastUpdateTimestamp":0,"remoteIP":"","version":1},')


def all_producers(services: OnlineServices, _request: Request[None]) -> ReplyOperation:
    """Tell of the producers of every group."""
    found: dict[str, tuple[ProducerInfo, ...]] = {}
    rows = least = 0
    for group in services.clients.producer_groups():
        producers: list[ProducerInfo] = []
        for peer, member in services.clients.producers(group):
            producers.append(_producer_info(services, peer, member))
            rows, least = rows + 1, least + _LEAST_PRODUCER + len(member.client_id)
            if not rows % ROWS_PER_STEP:
                check_answer(least)
                yield None
        if producers:
            found[group] = tuple(producers)
            least += len(group)
    return Reply(body=((yield from encode_answer(ProducerTableInfo(data=found), rows, least)),))


def _producer_info(services: OnlineServices, peer: Peer, member: GroupMember) -> ProducerInfo:
    ago = int((trio.current_time() - member.last_seen) * 1000)
    return ProducerInfo(
        client_id=member.client_id,
        remote_ip=f"/{peer.remote_text}",
        language=member.language,
        version=member.version,
        last_update_timestamp=services.clock() - ago,
    )
