"""Measurements on Spark: calibration, profiles, timed runs."""
