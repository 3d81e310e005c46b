"""The five tasks that take a timer message from the topic into the wheel and out of it."""
