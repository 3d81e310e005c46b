"""Recovery at the start of a store, after a clean stop or a crash."""
