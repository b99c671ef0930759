"""What is asked: readers of case files, one per format, that give `Case` values or one-line problems."""
