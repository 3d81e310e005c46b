"""How configuration keys are declared and read, the keys of the broker itself, and the live view of a group of keys."""
