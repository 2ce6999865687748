"""The ingest limit of a job: how many tuples its sources may give in a second, changeable while it runs."""
