"""`fit`: the camera, or the lidar, that brings a simulation nearest to reality."""
