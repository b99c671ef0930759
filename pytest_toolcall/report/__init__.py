"""Reports: one file for each form."""
