"""Driving by what a detector sees: boxes -> cones on the floor -> the line between them -> steering and throttle."""
