"""What people read. The report never computes."""
