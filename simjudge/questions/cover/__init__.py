"""`cover`: what to simulate next: camera poses whose labels resemble the contexts that the simulation lacks."""
