"""Topics as clients create them."""

from __future__ import annotations

from rocketwire.compat.case import Case
from rocketwire.compat.scenario import Need, scenario


@scenario(
    id="topic.create",
    feature="topic",
    proves="A topic that a client's own call creates has the queues that were asked for.",
    source="Apache 4.9, MQAdminImpl.createTopic and AdminBrokerProcessor.updateAndCreateTopic",
    needs=(Need.ONE_BROKER, Need.AUTO_CREATE_TOPIC),
    programs=("CreateTopic",),
)
def create(case: Case) -> None:
    topic = case.unique("Made")
    (created,) = case.client.only("created", "CreateTopic", topic=topic, queues=6)
    assert [int(queue.rpartition(":")[2]) for queue in created["queues"]] == list(range(6))
