"""How regions are cut into blocks: candidates, their costs, and the frontier of cuts."""
