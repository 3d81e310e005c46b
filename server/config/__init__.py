"""What the server can be told: Apache's configuration keys, the limits, and the configuration in force."""
