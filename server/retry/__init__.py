"""Messages that consumers send back, to be redelivered later.

Begin with `handlers`; `send_back` makes the message to store.
May import: `core`, `config`, `topics`, `messages`, `statistics`, `delay`; `store`, `wire`.
"""
