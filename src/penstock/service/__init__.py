"""`penstock serve`: admits, starts, feeds, suspends and resumes jobs on one cluster, by their importance (SODA)."""
