"""The protocol of 5.x clients, `apache.rocketmq.v2` over gRPC: its messages, and what they mean in the remoting one.

- The messages are declared in `proto/`. `definition_pb2`, `service_pb2`, `health_pb2` and `reflection_*_pb2` are made
  from that by `python -m tools.generate_proto`, and lie in a pool of descriptors of their own (`pool`).
- `methods` is the table of calls: which messages a path takes and gives.
- `codes` are the codes of answers, also by the remoting response that stands behind one, and `CallInvalid`, which
  carries one; `answers` makes statuses.
- `bounds` is the table of how large requests may be; `request_scan` compares requests with it.
- `checks` refuses names and texts, and has how much a call may ask for; `sending` makes a send of a SendMessage call,
  and `queue_choice` finds the queue of a message group. `filters`, `times`, `polling` and `receipt` read the parts of
  the other calls.
- `receiving` makes the message that a client gets of a stored one.
- `authorization` reads and checks signatures.

Whatever has a message of the protocol imports protobuf, which takes tens of milliseconds: a server imports these
modules at the first connection. `codes`, `bounds`, `checks`, `receipt`, `message_id`, `property_names`,
`queue_choice`, `polling` and `authorization` do without.

Begin with `methods`; `sending` and `receiving` translate messages.
May import: `facts`, `headers`.
"""
