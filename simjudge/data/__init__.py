"""Data sets and recordings, in and out."""
