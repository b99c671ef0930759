"""The endpoint itself: how fast it is."""
