"""The client for Node.js, `ali-ons`; `runner` has its programs."""
