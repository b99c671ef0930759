"""Recorded exchanges: the line of a recording, and answers taken from one."""
