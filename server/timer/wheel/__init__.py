"""The part of the wheel that is due soon, in memory: slots with their messages, and markers."""
