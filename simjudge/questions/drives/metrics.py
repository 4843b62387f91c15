"""The figures that drives are compared by."""

LATERAL, HEADING, SPEED, STEERING = "lateral error", "heading error", "speed error", "steering effort"
METRICS = (LATERAL, HEADING, SPEED, STEERING)
UNITS = {LATERAL: "m", HEADING: "deg", SPEED: "m/s", STEERING: "1/m"}
"""Steering effort: how much the steering changes in all, in its own unit, per metre driven."""
