"""What is written beside a rewritten model: arrays, resolvers, C modules and projects to compile it in."""
