"""What a block does when it fires: the trace of its firings, and which bytes are alive when."""
