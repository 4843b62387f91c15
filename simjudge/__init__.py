"""simjudge: a perception algorithm as the judge of a simulated camera."""

__version__ = "0.1.0"
