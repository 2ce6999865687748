"""Simulation: the deciding code of the service on a world that is only computed."""
