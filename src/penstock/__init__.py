"""Penstock: an optimizing compiler, profiler and scheduler for streaming applications."""
