"""POP: messages are taken from queues for a while, and come again unless they are acknowledged."""
