"""Which tasks a read of stores is split into, and what each task gets."""
