"""Timer messages: delivered at a set time, by five stages.

Messages wait in the timer's topic. The first two stages put them into the timer's index (`rocketwire.store.timer`):
`EnqueueGet` reads the topic, `EnqueuePut` writes units. The other three deliver: `DequeueGet` loads
slots that are due soon into memory (`loaded`) and passes on messages that are due, `DequeueMessage` fetches their
records, `DequeuePut` stores them in their topics. The stages are tasks, with short channels between them.

Begin with `timer`, which runs the stages; `records` has the waiting messages, `sends` and `recall` the requests
of clients.
May import: `core`, `config`, `topics`, `messages`; `native`, `store`, `wire`.
"""
