"""Jobs: what is submitted, its code, and the processes that run it."""
