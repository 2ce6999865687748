"""From composites to one graph: expansion, feedback, placement."""
