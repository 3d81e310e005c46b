"""The five tasks that take a timer message from the topic into the wheel and out of it.

Begin with `enqueue`, the first two; then `dequeue`, and `dequeue_put`.
May import: `core`, `messages`; `store`.
"""
