"""What arrives at sinks: the sequential order in bounded memory, and dead letters."""
