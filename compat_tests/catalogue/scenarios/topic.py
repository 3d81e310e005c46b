"""Topics as clients create and delete them."""

from __future__ import annotations

from rocketwire.compat.case import Case
from rocketwire.compat.scenario import Need, scenario
from rocketwire.remoting.admin.topics import topic_config


@scenario(
    id="topic.create",
    proves="A topic that a client's own call creates has the requested queues.",
    source="Apache 4.9, MQAdminImpl.createTopic and AdminBrokerProcessor.updateAndCreateTopic",
    needs=(Need.ONE_BROKER, Need.AUTO_CREATE_TOPIC),
    programs=("CreateTopic",),
)
def create(case: Case) -> None:
    topic = case.unique("Made")
    (created,) = case.client.only("created", "CreateTopic", topic=topic, queues=6)
    assert [int(queue.rpartition(":")[2]) for queue in created["queues"]] == list(range(6))


@scenario(
    id="topic.delete",
    proves="A topic that a client's admin call deletes is removed from the brokers and from the name server.",
    source="Apache 4.9, AdminBrokerProcessor.deleteTopic and RouteInfoManager.deleteTopic",
    programs=("DeleteTopic",),
)
def delete(case: Case) -> None:
    topic = case.topic(1, name="Doomed")
    with case.endpoint.access.cluster() as cluster:
        brokers = cluster.all_brokers().values()
        case.client.run("DeleteTopic", topic=topic, broker=["{}:{}".format(*each.address) for each in brokers])
        assert [topic_config(each, topic) for each in brokers] == [None] * len(brokers)
    assert not case.has_topic(topic)
