"""Poses, trajectories and transforms."""
