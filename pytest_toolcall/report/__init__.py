"""Telling people: one file for each form of report."""
