"""A model of TFLM itself: structs, lifetimes, planner, accepted types and shapes, and the resulting arena."""
