"""One network that runs on several linked devices."""
