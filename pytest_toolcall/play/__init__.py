"""Asking: holds the conversations with a model and has each response judged."""
