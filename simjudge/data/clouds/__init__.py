"""Point clouds of any lidar: what their fields mean, and what of them can be used."""
