"""Timer messages: delivered at a set time, by five stages.

Messages wait in the timer's topic. The first two stages put them into the timer's index (`rocketwire.store.timer`):
`enqueue_get` reads the topic, `enqueue_put` writes units. The other three deliver: `dequeue_get` loads
slots that are due soon into memory (`loaded`) and passes on messages that are due, `dequeue_message` fetches their
records, `dequeue_put` stores them in their topics. The stages are tasks, with short channels between them.
"""
