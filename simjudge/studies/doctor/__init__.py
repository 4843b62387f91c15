"""What of a recording, a data set or a running graph is usable for which question."""
