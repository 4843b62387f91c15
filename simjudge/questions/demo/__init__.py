"""A verdict in seconds on what comes with simjudge: real photographs and the pictures of two simulations."""
