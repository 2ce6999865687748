"""The REST API: requests in, answers out, and what guards it."""
