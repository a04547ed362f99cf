"""Plans row operators: schedule, groups, rolling buffers and offsets."""
