"""The checkpoint of a job: its lock, the plan that wrote it, the code that it holds state of, its files."""
