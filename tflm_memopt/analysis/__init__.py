"""What a graph needs: arena, cost, support. Analyses never edit the graph."""
