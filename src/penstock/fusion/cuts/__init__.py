"""Where to split a PE: minimum-ratio cuts, exact and approximate."""
