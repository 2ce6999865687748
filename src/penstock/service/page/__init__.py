"""The page: what the service does and why, drawn by the server."""
