"""What to simulate next: camera poses whose labels resemble the contexts of a set that the simulation lacks."""
