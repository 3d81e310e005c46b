"""Transactions: half messages, their outcomes, and back-checks of those without one.

Theory: all durable state is in two queues, as Apache 4.9.7 writes them. A half message is in queue 0 of
RMQ_SYS_TRANS_HALF_TOPIC. An op message in queue 0 of RMQ_SYS_TRANS_OP_HALF_TOPIC, whose body is the queue offset of a
half message, records that this one is decided. The offsets of the group CID_RMQ_SYS_TRANS are the progress in both
queues. A half message has one outcome: the message itself, a new copy of the half message, or a message in
TRANS_CHECK_MAX_TIME_TOPIC. The outcome is appended together with the op message.

Begin with `handlers` and `outcomes`; `half` has the records, `state` the undecided half messages, `back_checker` sends
back-checks.
May import: `core`, `config`, `maintenance`, `topics`, `clients`, `messages`; `store`, `wire`.
"""
