"""The command lines of `mqadmin` that run at both endpoints, as data.

Theory: the commands run in this order on both endpoints, so each finds the state that those before it left. In a line,
`{name}` is a value of the endpoint or of the prepared state (see `Scene`). A command that this endpoint answers in
another way on purpose has the reason in `differs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from compat_tests.admin_tools import VERSIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line.

    Attributes:
        line: The command and its options, as typed.
        versions: The tools that have it.
        broker: The version of Apache's broker whose answer counts.
        writes: The file that it writes, whose JSON is compared too.
        varies: What of the output differs from run to run besides what `masks` knows, as a pattern.
        differs: Why the outputs differ; empty: they must be equal.
    """

    line: str
    versions: tuple[str, ...] = VERSIONS
    broker: str = "4.9.7"
    writes: str = ""
    varies: str = ""
    differs: str = ""


def _commands(
    *lines: str, varies: str = "", differs: str = "", versions: tuple[str, ...] = VERSIONS
) -> tuple[Command, ...]:
    return tuple(Command(line=line, varies=varies, differs=differs, versions=versions) for line in lines)


def _of_5x(*lines: str, varies: str = "") -> tuple[Command, ...]:
    """Commands whose 5.5.0 tool sends requests that a 4.9.7 broker does not know."""
    return tuple(Command(line=line, varies=varies, versions=("5.5.0",), broker="5.5.0") for line in lines)


def _by_tool(*lines: str, varies: str = "") -> tuple[Command, ...]:
    """Commands whose 5.5.0 tool sends other requests: for one topic's configuration, and to reset at the broker."""
    return _commands(*lines, varies=varies, versions=("4.9.7",)) + _of_5x(*lines, varies=varies)


# A broker counts the changes of its tables, and those of its start are not the same; 4.9.7's drops a topic's order.
_TABLES: Final = r"(?<=/dataVersion/counter = )\d+|(?<=Ordered/order = )\w+"
# Made at the first check of transactions.
_HALF: Final = r"^(DefaultCluster )?RMQ_SYS_TRANS_HALF_TOPIC"
# The retry queue's first commit, a rate, a client's statistics, and how soon a consumer that has left is removed.
_SOON: Final = (
    r"^%RETRY%.*|^mqadmin\dLive \d+ OFFLINE.*|(?<=Fetch )\d .+"
    r"|(?<= CLUSTERING )\d+|Consume TPS: [\d.]+|(\d+\.\d\d ){5}"
)

# The producers inside of tools that ran before: one that has left is listed until the broker has seen it go.
_TOOLS: Final = r"^producer group \(CLIENT_INNER_PRODUCER\).*"

