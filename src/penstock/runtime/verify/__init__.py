"""Operator models verified while a job runs: `--verify-models`."""
