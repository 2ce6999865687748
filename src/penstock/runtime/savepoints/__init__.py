"""The state of a job in a form that no plan is part of: taken from one plan, stored, and dealt out to another."""
