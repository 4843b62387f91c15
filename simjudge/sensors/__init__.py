"""Models of sensors."""
