"""Carrying out: brings the world to the plan, one small step at a time, and can be interrupted anywhere."""
