"""Where buffers lie: drafts of steps become a layout problem, and that becomes offsets."""
