"""Protection of the endpoint: access control (`acl`) and quotas (`throttle`)."""
