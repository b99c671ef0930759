"""HTTP requests to an endpoint: connections, deadlines, retries, limits, streams."""
