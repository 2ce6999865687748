"""A scenario played against the scheduler, epoch by epoch."""
