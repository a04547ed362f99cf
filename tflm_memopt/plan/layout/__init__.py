"""Layout of buffers: drafts of steps become a layout problem, whose solution is offsets."""
