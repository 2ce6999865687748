"""Learning: what running jobs use and give, and the resource functions that follow from it."""
