"""The states of a job, and which may follow which."""
