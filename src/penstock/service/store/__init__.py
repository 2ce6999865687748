"""What the service keeps: one SQLite file with jobs, templates, decisions, samples and events."""
