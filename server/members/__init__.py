"""One of several brokers of `rocketwire serve --brokers N`: what it reports to the others, and has of theirs.

Begin with `link`, its connection to the supervisor's process; `siblings` has the other brokers' topics and addresses,
`news` the messages between both.
May import: every room that its layer allows (pyproject.toml); `store`, `wire`.
"""
