"""Layout of buffers: the steps of a plan become a layout problem, whose solution is a set of offsets."""
