"""Configuration: Apache's keys, the keys of limits, and the configuration in force."""
