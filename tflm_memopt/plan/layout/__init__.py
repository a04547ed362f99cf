"""Layout of buffers: the drafts of steps become a layout problem, whose solution is a set of offsets."""
