"""The sinks: their input in the sequential order, in bounded memory, and dead letters."""
