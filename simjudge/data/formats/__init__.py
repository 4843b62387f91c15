"""Data sets as files, one format a module: each can sniff, read and write."""
