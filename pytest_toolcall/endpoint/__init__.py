"""Who is asked: settings of a model's endpoint, the HTTP transport, the wire formats both ways, and replay."""
