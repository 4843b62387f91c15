"""Nets that give every pixel of an image a class: running them over sets, and training them."""
