"""Timer messages: delivered at a set time, by five stages.

Messages wait in the timer's topic. The first two stages put them into the timer's index (`rocketwire.store.timer`):
`enqueue_get` reads the topic, `enqueue_put` writes units. The other three deliver: `dequeue_get` reads what is due soon
into memory (`loaded`) and lets go what is due, `dequeue_message` fetches the records, `dequeue_put` stores them as the
messages they were. The stages are tasks, with short channels between them.
"""