# What makes the topics and groups; then messages are sent and consumers join.
MAKING: Final = _commands(
    "updateTopic -b {broker} -t {topic} -r 4 -w 4",
    "updateTopic -c DefaultCluster -t {topic}Cluster -r 2 -w 3 -p 6",
    "updateTopic -b {broker} -t {topic}Ordered -r 2 -w 2 -o true",
    "updateTopic -b {broker} -t {topic}Unit -r 2 -w 2 -u true -s true",
    "updateTopic -b {broker} -t bad*name",
    "updateTopic -b {broker} -t SCHEDULE_TOPIC_XXXX",
    "updateSubGroup -b {broker} -g {group} -s true -m true -d true -q 2 -r 5 -i 0 -w 1 -a true",
    "updateSubGroup -c DefaultCluster -g {group}Gone",
    "updateSubGroup -b {broker} -g {group}Copy",
)
_TOPICS: Final = (
    *_commands("topicList", "topicList -c", varies=_HALF),
    *_by_tool("topicStatus -t {topic}", "topicStatus -t {topic}Cluster"),
    *_commands(
        "topicStatus -t {topic}Unknown",
        "topicRoute -t {topic}",
        "topicRoute -t {topic} -l",
        "topicRoute -t {topic}Unknown",
        "topicClusterList -t {topic}",
        "updateTopicPerm -b {broker} -t {topic}Cluster -p 4",
        "updateTopicPerm -b {broker} -t {topic}Cluster -p 4",
        "updateTopicPerm -c DefaultCluster -t {topic}Cluster -p 6",
        "updateTopicPerm -b {broker} -t {topic}Unknown -p 4",
        "allocateMQ -t {topic} -i 192.0.2.1,192.0.2.2",
        "updateOrderConf -t {topic}Ordered -m put -v broker-a:2",
        "updateOrderConf -t {topic}Ordered -m get",
    ),
    Command(
        line="topicRoute -t {topic}Ordered",
        differs="Apache's name server omits the order unless orderMessageEnable=true is set",
    ),
    *_commands(
        "updateOrderConf -t {topic}Ordered -m delete",
        "updateOrderConf -t {topic}Ordered -m get",
        "updateKvConfig -s {topic} -k key -v value",
        "deleteKvConfig -s {topic} -k key",
        "deleteKvConfig -s {topic} -k unknown",
    ),
)
_ONE_MESSAGE: Final = (
    "queryMsgByUniqueKey -t {topic} -i {unique_id}",
    "queryMsgByUniqueKey -t {topic} -i {unique_id} -a",
    "queryMsgByOffset -b broker-a -t {topic} -i 1 -o 1",
)
_MESSAGES: Final = (
    *_commands("queryMsgById -i {offset_id}", "queryMsgById -i {missing_id}", versions=("4.9.7",)),
    *_commands("queryMsgById -i {missing_id} -t {topic}", versions=("5.5.0",)),
    *_commands(*_ONE_MESSAGE, versions=("4.9.7",)),
    *_commands(
        *_ONE_MESSAGE,
        versions=("5.5.0",),
        differs="5.5.0's broker adds MSG_REGION and TRACE_ON to messages, 4.9.7's has no 351",
    ),
    *_commands(
        "queryMsgByKey -t {topic} -k key-1",
        "queryMsgByKey -t {topic} -k unknown",
        "queryMsgByOffset -b broker-a -t {topic} -i 1 -o 99",
        "queryMsgTraceById -i {unique_id}",
        "printMsg -t {topic}",
        "printMsg -t {topic} -d true -s tag-1",
        "printMsg -t {topic}Cluster",
        "printMsgByQueue -t {topic} -a broker-a -i 1 -p true -d true",
        "printMsgByQueue -t {topic} -a broker-a -i 1 -f true",
        "consumeMessage -t {topic} -c 4 -g {group}Fetch",
        "consumeMessage -t {topic} -b broker-a -i 1 -o 1 -c 1 -g {group}Fetch",
        "sendMessage -t {topic}Cluster -p body -b broker-a -i 1",
        "queryCq -t {topic}Cluster -q 1 -i 0",
        "sendMsgStatus -b broker-a -s 64 -c 2",
    ),
    Command(line="sendMessage -t {topic}Cluster -p body -k sent-key -c sent-tag", varies=r"(?<=^broker-a )\d"),
    Command(line="checkMsgSendRT -t {topic}Cluster -a 3 -s 64", varies=r"(true|Avg RT:) [\d.]+"),
    *_commands(
        "queryCq -t {topic} -q 1 -i 0",
        "queryCq -t {topic} -q 1 -i 1 -c 5 -b {broker}",
        "queryCq -t {topic} -q 1 -i 0 -g {group}",
        "queryCq -t {topic} -q 1 -i 0 -g {group}Live",
        "queryCq -t {topic} -q 1 -i 99",
        "queryCq -t {topic} -q 9 -i 0",
        "queryCq -t {topic}Unknown -q 0 -i 0 -b {broker}",
    ),
)
_GROUPS: Final = (
    *_commands("producer -b {broker}", varies=_TOOLS),
    *_commands(
        "producerConnection -g {group}Producer -t {topic}",
        "producerConnection -g {group}Unknown -t {topic}",
        "consumerConnection -g {group}Live",
        "consumerConnection -g {group}Live -b {broker}",
        "consumerConnection -g {group}Gone",
        "consumerStatus -g {group}Live",
        "consumerStatus -g {group}Live -b {broker}",
        "consumerStatus -g {group}Unknown",
    ),
    *_commands("consumerStatus -g {group}Live -i {client_id}", "consumerProgress", varies=_SOON),
    *_by_tool("consumerProgress -g {group}Live", "consumerProgress -g {group}Live -s true", varies=_SOON),
    *_commands(
        "consumerProgress -g {group}",
        "consumerProgress -g {group}Unknown",
        "getConsumerConfig -g {group}",
        "getConsumerConfig -g {group}Unknown",
        "cloneGroupOffset -s {group} -d {group}Copy -t {topic} -o true",
        "cloneGroupOffset -s {group} -d {group}Copy -t {topic}",
        "consumerProgress -g {group}Copy",
    ),
    *_by_tool("resetOffsetByTime -g {group} -t {topic} -s 0"),
    *_commands("consumerProgress -g {group}"),
    *_by_tool("resetOffsetByTime -g {group} -t {topic} -s now"),
    *_commands("resetOffsetByTime -g {group}Live -t {topic} -s 0"),
    *_commands("resetOffsetByTime -g {group}Unknown -t {topic} -s 0", versions=("4.9.7",)),
    Command(
        line="resetOffsetByTime -g {group}Unknown -t {topic} -s 0",
        versions=("5.5.0",),
        broker="5.5.0",
        differs="a group that is not known is reset too",
    ),
    *_by_tool("skipAccumulatedMessage -g {group} -t {topic}"),
    *_commands("skipAccumulatedMessage -g {group}Live -t {topic} -f true", "consumerProgress -g {group}"),
)
_NUMBERS: Final = r"-?\d+(\.\d+)?(E-?\d+)?"
# What one broker prints and the other does not, and what is not there in a broker's first minute.
_STATUS: Final = (
    r"^(timer|ack|litePull|brokerActive|getTransferredTps|commitLogDiskRatio|schedule).*"
    r"|(?<=^putMessageDistributeTime : ).*|(?<=^remainHowManyDataToFlush : ).*"
)
_STATISTICS: Final = (
    *_commands("statsAll -t {topic}", versions=("4.9.7",), varies=r"(?<= )[\d.]+"),
    *_commands("clusterList", versions=("4.9.7",), varies=_NUMBERS),
    *_of_5x("clusterList", varies=_NUMBERS),
    *_commands("clusterList -m", varies=r"\d+(?= |$)"),
    *_commands("brokerStatus -b {broker}", versions=("4.9.7",), varies=f"{_STATUS}|MS|{_NUMBERS}"),
    *_commands(
        "brokerConsumeStats -b {broker}", "brokerConsumeStats -b {broker} -o true", versions=("4.9.7",), varies=_SOON
    ),
    Command(
        line="exportMetrics -c DefaultCluster -f {folder}",
        versions=("4.9.7",),
        writes="metrics.json",
        varies=r"^/evaluateReport/broker-a/runtimeEnv/cpuNum = .*|(?<= = ).*",
    ),
)
_BROKER: Final = (
    *_commands(
        "cleanExpiredCQ -b {broker}",
        "cleanExpiredCQ -c DefaultCluster",
        "cleanUnusedTopic -b {broker}",
        "cleanUnusedTopic -c DefaultCluster",
        "deleteExpiredCommitLog -b {broker}",
        "deleteExpiredCommitLog -c DefaultCluster",
        "updateBrokerConfig -b {broker} -k fileReservedTime -v 71",
        "updateBrokerConfig -c DefaultCluster -k fileReservedTime -v 72",
    ),
    *_commands(
        "getBrokerConfig -b {broker}",
        "getBrokerConfig -c DefaultCluster",
        differs="each broker has other keys",
    ),
    Command(line="exportMetadata -c DefaultCluster -f {folder}", writes="metadata.json", varies=_TABLES),
    Command(line="exportMetadata -b {broker} -t -f {folder}", writes="topic.json", varies=_TABLES),
    Command(line="exportMetadata -b {broker} -t -s -f {folder}", writes="topic.json", varies=_TABLES),
    Command(line="exportMetadata -b {broker} -g -f {folder}", writes="subscriptionGroup.json", varies=_TABLES),
    Command(line="exportConfigs -c DefaultCluster -f {folder}", writes="configs.json"),
    # Behind the lists of topics and groups, which are compared with 4.9.7's.
    *_of_5x(
        "updateTopicList -b {broker} -f {topics}",
        "topicRoute -t {topic}Listed2",
        "topicStatus -t {topic}Listed2",
        "updateSubGroupList -b {broker} -f {groups}",
        "getConsumerConfig -g {group}Listed2",
        "setConsumeMode -b {broker} -t {topic} -g {group} -m POP -q 3",
        "setConsumeMode -c DefaultCluster -t {topic} -g {group} -m PULL -q 0",
        "setConsumeMode -b {broker} -t {topic}Unknown -g {group} -m POP -q 3",
        "setConsumeMode -b {broker} -t %RETRY%{group} -g {group} -m POP -q 3",
        "setConsumeMode -b {broker} -t {topic} -g {group} -m PUSH -q 3",
    ),
    Command(
        line="updateSubGroup -b {broker} -g bad*{group}",
        versions=VERSIONS[-1:],  # the last command of all: the lists of the others must not hold it
        differs="4.9.7 lets a group have a name that no client may use",
    ),
)
COMMANDS: Final = (*MAKING, *_TOPICS, *_MESSAGES, *_GROUPS, *_STATISTICS, *_BROKER)
