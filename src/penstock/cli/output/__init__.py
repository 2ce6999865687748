"""The output of commands: tables, progress, notices, the summary of a run."""
