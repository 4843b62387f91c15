"""Sampling units: what chance draws together."""
