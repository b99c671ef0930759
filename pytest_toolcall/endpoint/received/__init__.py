"""What came back from an endpoint, before any wire format reads it: answers, events, errors."""
