"""POP: messages are taken from queues for a while, and redelivered unless they are acknowledged."""
