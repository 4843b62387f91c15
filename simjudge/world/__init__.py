"""Worlds: scenes that a person writes, the car, and the engines that move and light them."""
