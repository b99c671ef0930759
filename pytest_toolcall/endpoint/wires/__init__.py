"""Wire formats: from a conversation to a request, and from an answer to a `Reply`."""
