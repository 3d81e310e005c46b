"""Transactions: half messages, their outcomes, and asking producers about those that stay undecided.

Theory: everything that must outlive the process stands in two queues, as Apache 4.9.7 writes them. A half message
lies in queue 0 of RMQ_SYS_TRANS_HALF_TOPIC; an op message, with the half's queue offset for a body, in queue 0 of
RMQ_SYS_TRANS_OP_HALF_TOPIC says that this half message is done with. How far both queues are done with is kept as the
offsets of the group CID_RMQ_SYS_TRANS. A half message has one outcome, and whatever it is (the message itself, a new
copy of the half message, or a message in TRANS_CHECK_MAX_TIME_TOPIC) is appended together with the op message.

Begin with `handlers` and `outcomes`; `half` has the records, `state` what is undecided, `back_checker` the task that
asks producers.
May import: `core`, `config`, `maintenance`, `topics`, `clients`, `messages`; `store`, `wire`.
"""
