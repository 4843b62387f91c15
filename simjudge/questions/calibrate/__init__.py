"""`calibrate`: real devices measured, for simulated ones."""
