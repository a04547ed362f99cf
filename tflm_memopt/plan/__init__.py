"""From row operators to a checked plan: schedule, blocks, rings, offsets."""
