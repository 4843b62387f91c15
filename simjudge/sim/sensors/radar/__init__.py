"""Radar: what surfaces send back, the cells that it falls into, and the detections that come of it."""
