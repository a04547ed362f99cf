"""The iterations of a group: their trace, and which bytes are live at each."""
