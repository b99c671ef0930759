"""Measures the endpoint itself: its speed, and whether it keeps to the API's contract."""
