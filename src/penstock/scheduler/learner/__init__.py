"""The resource function learner."""
