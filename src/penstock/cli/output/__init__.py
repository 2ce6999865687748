"""What commands print: tables, progress, notices, the summary of a run."""
