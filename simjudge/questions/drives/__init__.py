"""`compare-drives`: whether the simulated robot drives as the real one does."""
