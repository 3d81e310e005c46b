"""The part of the wheel that is due soon, in memory: what is loaded of each slot, and markers of cancelled messages."""
