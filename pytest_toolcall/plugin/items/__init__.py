"""Cases, points and rules as pytest items."""
