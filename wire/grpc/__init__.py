"""The protocol of 5.x clients, `apache.rocketmq.v2` over gRPC: its messages, and how they map to remoting.

- The messages are declared in `proto/`. `definition_pb2`, `service_pb2`, `health_pb2` and `reflection_*_pb2` are made
  from that by `python -m tools.generate_proto`, and lie in a separate pool of descriptors (`pool`).
- `methods` is the table of calls: the messages of each path.
- `codes` has the codes of answers, also by remoting response code, and `CallInvalid`, which has one; `answers` makes
  statuses.
- `bounds` is the table of how large requests may be; `request_scan` compares requests with it.
- `checks` refuses names and texts, and limits a call's parameters; `sending` makes a send of a SendMessage call, and
  `queue_choice` finds the queue of a message group. `filters`, `times`, `polling` and `receipt` read the parts of
  the other calls.
- `receiving` makes a 5.x message from a stored one.
- `authorization` reads and checks signatures.

A module with a message of the protocol imports protobuf, which takes tens of milliseconds: a server imports these
modules at the first connection. `codes`, `bounds`, `checks`, `receipt`, `message_id`, `property_names`,
`queue_choice`, `polling` and `authorization` do without.

Begin with `methods`; `sending` and `receiving` translate messages.
May import: `facts`, `headers`.
"""
