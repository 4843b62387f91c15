"""Gyroscopes, accelerometers, magnetometers, GPS receivers and wheel encoders, computed from motion."""
