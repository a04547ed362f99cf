"""Plans how a model runs: the order of its operators and rows, the buffers, and their addresses."""
