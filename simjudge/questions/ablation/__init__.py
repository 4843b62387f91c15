"""Cameras that differ in one component each, judged as many sets."""
