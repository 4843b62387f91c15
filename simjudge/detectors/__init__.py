"""Detectors, training, assignment of predictions to objects, and how well they fit."""
