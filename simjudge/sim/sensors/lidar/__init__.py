"""Lidar: beams, their motion during a turn, divergence, returns, noise, and the cloud that comes of it."""
