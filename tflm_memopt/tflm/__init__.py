"""What TFLM itself does: its structs, lifetimes and planner, what its kernels take, and the arena of all that."""
