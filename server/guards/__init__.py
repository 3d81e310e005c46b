"""What protects the endpoint: accounts (`acl`) and quotas (`throttle`)."""
